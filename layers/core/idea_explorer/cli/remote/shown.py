"""An exploration of a deployment, as a person reads it."""

import argparse
import json
import sys
from datetime import UTC, datetime

from pydantic import ValidationError

from idea_explorer.api.views import Details, Summary
from idea_explorer.cli.endings import money, summary
from idea_explorer.domain.errors import ExternalError
from idea_explorer.domain.exploration import Delivery
from idea_explorer.domain.json import JsonObject
from idea_explorer.domain.run import Stats
from idea_explorer.domain.text import one_line, pluralize, strip_control_characters

MAX_TITLE, MIN_TITLE = 60, 20  # characters: what tells an idea from others


def show(found: JsonObject, arguments: argparse.Namespace) -> None:
    """What a command says of an exploration: JSON, its status alone, or a few lines."""
    if arguments.json:
        print(json.dumps(found, ensure_ascii=False))
        return
    details = details_in(found)
    print(
        details.status if arguments.quiet else strip_control_characters("\n".join(lines(details)))
    )


def details_in(found: JsonObject) -> Details:
    try:
        return Details.model_validate(found)
    except ValidationError as error:
        raise ExternalError(
            "The API's answer was not understood.", hint="Is this command older than the API?"
        ) from error


def lines(details: Details) -> list[str]:
    """What `idea status` says."""
    step = (
        f"step {details.current_step} of {details.steps_total} · " if details.current_step else ""
    )
    said = [
        one_line(details.title or details.idea, 100),
        f"{details.status}{_stopping(details)} · {step}{details.current_step_label}",
        f"{money(details.cost_usd)}{_budget(details)} · {age(details.created_at)} ago",
    ]
    if details.verdict:
        said.append(details.verdict)
    said += _endings(details)
    if told := _delivery(details.delivery, details):
        said.append(told)
    return said


def _delivery(delivery: Delivery, details: Details) -> str:
    """What became of the webhook; nothing where there is none, or none to be sent yet."""
    tried = f"after {pluralize(delivery.attempts, 'attempt')}"
    error = f": {delivery.last_error}" if delivery.last_error else "."
    match delivery.status:
        case "delivered":
            return f"Webhook delivered {tried}."
        case "failed":
            return f"Webhook not delivered {tried}{error} Send it: idea webhook resend {details.id}"
        case "pending" if delivery.next_try:
            again = f"{delivery.next_try.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
            return f"Webhook not delivered yet, {tried}{error} Trying again at {again}."
        case _:
            return ""


def _stopping(details: Details) -> str:
    is_open = details.finished_at is None
    return ", asked to stop soon" if details.cancel_requested and is_open else ""


def _budget(details: Details) -> str:
    return f" of ${details.max_cost_usd:.2f}" if details.max_cost_usd else ""


def _endings(details: Details) -> list[str]:
    found = [place for place in (details.links.published or details.path,) if place]
    if details.failure:
        found.append(details.failure.message)
        found += [f"Go on with: {details.failure.resume}"] if details.failure.resume else []
    return found


def print_ending(details: Details, answer: str) -> None:
    """The last lines of `idea watch`, as `idea explore` has them. `answer` is "" where it is published."""
    if place := details.links.published or details.path:
        print(place)
    if answer:
        print(f"{strip_control_characters(answer) if sys.stdout.isatty() else answer}\n")
    print(summary(details.status, details.verdict, stats_of(details)))
    if details.failure:
        print(f"idea: {details.failure.message}", file=sys.stderr)


def outcome(details: Details, content: str) -> JsonObject:
    """What `idea explore --json` says of the same."""
    failure = details.failure
    return {
        "id": details.id,
        "status": details.status,
        "content": content or None,
        "path": details.path,
        "stats": details.stats,
        "error": {"code": failure.code, "message": failure.message} if failure else None,
    }


def stats_of(details: Details) -> Stats:
    """Without the single calls, which are spelled for scripts."""
    return Stats.model_validate({k: v for k, v in details.stats.items() if k != "tool_calls"})


def row(line: Summary, width: int | None) -> str:
    """An exploration in one line, or below each other what the terminal has no room for."""
    cost = "" if line.cost_usd is None else f"${line.cost_usd:.2f}"
    known = f"{line.status:<17} {age(line.created_at):>4} {cost:>7}"
    head, room = "", 0
    for head in (f"{line.id}  {known}  ", f"{line.id}\n  {known}  ", f"{line.id}\n  {known}\n  "):
        room = MAX_TITLE if width is None else width - len(head.rpartition("\n")[2])
        if room >= MIN_TITLE:
            break
    return strip_control_characters(head + one_line(line.title or line.idea, min(room, MAX_TITLE)))


def age(moment: datetime) -> str:
    seconds = max(0, int((datetime.now(UTC) - moment).total_seconds()))
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "m")):
        if seconds >= size:
            return f"{seconds // size}{unit}"
    return f"{seconds}s"
