"""A process that explores for `idea serve`, which starts it: `python -m idea_explorer.cli.worker`."""

import argparse
import math
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta
from functools import partial

from idea_explorer.cli import streams
from idea_explorer.cli.arguments import with_absolute_folder, with_folder
from idea_explorer.cli.failures import report_failure
from idea_explorer.domain.exploration import Exploration
from idea_explorer.ports import Clock
from idea_explorer.settings import Settings
from idea_explorer.usecases.approvals.wait import all_decided, expire
from idea_explorer.usecases.deps import Deps
from idea_explorer.usecases.jobs import run_job, settle_abandoned
from idea_explorer.usecases.notify import deliver_due
from idea_explorer.usecases.workers import Workers
from idea_explorer.wiring.deps import server_deps
from idea_explorer.wiring.local import LOCAL_OWNER, cli_log, local_queue, worked_on_here

LOST_SECONDS = 10  # after which a queued exploration without a job was lost in a crash
# Recovery reads every run that is open, so with a long queue it pauses for longer than its usual second.
RECOVERY_SHARE = 0.1  # of the time
MAX_RECOVERY_PAUSE = 10.0
# How long a thread that computes may make others wait. One that writes to the store, and waits for the
# interpreter meanwhile, keeps the server from writing.
SWITCH_SECONDS = 0.0005
LEAVE_SECONDS = 2.0  # for the jobs to be left to the next start, when the server has died


def main(arguments: Sequence[str] | None = None) -> int:
    streams.prepare()
    parsed = _parse(arguments)
    sys.setswitchinterval(SWITCH_SECONDS)
    stopped = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopped.set())
    # a terminal sends these to the server too, which then stops its workers
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    threading.Thread(target=_end_with_server, args=[stopped], daemon=True).start()
    try:
        with _workers(parsed):
            stopped.wait()
    except Exception as error:  # noqa: BLE001  said once, and the server starts another one
        return report_failure(error, debug=parsed.debug)
    return 0


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="idea serve (worker)", description=__doc__)
    parser.add_argument("--threads", type=int, required=True, help="runs at a time")
    parser.add_argument("--recover", action="store_true", help="make up for what was lost")
    parser.add_argument("--research", metavar="DIR")
    parser.add_argument("--debug", action="store_true")
    return parser.parse_args(arguments)


def _end_with_server(stopped: threading.Event) -> None:
    """Without the server nobody stops this process. What it has taken is free once it has ended."""
    os.read(sys.stdin.fileno(), 1)  # past Python's buffer, whose lock would end with an error
    stopped.set()
    time.sleep(LEAVE_SECONDS)
    os._exit(1)


def _workers(arguments: argparse.Namespace) -> Workers:
    settings = with_folder(Settings.from_environment(os.environ), arguments.research)
    settings = with_absolute_folder(settings)
    log = cli_log(sys.stderr if arguments.debug else None)
    deps = server_deps(settings, log)
    jobs = local_queue(settings)
    worked_on = worked_on_here(settings)
    recover = partial(
        recover_lost,
        deps,
        settings.approval_days,
        settle=lambda: settle_abandoned(LOCAL_OWNER, deps, worked_on),
        has_job=lambda exploration: jobs.has(exploration.id, exploration.run.number),
    )
    return Workers(
        jobs,
        lambda job: run_job(job, jobs, deps),
        limit_share(recover, deps.clock) if arguments.recover else lambda: None,
        arguments.threads,
        log,
        partial(deliver_due, deps) if arguments.recover else lambda: False,
    )


def limit_share(recover: Callable[[], None], clock: Clock) -> Callable[[], None]:
    """The recovery, which does nothing if it is called too soon after one that took long."""
    next_at = -math.inf

    def recover_if_due() -> None:
        nonlocal next_at
        began = clock.monotonic()
        if began < next_at:
            return
        recover()
        ended = clock.monotonic()
        next_at = ended + min((ended - began) / RECOVERY_SHARE, MAX_RECOVERY_PAUSE)

    return recover_if_due


def recover_lost(
    deps: Deps,
    approval_days: float,
    *,
    settle: Callable[[], Iterable[Exploration]],
    has_job: Callable[[Exploration], bool],
) -> None:
    """Queue runs that are queued or decided but have no job. Expire approvals that nobody decided on in
    time, and settle runs whose command was killed.

    A job that has been taken counts: its worker may take long to begin, and this is called again.
    """
    queue = deps.queue()
    for exploration in settle():
        queue.send(exploration.id, exploration.run.number)
    now = deps.clock.now()
    lost = deps.explorations.unchanged_since("queued", now - timedelta(seconds=LOST_SECONDS))
    waiting = [exploration for exploration in lost if not exploration.run.by_command]
    for exploration in deps.explorations.unchanged_since("awaiting_approval", now):
        if exploration.updated_at < now - timedelta(days=approval_days):
            expire(exploration.id, exploration.run.number, deps)
        if exploration.cancel_requested or all_decided(exploration.id, deps):
            waiting.append(exploration)
    for exploration in waiting:
        if not has_job(exploration):
            queue.send(exploration.id, exploration.run.number)


if __name__ == "__main__":
    code = main()
    sys.stderr.flush()
    # without the interpreter's own end: threads that are in a library of C++ then would abort the process
    os._exit(code)
