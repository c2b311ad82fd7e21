"""Explorations as a person reads them: statuses, summaries, list rows and suggested commands."""

import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from pydantic import ValidationError

from idea_explorer.api.views import Details, Summary
from idea_explorer.cli.columns import columns_of, cut
from idea_explorer.cli.streams import print_coloured
from idea_explorer.cli.targets.ids import shorten_ids
from idea_explorer.domain.claims import Verification
from idea_explorer.domain.errors import ExternalError
from idea_explorer.domain.exploration import Delivery
from idea_explorer.domain.json import JsonObject, dump_text
from idea_explorer.domain.parsed_documents import OFFLINE
from idea_explorer.domain.run import RESUMABLE, Stats, Status
from idea_explorer.domain.text import make_printable, one_line, pluralize, unescape_prose
from idea_explorer.domain.toolsets import TOOLSETS

if TYPE_CHECKING:
    from idea_explorer.api.approvals import ApprovalView

EXIT: dict[Status, int] = {
    "completed": 0,
    "partial": 3,
    "timed_out": 3,
    "awaiting_approval": 3,
    "cancelled": 4,
    "failed": 1,
}
STATUS_NAMES: dict[Status, str] = {
    "awaiting_approval": "waiting for approval",
    "timed_out": "timed out",
}
REUSED = "completed · reused existing research; nothing was run"
STATUS_WIDTH = 20
MAX_TITLE, MIN_TITLE = 60, 20  # characters: what tells an idea from others


def print_json(found: object) -> None:
    print(dump_text(found))


def print_markdown(text: str) -> None:
    """As it is into a file or a pipe; on a terminal as a person reads it."""
    if width := terminal_width():
        from idea_explorer.cli.prose import lay_out

        print_coloured(lay_out(text, width), sys.stdout)
    else:
        print(text)


def parse_details(found: JsonObject) -> Details:
    try:
        return Details.model_validate(found)
    except ValidationError as error:
        raise ExternalError(
            "The API sent an answer that this command cannot read.",
            hint="Is this command older than the API?",
        ) from error


def name_status(status: Status) -> str:
    return STATUS_NAMES.get(status, status)


def parse_status(given: str) -> str:
    """A status as the API spells it, of how people read it or of that spelling itself."""
    spellings = {name: status for status, name in STATUS_NAMES.items()}
    return spellings.get(" ".join(given.lower().split()), given)


def format_cost(cost_usd: float | None) -> str:
    return "cost unknown" if cost_usd is None else f"${cost_usd:.4f}"


def format_details(details: Details, name: str) -> list[str]:
    """The lines of `idea status`. `name` is the id as a command on this target takes it."""
    # without a price: the offline model, which no limit holds back
    is_free = details.finished_at is not None and details.cost_usd == 0
    budget = f" of ${details.max_cost_usd:.2f}" if details.max_cost_usd and not is_free else ""
    lines = [
        one_line(_name(details), 100),
        _format_progress(details),
        f"{format_cost(details.cost_usd)}{budget} · started {format_age(details.created_at)} ago",
    ]
    lines += _format_verdict(details)
    place = place_of(details)
    if place:
        lines.append(place)
    if details.failure:
        lines.append(details.failure.message)
        if details.failure.resume:
            lines.append(f"Continue with: {details.failure.resume.replace(details.id, name)}")
    if webhook := _format_delivery(details.delivery, name):
        lines.append(webhook)
    return [line if line == place else " ".join(line.split()) for line in lines]


def place_of(details: Details) -> str:
    """Where the document is, to be copied as it is; "" where there is none."""
    return " ".join((details.links.published or details.path or "").splitlines())


def _format_progress(details: Details) -> str:
    if details.reused:
        return REUSED
    if details.finished_at:
        return f"{name_status(details.status)} after {pluralize(details.steps_completed, 'step')}"
    stopping = ", stopping soon" if details.cancel_requested else ""
    parts = [f"{name_status(details.status)}{stopping}"]
    if details.current_step:
        parts.append(f"step {details.current_step} of {details.steps_total}")
    if details.status == "running":
        parts.append(details.current_step_label)
    return " · ".join(parts)


