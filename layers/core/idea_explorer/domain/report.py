"""Extract a report from a transcript: its text, with citations as links."""

from collections.abc import Sequence

from idea_explorer.domain.json import Block, citations_of, text_of
from idea_explorer.domain.report_text import has_heading, strip_preamble
from idea_explorer.domain.transcript import (
    AnyEntry,
    Instruction,
    ModelCallFailed,
    ModelCallFinished,
    Opening,
    ToolsRan,
    VerificationFinished,
)
from idea_explorer.domain.turns import find_last_turn

CALL_STOPS = frozenset({"tool_use", "pause_turn"})
CALLS = frozenset({"tool_use", "server_tool_use"})
_UNSAFE_IN_LINK = str.maketrans({"(": "%28", ")": "%29", " ": "%20", "<": "%3C", ">": "%3E"})


def read_final_turn(entries: Sequence[AnyEntry]) -> str:
    """The text of the whole final turn, including paused and continued parts, with citations as links."""
    return render_citations([block for a in find_last_turn(entries) for block in a.content]).strip()


def read_report(entries: Sequence[AnyEntry]) -> str:
    """The text of the final turn, unless it only announces tool calls."""
    return "" if _only_announces_calls(find_last_turn(entries)) else read_final_turn(entries)


def choose_report(entries: Sequence[AnyEntry]) -> str:
    """The best report of a run that ended early: the one that was verified, else the one that lacks fewer
    sections, if an incomplete report was asked for again, then the longer one."""
    verified = find_verified(entries)
    return verified[0] if verified else choose_unverified(entries)


def find_verified(entries: Sequence[AnyEntry]) -> tuple[str, VerificationFinished] | None:
    """The report that was verified since the last resume, with its verification. Of a report and its
    correction, the one with fewer unsupported sentences; the correction if there are as many."""
    best: tuple[str, VerificationFinished] | None = None
    for number in range(len(entries) - 1, 0, -1):
        entry = entries[number]
        if isinstance(entry, Instruction) and entry.purpose == "resume":
            break
        if isinstance(entry, VerificationFinished) and (
            best is None or count_unsupported(entry) < count_unsupported(best[1])
        ):
            best = choose_unverified(entries[:number]), entry
    return best


def count_unsupported(verification: VerificationFinished) -> int:
    return sum(claim.verdict == "unsupported" for claim in verification.claims)


def choose_unverified(entries: Sequence[AnyEntry]) -> str:
    """The best report as far as its sections and length tell."""
    last = _latest_text(entries)
    asked_again = [
        n for n, e in enumerate(entries) if isinstance(e, Instruction) and e.again == "incomplete"
    ]
    before = read_report(entries[: asked_again[-1]]) if asked_again else ""
    framework = entries[0].framework if entries and isinstance(entries[0], Opening) else None
    if not before or framework is None:
        return last

    def rank(text: str) -> tuple[int, int]:
        return len(framework.missing(strip_preamble(text))), -len(text)

    return min((last, before), key=rank) if last else before


def _latest_text(entries: Sequence[AnyEntry]) -> str:
    """The text of the unfinished turn, or else all reports so far, complete or begun beside a call."""
    if reported := read_report(entries):
        tail = entries[-1]
        return (
            f"{reported}\n\n{tail.text}".strip() if isinstance(tail, ModelCallFailed) else reported
        )
    for entry in reversed(entries):
        if isinstance(entry, ModelCallFailed) and entry.text.strip():
            return entry.text.strip()
        if isinstance(entry, ToolsRan):
            break
    answers = [
        e for e in entries if isinstance(e, ModelCallFinished) and not _only_announces_calls([e])
    ]
    return "\n\n".join(
        text for answer in answers if (text := render_citations(answer.content).strip())
    )


def _only_announces_calls(turn: Sequence[ModelCallFinished]) -> bool:
    """Whether a turn that stopped at a call says no more than what it will look up."""
    if not turn or turn[-1].stop_reason not in CALL_STOPS:
        return False
    content = [block for answer in turn for block in answer.content]
    calling = any(block.get("type") in CALLS for block in content)
    citing = any(_cited_urls(block) for block in content)
    return calling and not citing and not has_heading(render_citations(content))


def render_citations(content: Sequence[Block]) -> str:
    """The text of blocks, each followed by numbered links to its citations."""
    numbers: dict[str, int] = {}
    parts: list[str] = []
    for block in content:
        if block.get("type") != "text":
            continue
        links = [
            f"[[{numbers.setdefault(url, len(numbers) + 1)}]]({url})" for url in _cited_urls(block)
        ]
        text = text_of(block.get("text"))
        stripped = text.rstrip()
        parts.append(f"{stripped} {' '.join(links)}{text[len(stripped) :]}" if links else text)
    return "".join(parts)


def _cited_urls(block: Block) -> list[str]:
    urls = [text_of(c.get("url")).translate(_UNSAFE_IN_LINK) for c in citations_of(block)]
    return list(dict.fromkeys(url for url in urls if url.startswith(("https://", "http://"))))
