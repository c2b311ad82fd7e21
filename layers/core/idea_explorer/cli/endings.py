"""How a command about an exploration ends: its exit code and its last lines."""

from idea_explorer.domain.exploration import Stats, Status

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
        f"{stats.steps} steps",
        f"{usage.all_input_tokens:,} tokens in, {usage.output_tokens:,} out",
    ]
    if stats.tool_calls:
        failed = sum(not record.ok for record in stats.tool_calls)
        parts.append(f"{len(stats.tool_calls)} tool calls" + (f" ({failed} failed)" * bool(failed)))
    if stats.searches:
        parts.append(f"{stats.searches} searches")
    parts.append(money(stats.cost_usd))
    head = f"{status} · {verdict}" if verdict else status
    return f"{head}\n{' · '.join(parts)}"


def money(cost_usd: float | None) -> str:
    return "cost unknown" if cost_usd is None else f"${cost_usd:.4f}"
