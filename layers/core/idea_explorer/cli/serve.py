"""`idea serve`: the API and its workers on this machine, over embedded stores.

This process answers requests. Explorations run in processes of their own (docs/adr/0022).
"""

import argparse
import gc
import os
import resource
import signal
import sys
import threading
from contextlib import suppress
from importlib import import_module

from idea_explorer.api.app import build_handler
from idea_explorer.api.connections import ConnectionLimits
from idea_explorer.api.server import ApiServer
from idea_explorer.api.sign_in import SignInLinks
from idea_explorer.cli.arguments import read_settings, with_absolute_folder
from idea_explorer.cli.worker_processes import WorkerProcesses, worker_commands
from idea_explorer.domain.errors import ConfigurationError, InvalidRequestError
from idea_explorer.domain.names import split_names
from idea_explorer.domain.text import is_header_safe
from idea_explorer.domain.tokens import dump_tokens, issue_token, make_token_record
from idea_explorer.ports import Clock
from idea_explorer.usecases.deps import Deps
from idea_explorer.usecases.reuse import similar
from idea_explorer.wiring.deps import server_deps
from idea_explorer.wiring.local import LOCAL_OWNER, cli_log, local_queue, local_uploads
from idea_explorer.wiring.toolsets import check_folder

MAX_PORT = 65_535
OPEN_FILES = 8_192
# How long a thread that computes may make others wait: the interpreter's 5 ms are for each such thread, and a
# response needs it several times.
SWITCH_SECONDS = 0.0005


def run(arguments: argparse.Namespace) -> int:
    _check_arguments(arguments)
    sys.setswitchinterval(SWITCH_SECONDS)
    settings = read_settings(arguments.research, reads_research=True)
    check_folder(settings)
    settings = with_absolute_folder(settings)
    log = cli_log(sys.stderr if arguments.debug else None)
    deps = server_deps(settings, log)
    uploads = local_uploads(settings)
    token, tokens = _read_token(deps.clock)
    address = (arguments.host, arguments.port)

    def show_link(introduction: str) -> None:
        print(f"idea: {introduction}: {server.url}{links.path}", file=sys.stderr, flush=True)

    links = SignInLinks(
        token, on_used=lambda: show_link("The link was used. The next one to sign in with")
    )
    with (
        ApiServer(
            address,
            build_handler(deps),
            lambda: tokens,
            uploads.store,
            names=split_names(settings.allowed_hosts),
            proxies=split_names(settings.trusted_proxies),
            limits=ConnectionLimits.for_open_files(_raise_open_files()),
            sign_in=links.redeem,
        ) as server,
        WorkerProcesses(
            worker_commands(arguments.workers, _worker_options(arguments)),
            local_queue(settings).is_behind,
            deps.clock,
            log,
        ),
    ):
        _stop_on_signals(server)
        print(f"idea: Serving the API and the console at {server.url}", file=sys.stderr)
        show_link("Open this link to sign in; it works once")
        print(f"export IDEA_API_URL={server.url}")
        print(f"export IDEA_API_TOKEN={token}", flush=True)
        threading.Thread(target=_prepare, args=(deps,), daemon=True).start()
        server.serve_forever()
    return 0


def _prepare(deps: Deps) -> None:
    """So that no submission waits until the documents have been read, or until what it needs has been loaded.
    Whatever fails now is told to the first who needs it."""
    for prepare in (_prepare_index, _load_submission):
        with suppress(Exception):
            prepare(deps)
    # what is left then stays: looking through it for garbage would take one of the first requests 60 ms
    gc.collect()
    gc.freeze()


def _prepare_index(deps: Deps) -> None:
    similar("", deps)


def _load_submission(deps: Deps) -> None:
    """The modules and models with which a submission is checked, stored and answered."""
    from idea_explorer.api.views import SubmissionView
    from idea_explorer.domain.exploration import Exploration
    from idea_explorer.domain.request import ExploreRequest

    import_module("idea_explorer.api.submit")
    request = ExploreRequest.model_validate_json('{"idea": "any"}')
    deps.policy.check(request, LOCAL_OWNER, deps.clock.now())
    queued = Exploration.new(request, LOCAL_OWNER, at=deps.clock.now())
    SubmissionView(id=queued.id, similar=[]).model_dump(mode="json")


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


def _worker_options(arguments: argparse.Namespace) -> list[str]:
    """What the workers cannot read in the environment, which they have from this process."""
    research = [f"--research={arguments.research}"] if arguments.research else []
    return [*research, *(["--debug"] if arguments.debug else [])]


def _stop_on_signals(server: ApiServer) -> None:
    def stop(*_: object) -> None:
        # from another thread: shutdown waits for the loop that this signal has interrupted
        threading.Thread(target=server.shutdown, daemon=True).start()

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # as it is with nohup
        signal.signal(signal.SIGHUP, stop)
