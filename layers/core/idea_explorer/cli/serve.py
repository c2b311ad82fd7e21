"""`idea serve`: the API and its workers on this machine, over embedded stores."""

import argparse
import os
import resource
import signal
import sys
import threading
from collections.abc import Callable, Iterable
from datetime import timedelta
from functools import partial

from idea_explorer.api.app import build_handler
from idea_explorer.api.connections import ConnectionLimits
from idea_explorer.api.server import ApiServer
from idea_explorer.cli.arguments import read_settings
from idea_explorer.domain.errors import ConfigurationError, InvalidRequestError
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.names import split_names
from idea_explorer.domain.text import is_header_safe
from idea_explorer.domain.tokens import dump_tokens, issue_token, make_token_record
from idea_explorer.ports import Clock
from idea_explorer.usecases.approvals.wait import all_decided, expire
from idea_explorer.usecases.deps import Deps
from idea_explorer.usecases.jobs import run_job, settle_abandoned
from idea_explorer.usecases.notify import deliver_due
from idea_explorer.usecases.workers import Workers
from idea_explorer.wiring.deps import server_deps
from idea_explorer.wiring.local import (
    LOCAL_OWNER,
    cli_log,
    local_queue,
    local_uploads,
    worked_on_here,
)
from idea_explorer.wiring.toolsets import check_folder

MAX_PORT = 65_535
OPEN_FILES = 8_192
LOST_SECONDS = 10  # after which a queued exploration without a job was lost in a crash


def run(arguments: argparse.Namespace) -> int:
    _check_arguments(arguments)
    settings = read_settings(arguments.research, reads_research=True)
    check_folder(settings)
    # clients are in other folders, so the paths that they get are absolute
    settings = settings.model_copy(update={"research_dir": settings.research_dir.resolve()})
    log = cli_log(sys.stderr if arguments.debug else None)
    deps = server_deps(settings, log)
    jobs = local_queue(settings)
    uploads = local_uploads(settings)
    worked_on = worked_on_here(settings)
    token, tokens = _read_token(deps.clock)
    address = (arguments.host, arguments.port)
    with (
        ApiServer(
            address,
            build_handler(deps),
            lambda: tokens,
            uploads.store,
            names=split_names(settings.allowed_hosts),
            proxies=split_names(settings.trusted_proxies),
            limits=ConnectionLimits.for_open_files(_raise_open_files()),
        ) as server,
        Workers(
            jobs,
            lambda job: run_job(job, jobs, deps),
            _build_recovery(
                deps,
                settings.approval_days,
                lambda: settle_abandoned(LOCAL_OWNER, deps, worked_on),
            ),
            arguments.workers,
            log,
            partial(deliver_due, deps),
        ),
    ):
        _stop_on_signals(server)
        print(f"idea: Serving the API and the console at {server.url}", file=sys.stderr)
        print(f"export IDEA_API_URL={server.url}")
        print(f"export IDEA_API_TOKEN={token}", flush=True)
        server.serve_forever()
    return 0


def _check_arguments(arguments: argparse.Namespace) -> None:
    if arguments.workers < 1:
        raise InvalidRequestError("--workers must be at least 1, or nothing would run.")
    if not 0 <= arguments.port <= MAX_PORT:
        raise InvalidRequestError(f"--port must be between 0 and {MAX_PORT}.")


def _raise_open_files() -> int:
    """How many files this process may have open, connections included: as many as it may allow itself."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, OPEN_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return wanted


def _read_token(clock: Clock) -> tuple[str, str]:
    """The token of the environment or a new one, and the list of tokens that contains it."""
    given = os.environ.get("IDEA_API_TOKEN")
    if given:
        if not is_header_safe(given):
            raise ConfigurationError("IDEA_API_TOKEN contains characters that no token has.")
        return given, dump_tokens([make_token_record(given, LOCAL_OWNER, now=clock.now())])
    token, stored = issue_token(LOCAL_OWNER, now=clock.now())
    return token, dump_tokens([stored])


def _build_recovery(
    deps: Deps, approval_days: float, settle: Callable[[], Iterable[Exploration]]
) -> Callable[[], None]:
    """Queues runs that are queued or decided but have no job; sending a job twice is harmless. Expires
    approvals that nobody decided on in time, and settles runs whose command was killed."""

    def recover() -> None:
        for exploration in settle():
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
