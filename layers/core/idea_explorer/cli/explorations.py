"""The commands on explorations: submit, list, status, watch, cancel, resume, revert, webhook."""

import argparse
import uuid
from collections.abc import Iterator
from contextlib import suppress

from idea_explorer.api.views import Details, ExplorationList
from idea_explorer.cli.arguments import read_files, read_limits, read_request
from idea_explorer.cli.output import (
    EXIT,
    format_details,
    format_list,
    format_summary,
    outcome_of,
    parse_details,
    parse_status,
    place_of,
    print_json,
    print_markdown,
    suggest_decision,
    suggest_reading,
    suggest_resend,
    suggest_resume,
    terminal_width,
)
from idea_explorer.cli.streams import say, until_reader_leaves, warn
from idea_explorer.cli.targets import Target, choose_target
from idea_explorer.cli.watching import list_pending, show_events
from idea_explorer.domain.errors import MissingError
from idea_explorer.domain.json import JsonObject
from idea_explorer.domain.request import ExploreRequest
from idea_explorer.domain.text import one_line, pluralize
from idea_explorer.domain.toolsets import TOOLSETS

UNENDED = frozenset({"queued", "running"})


def submit(arguments: argparse.Namespace) -> int:
    target = choose_target(arguments)
    request = read_request(arguments)
    files = read_files(arguments.file, request.toolset)
    if arguments.estimate:
        return print_estimate(target, request, arguments)
    body: JsonObject = request.model_dump(mode="json", exclude_unset=True)
    # with a key of its own a submission can be repeated without starting anything twice
    answer = target.submit(body, files, arguments.idempotency_key or str(uuid.uuid4()))
    if arguments.watch and "reused" not in answer:
        return _follow(target, str(answer["id"]), arguments, print_outcome=True)
    if arguments.json:
        print_json(answer)
        return 0
    print(answer["id"])
    if not arguments.quiet:
        for sentence in _describe_submission(answer, target):
            warn(sentence)
    return 0


def print_estimate(target: Target, request: ExploreRequest, arguments: argparse.Namespace) -> int:
    found = target.estimate(request)
    if arguments.json:
        print_json(found)
    else:
        say(str(found["summary"]))
    return 0


def _describe_submission(answer: JsonObject, target: Target) -> Iterator[str]:
    name = target.name(str(answer["id"]))
    if "reused" in answer:
        yield f"Answered by {answer['reused']}. Read it with: idea report {name}"
        return
    similar = answer.get("similar")
    for hit in similar if isinstance(similar, list) else []:
        assert isinstance(hit, dict)
        yield f"Similar research: {one_line(str(hit['title']), 80)} ({hit['path']})"
    yield f"Queued. Follow it with: idea watch {name}"


def list_all(arguments: argparse.Namespace) -> int:
    names = ("status", "mode", "toolset", "limit", "cursor")
    given = {name: getattr(arguments, name) for name in names}
    filters = {name: value for name, value in given.items() if value is not None}
    if arguments.status:
        filters["status"] = parse_status(arguments.status)
    target = choose_target(arguments)
    found = target.list_explorations(**filters)
    if arguments.json:
        print_json(found)
        return 0
    listing = ExplorationList.model_validate(found)
    if arguments.quiet:
        for summary in listing.explorations:
            print(summary.id)
        return 0
    for line in format_list(listing.explorations, terminal_width()):
        print(line)
    if listing.left_out:
        warn(_describe_left_out(listing.left_out))
    if not (listing.explorations or listing.left_out):
        filtered = filters.keys() - {"limit"}
        none_yet = f"There are no explorations yet. {target.place}".rstrip()
        warn("No exploration matches." if filtered else none_yet)
    if listing.cursor:
        same = "".join(f" --{name} {filters[name]}" for name in filters if name != "cursor")
        rest = f"{same}{target.options}"
        warn(f"There are more. See them with: idea list --cursor {listing.cursor}{rest}")
    return 0


def _describe_left_out(number: int) -> str:
    are, them = ("is", "it") if number == 1 else ("are", "them")
    count = pluralize(number, "exploration")
    return (
        f"{count} {are} not shown: another version stored {them}, and this one cannot read {them}."
    )


def status(arguments: argparse.Namespace) -> int:
    target = choose_target(arguments)
    _show(target, target.show(arguments.id), arguments)
    return 0


def cancel(arguments: argparse.Namespace) -> int:
    target = choose_target(arguments)
    _show(target, target.cancel(arguments.id), arguments)
    return 0


def watch(arguments: argparse.Namespace) -> int:
    return _follow(choose_target(arguments), arguments.id, arguments)


