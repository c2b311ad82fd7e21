"""Extract a report from a transcript: its text, with citations as links."""

from collections.abc import Sequence

from idea_explorer.domain.cited_sources import CitedDocument, read_citations
from idea_explorer.domain.json import Block, text_of
from idea_explorer.domain.report_text import FINDINGS, has_heading, strip_preamble
from idea_explorer.domain.text import escape_markdown, one_line
from idea_explorer.domain.transcript import (
    AnyEntry,
    ApprovalsDecided,
    BranchesFinished,
    ConversationRestarted,
    Instruction,
    ModelCallFailed,
    ModelCallFinished,
    Opening,
    ToolsRan,
    VerificationFinished,
)
from idea_explorer.domain.turns import find_documents

MAX_HEADING = 200
MIN_CORRECTION = 2 / 3  # of a report that a correction has to keep
CALL_STOPS = frozenset({"tool_use", "pause_turn"})
CALLS = frozenset({"tool_use", "server_tool_use"})
_UNSAFE_IN_LINK = str.maketrans({"(": "%28", ")": "%29", " ": "%20", "<": "%3C", ">": "%3E"})


def read_final_turn(entries: Sequence[AnyEntry]) -> str:
    """The text of the whole final turn, including paused and continued parts, with citations as links."""
    content = [block for answer in _find_last_turn(entries) for block in answer.content]
    return render_citations(content, find_documents(entries)).strip()


def read_report(entries: Sequence[AnyEntry]) -> str:
    """The text of the final turn, unless it only announces tool calls."""
    last = _find_last_turn(entries)
    return "" if _only_announces_calls(last, find_documents(entries)) else read_final_turn(entries)


def choose_report(entries: Sequence[AnyEntry]) -> str:
    """The best report of a run that ended early: the one that was verified, else the one that lacks fewer
    sections, if an incomplete report was asked for again, then the longer one."""
    verified = find_verified(entries)
    return verified[0] if verified else choose_unverified(entries)


def find_verified(entries: Sequence[AnyEntry]) -> tuple[str, VerificationFinished] | None:
    """The report that was verified since the last resume, with its verification. Of a report and its
    correction, the one with fewer unsupported sentences; the correction if there are as many, unless it
    leaves out much else."""
    best: tuple[str, VerificationFinished] | None = None
    for number, entry in enumerate(entries):
        if isinstance(entry, Instruction) and entry.purpose == "resume":
            best = None
        if isinstance(entry, VerificationFinished):
            text = choose_unverified(entries[:number])
            if best is None or _is_better(text, entry, *best):
                best = text, entry
    return best


def _is_better(
    text: str, found: VerificationFinished, text_before: str, before: VerificationFinished
) -> bool:
    """Whether a correction replaces the report: it has no more unsupported sentences, and at least two thirds
    of the words and of the cited sentences that there was no objection to."""
    if count_unsupported(found) > count_unsupported(before):
        return False
    refuted = [claim for claim in before.claims if claim.verdict == "unsupported"]
    words = len(text_before.split()) - sum(len(claim.text.split()) for claim in refuted)
    cited = len(before.claims) - len(refuted)
    is_long = len(text.split()) >= MIN_CORRECTION * words
    return is_long and len(found.claims) >= MIN_CORRECTION * cited


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
        if isinstance(entry, BranchesFinished) and entry.has_answers:
            return _join_findings(entry)
        if isinstance(entry, ToolsRan):
            break
    documents = find_documents(entries)
    answers = [e for e in entries if isinstance(e, ModelCallFinished)]
    texts = [
        render_citations(answer.content, documents).strip()
        for answer in answers
        if not _only_announces_calls([answer], documents)
    ]
    return "\n\n".join(text for text in texts if text)


def _join_findings(finished: BranchesFinished) -> str:
    """What the branches of a run found, where it ended before it wrote a report from that."""
    parts = [f"# {FINDINGS}"]
    for found in finished.findings:
        question = escape_markdown(one_line(found.question, MAX_HEADING))
        parts.append(f"## {question}\n\n{found.text or found.error}".rstrip())
    return "\n\n".join(parts)


def _only_announces_calls(
    turn: Sequence[ModelCallFinished], documents: Sequence[CitedDocument]
) -> bool:
    """Whether a turn that stopped at a call says no more than what it will look up."""
    if not turn or turn[-1].stop_reason not in CALL_STOPS:
        return False
    content = [block for answer in turn for block in answer.content]
    calling = any(block.get("type") in CALLS for block in content)
    citing = any(_cited_targets(block, documents) for block in content)
    return calling and not citing and not has_heading(render_citations(content))


def render_citations(content: Sequence[Block], documents: Sequence[CitedDocument] = ()) -> str:
    """The text of blocks, each followed by numbered links to its citations. `documents` are those of the
    conversation."""
    numbers: dict[str, int] = {}
    parts: list[str] = []
    for block in content:
        if block.get("type") != "text":
            continue
        links = [
            f"[[{numbers.setdefault(target, len(numbers) + 1)}]]({target})"
            for target in _cited_targets(block, documents)
        ]
        text = text_of(block.get("text"))
        stripped = text.rstrip()
        parts.append(f"{stripped} {' '.join(links)}{text[len(stripped) :]}" if links else text)
    return "".join(parts)


def _cited_targets(block: Block, documents: Sequence[CitedDocument]) -> list[str]:
    targets = (target for target, _ in read_citations(block, documents))
    return list(dict.fromkeys(target.translate(_UNSAFE_IN_LINK) for target in targets))


def _find_last_turn(entries: Sequence[AnyEntry]) -> list[ModelCallFinished]:
    """The answers of the model's last turn: several if it was paused or continued."""
    turn: list[ModelCallFinished] = []
    for entry in entries:
        match entry:
            case ModelCallFinished():
                turn.append(entry)
            case (
                Opening()
                | ConversationRestarted()
                | ToolsRan()
                | ApprovalsDecided()
                | BranchesFinished()
            ):
                turn = []
            case Instruction() if entry.purpose != "continue" or entry.again:
                turn = []
    return turn
