"""`idea serve`: the API and its workers on this machine, over embedded stores."""

import argparse
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable
from datetime import timedelta
from functools import partial

from idea_explorer.api.app import build_handler
from idea_explorer.api.server import ApiServer
from idea_explorer.cli.environment import settings_for
from idea_explorer.cli.workers import Workers
from idea_explorer.domain.errors import ConfigurationError, InvalidRequestError
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.text import is_header_safe
from idea_explorer.domain.tokens import dump_tokens, issue_token, make_token_record
from idea_explorer.ports import Clock
from idea_explorer.usecases.approvals.wait import all_decided, expire
from idea_explorer.usecases.deps import Deps
from idea_explorer.usecases.jobs import run_job, settle_abandoned
from idea_explorer.usecases.notify import deliver_due
from idea_explorer.wiring.deps import server_deps
from idea_explorer.wiring.local import cli_log, local_queue, local_uploads, worked_on_here
from idea_explorer.wiring.toolsets import check_folder

OWNER = "local"  # the owner of what `idea explore` runs in the same folder too
MAX_PORT = 65_535
LOST_SECONDS = 10  # a queued exploration without a job, after a crash between storing and queueing


def run(arguments: argparse.Namespace) -> int:
    _check(arguments)
    settings = settings_for(arguments.research)
    check_folder(settings)
    log = cli_log(sys.stderr if arguments.debug else None)
    deps = server_deps(settings, log)
    jobs = local_queue(settings)
    uploads = local_uploads(settings)
    worked_on = worked_on_here(settings)
    token, tokens = _token(deps.clock)
    address = (arguments.host, arguments.port)
    with (
        ApiServer(address, build_handler(deps), lambda: tokens, uploads.store) as server,
        Workers(
            jobs,
            lambda job: run_job(job, jobs, deps),
            _recovery(
                deps, settings.approval_days, lambda: settle_abandoned(OWNER, deps, worked_on)
            ),
            arguments.workers,
            log,
            partial(deliver_due, deps),
        ),
    ):
        _stop_on_signals(server)
        print(f"Idea Explorer is on {server.url}")
        print(f"export IDEA_API_URL={server.url}")
        print(f"export IDEA_API_TOKEN={token}", flush=True)
        server.serve_forever(poll_interval=0.1)
    return 0


def _check(arguments: argparse.Namespace) -> None:
    if arguments.workers < 1:
        raise InvalidRequestError("--workers must be at least 1: nobody would do the work.")
    if not 0 <= arguments.port <= MAX_PORT:
        raise InvalidRequestError(f"--port must be between 0 and {MAX_PORT}.")


def _token(clock: Clock) -> tuple[str, str]:
    """The given token or a new one, and the list that knows it."""
    given = os.environ.get("IDEA_API_TOKEN")
    if given:
        if not is_header_safe(given):
            raise ConfigurationError("IDEA_API_TOKEN holds characters that no token has.")
        return given, dump_tokens([make_token_record(given, OWNER, now=clock.now())])
    token, stored = issue_token(OWNER, now=clock.now())
    return token, dump_tokens([stored])


def _recovery(
    deps: Deps, approval_days: float, settled: Callable[[], Iterable[Exploration]]
) -> Callable[[], None]:
    """Sends what is queued or decided and has no job; a job that is there already stays as it is. What
    nobody decided on in time comes to its end; so does a run whose command was killed, and the job of
    one that is settled tells of it."""

    def recover() -> None:
        for exploration in settled():
            deps.queue().send(exploration.id, exploration.run.number)
        moment = deps.clock.now() - timedelta(seconds=LOST_SECONDS)
        for exploration in deps.explorations.unchanged_since("queued", moment):
            if not exploration.run.by_command:
                deps.queue().send(exploration.id, exploration.run.number)
        now = deps.clock.now()
        for exploration in deps.explorations.unchanged_since("awaiting_approval", now):
            if exploration.updated_at < now - timedelta(days=approval_days):
                expire(exploration.id, exploration.run.number, deps)
            if exploration.cancel_requested or all_decided(exploration.id, deps):
                deps.queue().send(exploration.id, exploration.run.number)

    return recover


def _stop_on_signals(server: ApiServer) -> None:
    def stop(*_: object) -> None:
        # from another thread: shutdown waits for the loop that this signal has interrupted
        threading.Thread(target=server.shutdown, daemon=True).start()

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
