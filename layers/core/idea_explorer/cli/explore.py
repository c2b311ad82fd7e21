"""`idea explore`: one exploration on this machine, on the engine that Lambda runs."""

import argparse
import errno
import json
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from idea_explorer.cli.deciding import how_to_decide, pending
from idea_explorer.cli.endings import (
    EXIT,
    how_to_go_on,
    how_to_read,
    how_to_send_again,
    summary,
)
from idea_explorer.cli.environment import settings_for
from idea_explorer.cli.files import named_files, with_files
from idea_explorer.cli.here import close_what_broke_off, run_here
from idea_explorer.cli.prior_art import Choice, ask_at_terminal, consider, is_open
from idea_explorer.domain import limits
from idea_explorer.domain.errors import (
    ExplorerError,
    ExternalError,
    InvalidRequestError,
    MissingError,
    OutOfReachError,
)
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.ids import new_id
from idea_explorer.domain.json import JsonObject
from idea_explorer.domain.request import ExploreRequest, invalid_request
from idea_explorer.ports import EventSink
from idea_explorer.settings import Settings
from idea_explorer.usecases.deps import Deps
from idea_explorer.usecases.jobs import send_webhook
from idea_explorer.usecases.reuse import reuse
from idea_explorer.usecases.submit import submit
from idea_explorer.wiring import publishing
from idea_explorer.wiring.deps import local_deps
from idea_explorer.wiring.engine import request_policy
from idea_explorer.wiring.local import cli_log, process_lock, system_clock
from idea_explorer.wiring.toolsets import check_folder

OWNER = "local"
MAX_PATH = 200  # a longer word is a text in a language without spaces
SUFFIX = re.compile(r"\.[A-Za-z0-9]{1,8}$")
REQUEST_FLAGS = (
    "toolset", "mode", "model", "effort", "context", "update", "continue_from", "if_exists",
    "collect_tool_stats", "max_cost_usd", "max_steps", "deadline_seconds", "webhook_url",
    "callback_secret", "repository", "ref",
)  # fmt: skip


def run(arguments: argparse.Namespace) -> int:
    request = request_from(arguments)
    settings = settings_for(arguments.research)
    policy = request_policy(settings)
    policy.check(request, OWNER, system_clock().now())
    check_folder(settings)
    files = named_files(arguments.file, request.toolset)
    # a script gets the structured log, a person the progress
    as_log = arguments.debug or (arguments.json and not sys.stderr.isatty())
    log = cli_log(None if arguments.quiet or not as_log else sys.stderr)
    watched = not (arguments.quiet or as_log)
    if watched and is_open(request, if_exists_given=arguments.if_exists is not None):
        choice = _considered(request, settings)
        if choice.document:
            print(_opened(choice.document, settings))
        if choice.request is None:
            return 0
        request = choice.request
    shown: list[EventSink] = []
    deps = local_deps(settings, log, shown, commit=arguments.commit)
    try:
        reused = _reused(request, deps, settings)
    except ExternalError as error:
        # what is there already must not be paid for again only because it could not be read
        deps = _failing(error, deps)
        reused = None
    if reused:
        _report(reused, deps, arguments)
        return EXIT[reused.status]
    if not settings.uses_github:
        _check_folder(deps, request)
    close_what_broke_off(deps, settings, arguments)
    if arguments.commit and not publishing.commits(settings):
        _say(f"idea: {settings.research_dir} is not a git repository; nothing will be committed.")
    new = new_id(int(deps.clock.now().timestamp() * 1_000))
    with process_lock(settings).held(new):
        exploration = submit(
            with_files(request, files, OWNER, settings),
            OWNER,
            replace(deps, policy=policy),
            exploration_id=new,
            by_command=True,
        )
        final = run_here(exploration, deps, settings, shown if watched else None)
    return ended(final, deps, arguments)


def ended(final: Exploration, deps: Deps, arguments: argparse.Namespace) -> int:
    """Say what it came to, or what it waits for; the exit code says the same."""
    _report(final, deps, arguments)
    if final.status == "awaiting_approval":
        paths = [approval.proposal.path for approval in pending(deps.approvals, final)]
        _say(f"idea: {how_to_decide(final, paths, arguments.research)}")
    for how in (how_to_read, how_to_go_on):
        if sentence := how(final, arguments.research):
            _say(f"idea: {sentence}")
    return EXIT[final.status]


