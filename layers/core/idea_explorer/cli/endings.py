"""How a command about an exploration ends: its exit code and its last lines."""

import shlex

from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.run import RESUMABLE, Stats, Status
from idea_explorer.domain.text import pluralize

EXIT: dict[Status, int] = {
    "completed": 0,
    "partial": 3,
    "timed_out": 3,
    "awaiting_approval": 3,
    "cancelled": 4,
    "failed": 1,
}


def summary(status: Status, verdict: str | None, stats: Stats) -> str:
    usage = stats.usage
    parts = [
        pluralize(stats.steps, "step"),
        f"{usage.all_input_tokens:,} tokens in, {usage.output_tokens:,} out",
    ]
    if stats.tool_calls:
        failed = sum(not record.ok for record in stats.tool_calls)
        calls = pluralize(len(stats.tool_calls), "tool call")
        parts.append(calls + (f" ({failed} failed)" * bool(failed)))
    if stats.usage.searches:
        parts.append(pluralize(stats.usage.searches, "search", "searches"))
    parts.append(money(stats.cost_usd))
    if stats.unconfirmed_usd:
        parts.append(f"at most {money(stats.unconfirmed_usd)} of it for calls that broke off")
    head = f"{status} · {verdict}" if verdict else status
    return f"{head}\n{' · '.join(parts)}"


def how_to_go_on(final: Exploration, research: str | None) -> str | None:
    """What an early end leaves to do; None where all is done, nothing was begun, or it would not help."""
    if final.status not in RESUMABLE or not final.run.stats.usage.output_tokens:
        return None
    if final.run.receipt and final.run.receipt.resume is None:
        return None
    return f"Go on with: idea resume {named(final.id, research)}"


def how_to_send_again(final: Exploration, research: str | None) -> str | None:
    """What to do about a webhook that did not arrive."""
    if final.delivery.status != "failed":
        return None
    command = f"idea webhook resend {named(final.id, research)}"
    return (
        f"The webhook was not delivered: {final.delivery.last_error} Send it again with: {command}"
    )


def how_to_read(final: Exploration, research: str | None) -> str | None:
    """Where a text is that was kept and not published; None where there is none, or where it is shown."""
    kept = final.run.receipt is not None and final.run.receipt.has_partial_text
    if final.status != "failed" or not kept or not final.request.spec.publishes_documents:
        return None
    return f"Nothing was published. Read what is kept with: idea report {named(final.id, research)}"


def named(exploration_id: str, research: str | None) -> str:
    """An exploration as the next command has to name it: in the folder that this one was given."""
    where = f" --research {shlex.quote(research)}" if research else ""
    return f"{exploration_id}{where}"


def money(cost_usd: float | None) -> str:
    return "cost unknown" if cost_usd is None else f"${cost_usd:.4f}"