def resume(arguments: argparse.Namespace) -> int:
    limits = read_limits(arguments)
    target = choose_target(arguments)
    last = target.last_event_id(arguments.id) if arguments.watch else 0
    show_progress = not (arguments.quiet or arguments.json)
    resumed = target.resume(arguments.id, limits, show_progress=show_progress)
    details = parse_details(resumed)
    if details.status in EXIT:  # it ran here
        return print_end(target, details, arguments)
    if arguments.watch:
        return _follow(target, arguments.id, arguments, after=last, print_outcome=True)
    _show(target, resumed, arguments)
    return 0


def revert(arguments: argparse.Namespace) -> int:
    undone = choose_target(arguments).revert(arguments.id)
    files = ", ".join(undone.files)
    if arguments.json:
        print_json(
            {
                "id": arguments.id,
                "new": undone.is_new,
                "url": undone.url,
                "commit": undone.commit,
                "files": list(undone.files),
                "uncommitted": list(undone.uncommitted),
            }
        )
    elif arguments.quiet:
        print(undone.url or "\n".join(undone.files))
    elif undone.url:
        opened = "Opened" if undone.is_new else "There already is"
        print(undone.url)
        say(f"{opened} a pull request that reverts {files}", rest="  ")
    else:
        say(f"{'Reverted' if undone.is_new else 'Already reverted'}: {files}", rest="  ")
        if undone.uncommitted:
            left = ", ".join(undone.uncommitted)
            say(f"With other changes, so not committed: {left}", rest="  ")
    return 0


def webhook(arguments: argparse.Namespace) -> int:
    delivery = choose_target(arguments).resend_webhook(arguments.id)
    if arguments.json:
        print_json(delivery)
    else:
        print(delivery["status"])
    if delivery["last_error"] and not arguments.quiet:
        warn(str(delivery["last_error"]))
    return 0 if delivery["status"] == "delivered" else 1


def print_end(target: Target, details: Details, arguments: argparse.Namespace) -> int:
    """What a run came to, and what to do next. The exit code says the same."""
    published = TOOLSETS[details.toolset].publishes_documents
    content = ""
    if details.links.report and (arguments.json or not published):
        with suppress(MissingError):
            content = target.report(details.id)
    with until_reader_leaves():
        if arguments.json:
            print_json(outcome_of(details, content))
        else:
            for place in dict.fromkeys(filter(None, (details.path, details.links.published))):
                print(place)
            if content:
                print_markdown(f"{content}\n")
            for line in format_summary(details, target.stats(details)).split("\n"):
                say(line)
    for sentence in _next_steps(target, details, arguments):
        warn(sentence)
    return EXIT.get(details.status, 1)


def _next_steps(target: Target, details: Details, arguments: argparse.Namespace) -> Iterator[str]:
    name = target.name(details.id)
    if details.notice:
        yield details.notice
    if details.failure:
        yield details.failure.message
    if resend := suggest_resend(details, name):
        yield resend
    if details.status == "awaiting_approval":
        yield _describe_wait(target, details.id)
    if details.status in UNENDED:
        yield _describe_left(name)
    printed = details.status != "failed" and (arguments.json or arguments.quiet)
    if not printed and (reading := suggest_reading(details, name)):
        yield reading
    if resume_command := suggest_resume(details, name):
        yield resume_command


def _show(target: Target, found: JsonObject, arguments: argparse.Namespace) -> None:
    """JSON, the status alone, or a few lines."""
    if arguments.json:
        print_json(found)
        return
    details = parse_details(found)
    if arguments.quiet:
        print(details.status)
        return
    place = place_of(details)
    for line in format_details(details, target.name(details.id)):
        if line == place:
            print(line)
        else:
            say(line)
    if details.status == "awaiting_approval":
        say(_describe_wait(target, details.id))
    if details.status in UNENDED and not target.is_worked_on(details.id):
        say(_describe_left(target.name(details.id)))


def _describe_left(name: str) -> str:
    return f"No process is running it any more. Continue with: idea resume {name}"


def _describe_wait(target: Target, exploration_id: str) -> str:
    """What a run waits for, and the command for it."""
    pending = list_pending(target, exploration_id)
    if not pending:
        return f"Everything is decided. {target.describe_next(exploration_id)}"
    name = target.name(exploration_id)
    return suggest_decision(pending, name, continues_by_itself=target.continues_by_itself)


def _follow(
    target: Target,
    exploration_id: str,
    arguments: argparse.Namespace,
    *,
    after: int = 0,
    print_outcome: bool = False,
) -> int:
    """Show every event as it comes, until the run ends or waits for somebody who is not there. With --json
    each is a line, and the command that started the run ends with the object of the whole."""
    details = parse_details(target.show(exploration_id))
    is_read = False
    with until_reader_leaves():  # nobody waits for a run that nobody reads about
        show_events(target, details, arguments, after)
        is_read = True
    details = parse_details(target.show(exploration_id))
    if arguments.json and not (print_outcome and is_read):
        return EXIT.get(details.status, 1)
    return print_end(target, details, arguments)