def _format_delivery(delivery: Delivery, name: str) -> str:
    """The state of the webhook; "" where there is none, or none to be sent yet."""
    attempts = f"after {pluralize(delivery.attempts, 'attempt')}"
    error = f": {delivery.last_error}" if delivery.last_error else "."
    match delivery.status:
        case "delivered":
            return f"Webhook delivered {attempts}."
        case "failed":
            resend = f"idea webhook resend {name}"
            return f"Webhook not delivered {attempts}{error} Send it again with: {resend}"
        case "pending" if delivery.next_try:
            again = f"{delivery.next_try.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
            return f"Webhook not delivered yet, {attempts}{error} Trying again at {again}."
        case _:
            return ""


STATUS = "STATUS"
FACTS = f" {'STARTED':>8} {'COST':>7}"


def format_list(rows: Sequence[Summary], width: int | None) -> Iterator[str]:
    """An exploration in one line, or in up to three where the terminal is narrow. A person gets the
    ends of ids, which commands take, and a line that names the columns."""
    ids = [row.id for row in rows]
    names = shorten_ids(ids) if width else dict(zip(ids, ids, strict=True))
    longest = max(map(len, names.values()), default=0)
    statuses = [name_status(row.status) for row in rows]
    # a terminal is narrow; the columns of a pipe are always the same
    status_width = max(map(len, (STATUS, *statuses))) if width else STATUS_WIDTH
    after_id, after_facts, room = _choose_layout(longest, status_width + len(FACTS), width)
    is_table = after_id == "  "
    if rows and width and is_table:
        yield f"{'ID':<{longest}}  {STATUS:<{status_width}}{FACTS}  IDEA"
    for row in rows:
        own = names[row.id].ljust(longest if is_table else 0)
        title = cut(make_printable(one_line(_name(row), MAX_TITLE)), room)
        yield f"{own}{after_id}{_format_facts(row, status_width)}{after_facts}{title}"


def _choose_layout(longest: int, facts: int, width: int | None) -> tuple[str, str, int]:
    """What stands after the id and after the facts, and how many columns are left for the title."""
    layouts = (
        ("  ", "  ", longest + facts + 4),
        ("\n  ", "  ", facts + 4),
        ("\n  ", "\n  ", 2),
    )
    left = MAX_TITLE + longest + facts + 4 if width is None else width
    fitting = [layout for layout in layouts if left - layout[2] >= MIN_TITLE] or layouts[-1:]
    after_id, after_facts, taken = fitting[0]
    return after_id, after_facts, max(MIN_TITLE, min(left - taken, MAX_TITLE))


def _format_facts(row: Summary, status_width: int) -> str:
    cost = "" if row.cost_usd is None else f"${row.cost_usd:.2f}"
    age = f"{format_age(row.created_at)} ago"
    return f"{name_status(row.status):<{status_width}} {age:>8} {cost:>7}"


def _name(row: Summary) -> str:
    return unescape_prose(row.title) if row.title else row.idea


def format_age(moment: datetime) -> str:
    seconds = max(0, int((datetime.now(UTC) - moment).total_seconds()))
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "m")):
        if seconds >= size:
            return f"{seconds // size}{unit}"
    return f"{seconds}s"


def format_summary(details: Details, stats: Stats) -> str:
    """The last lines of a run: how it ended, and what it took."""
    if details.reused:
        return REUSED
    usage = stats.usage
    parts = [
        pluralize(stats.steps, "step"),
        f"{usage.all_input_tokens:,} tokens in, {usage.output_tokens:,} out",
    ]
    if stats.tool_calls:
        parts.append(_format_calls(stats))
    if usage.searches:
        parts.append(pluralize(usage.searches, "search", "searches"))
    if stats.verification and stats.verification.judged:
        parts.append(_format_verification(stats.verification))
    runs = f" for {details.run} runs" if details.run > 1 else ""
    parts.append(f"{format_cost(stats.cost_usd)}{runs}")
    if stats.unconfirmed_usd:
        parts.append(f"up to {format_cost(stats.unconfirmed_usd)} of it for interrupted calls")
    if stats.private_text_read and TOOLSETS[details.toolset].takes("allow_fetch_after_private"):
        parts.append("read private text (idea help privacy)")
    head = [name_status(details.status), *_format_verdict(details)]
    return f"{' · '.join(head)}\n{' · '.join(parts)}"