def _considered(request: ExploreRequest, settings: Settings) -> Choice:
    """What to do about similar research; a repository that cannot be read now decides nothing."""
    try:
        index = publishing.research_index(settings).load()
    except ExplorerError:
        return Choice(request)
    return consider(request, index, tell=_say, ask=ask_at_terminal())


def _check_folder(deps: Deps, request: ExploreRequest) -> None:
    """Refuse before anything is paid what could not be published. GitHub is looked at by the run itself."""
    if request.spec.publishes_documents and (publisher := deps.publisher()):
        publisher.check()


def _failing(error: ExternalError, deps: Deps) -> Deps:
    def check(_: Exploration) -> None:
        raise OutOfReachError(error) from error

    return replace(deps, engine=lambda: replace(deps.engine(), check_repository=check))


def _opened(document: str, settings: Settings) -> str:
    """A document's path as a person opens it."""
    return document if settings.uses_github else str(settings.research_dir / document)


def _reused(request: ExploreRequest, deps: Deps, settings: Settings) -> Exploration | None:
    found = reuse(request, OWNER, deps)
    if found is None or found.publication.reused is None:
        return None
    told = send_webhook(found, deps)
    return told.replace(path=_opened(found.publication.reused, settings))


def _say(sentence: str) -> None:
    print(sentence, file=sys.stderr)


def request_from(arguments: argparse.Namespace) -> ExploreRequest:
    given: dict[str, Any] = {
        name: value for name in REQUEST_FLAGS if (value := getattr(arguments, name)) is not None
    }
    given["idea"] = _idea(arguments.idea)
    if context := given.get("context"):
        given["context"] = _text_or_file(context)
    try:
        return ExploreRequest.model_validate(given)
    except ValidationError as error:
        raise invalid_request(error) from error


def _idea(given: str | None) -> str:
    if given not in {None, "-"}:
        return str(given)
    if sys.stdin.isatty():
        raise InvalidRequestError("There is no idea.", hint='Try: idea explore "…".')
    # one character more than allowed is enough to refuse, however long the input is
    return sys.stdin.read(limits.MAX_IDEA * 2)


def _text_or_file(given: str) -> str:
    try:
        if len(given) < 1_000 and Path(given).is_file():
            return Path(given).read_text("utf-8")
    except (OSError, ValueError) as error:
        if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
            return given
        raise InvalidRequestError(f"The context {given} cannot be read: {error}.") from error
    if _looks_like_a_path(given):
        raise InvalidRequestError(
            f"The context {given} is no file.", hint="Text of your own has more than one word."
        )
    return given


def _looks_like_a_path(given: str) -> bool:
    """What was meant as a file must not become the context by a slip; an address is a text."""
    if len(given.split()) != 1 or len(given) > MAX_PATH or "://" in given:
        return False
    return "/" in given or SUFFIX.search(given) is not None or Path(given).is_dir()


def _report(final: Exploration, deps: Deps, arguments: argparse.Namespace) -> None:
    try:
        content = deps.reports.load_report(final.id)
    except MissingError:
        content = ""
    if arguments.json:
        print(json.dumps(outcome_json(final, content), ensure_ascii=False))
    else:
        for place in dict.fromkeys(filter(None, (final.publication.path, final.publication.url))):
            print(place)
        if content and not final.request.spec.publishes_documents:
            print(f"{content}\n")
        reused = "completed · reused what is there; nothing was run"
        print(
            reused
            if final.publication.reused
            else summary(final.status, final.run.verdict, final.run.stats)
        )
    for sentence in (
        final.publication.notice,
        final.run.receipt.message if final.run.receipt else None,
        how_to_send_again(final, arguments.research),
    ):
        if sentence:
            _say(f"idea: {sentence}")


def outcome_json(final: Exploration, content: str) -> JsonObject:
    receipt = final.run.receipt
    return {
        "id": final.id,
        "status": final.status,
        "content": content or None,
        "path": final.publication.path,
        "stats": final.stats_json(),
        "error": {"code": receipt.code, "message": receipt.message} if receipt else None,
    }