def _format_verdict(details: Details) -> list[str]:
    """The offline model repeats the verdicts of other documents: it has none."""
    if not details.verdict:
        return []
    return ["no verdict (offline)" if details.model == OFFLINE else unescape_prose(details.verdict)]


def _format_calls(stats: Stats) -> str:
    """What a person rejected has not failed."""
    rejected = sum(record.error_type == "rejected" for record in stats.tool_calls)
    failed = sum(not record.ok for record in stats.tool_calls) - rejected
    counts = {"failed": failed, "rejected": rejected}
    told = ", ".join(f"{count} {what}" for what, count in counts.items() if count)
    return pluralize(len(stats.tool_calls), "tool call") + (f" ({told})" if told else "")


def _format_verification(counts: Verification) -> str:
    said = f"{counts.supported} of {pluralize(counts.total, 'cited sentence')} supported"
    others = {"partly": counts.partly, "not": counts.unsupported, "not checked": counts.unchecked}
    return ", ".join([said, *(f"{count} {name}" for name, count in others.items() if count)])


def outcome_of(details: Details, content: str) -> JsonObject:
    """The one object that scripts get of a run."""
    failure = details.failure
    has_playlist = TOOLSETS[details.toolset].result_tool is not None
    playlist = None
    if has_playlist:
        from idea_explorer.domain.playlist import parse_playlist

        playlist = parse_playlist(content)
    return {
        "id": details.id,
        "status": details.status,
        "content": content or None,
        **({"playlist": playlist.as_json() if playlist else None} if has_playlist else {}),
        "path": details.path,
        "stats": details.stats,
        "error": {"code": failure.code, "message": failure.message} if failure else None,
    }


def suggest_resume(details: Details, name: str) -> str | None:
    """How to continue a run that ended early; None where nothing was begun or it would not help."""
    failure = details.failure
    if details.status not in RESUMABLE or not details.stats.get("output_tokens"):
        return None
    if failure is None or failure.resume is None:
        return None
    return f"Continue with: {failure.resume.replace(details.id, name)}"


def suggest_reading(details: Details, name: str) -> str | None:
    """How to read a report that is not printed; None where there is none."""
    if details.reused or not details.links.report:
        return None
    if not TOOLSETS[details.toolset].publishes_documents:
        return None
    if details.status == "failed":
        return f"Nothing was published. Read what was kept with: idea report {name}"
    return f"Read the report with: idea report {name}"


def suggest_resend(details: Details, name: str) -> str | None:
    if details.delivery.status != "failed":
        return None
    return (
        f"The webhook was not delivered: {details.delivery.last_error}"
        f" Send it again with: idea webhook resend {name}"
    )


def suggest_decision(
    pending: "Sequence[ApprovalView]", name: str, *, continues_by_itself: bool
) -> str:
    asked, see = _name_decisions(pending)
    end = (
        ". The run then continues by itself."
        if continues_by_itself
        else f", then continue with `idea resume {name}`."
    )
    return (
        f"Your decision is needed on {asked}. {see} with `idea approve {name} --list`,"
        f' decide with `idea approve {name}` or `idea reject {name} --reason "…"`{end}'
    )


def _name_decisions(pending: "Sequence[ApprovalView]") -> tuple[str, str]:
    kinds = {approval.kind for approval in pending}
    if kinds == {"plan"}:
        return "the plan", "Read it"
    if kinds == {"checks"}:
        return "the repository's checks", "See their commands"
    return ", ".join(dict.fromkeys(approval.path for approval in pending)), "See the changes"


def terminal_width() -> int | None:
    """None where stdout goes to a file or another program."""
    return columns_of(sys.stdout)
