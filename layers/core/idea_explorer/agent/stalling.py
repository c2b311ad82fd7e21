"""Whether a run still learns anything from its steps."""

from collections.abc import Sequence

from idea_explorer.domain.json import dump_canonical
from idea_explorer.domain.plan import PLAN_FIRST, WRITE_PLAN
from idea_explorer.domain.tools import parse_search_results
from idea_explorer.domain.transcript import (
    AnyEntry,
    ApprovalsDecided,
    BranchesFinished,
    ConversationRestarted,
    Instruction,
    ModelCallFinished,
    ToolsRan,
    WriteReason,
)

BARREN_STEPS = 2  # after so many steps without new evidence, more gathering is not worth its cost


def find_stall(entries: Sequence[AnyEntry]) -> WriteReason | None:
    """A repeated call, or two steps without new evidence. Only answers that could gather count, and
    counting starts again with a resume."""
    seen_calls: set[str] = set()
    seen_findings: set[str] = set()
    barren, repeated, gathering = 0, False, True
    for entry in entries:
        match entry:
            case Instruction(purpose="resume"):
                barren, repeated, gathering = 0, False, True
            case Instruction(purpose="write"):
                gathering = False
            case BranchesFinished():
                barren, gathering = 0, not entry.has_answers
            case ConversationRestarted():
                gathering = False
                seen_calls.clear()  # their results are no longer part of the conversation
            case ModelCallFinished() if gathering:
                findings = {p.sha256 for p in parse_search_results(entry.content)}
                barren = 0 if findings - seen_findings else barren + 1
                seen_findings |= findings
            case ToolsRan(refused=False) | ApprovalsDecided():
                new = {r.sha256 for r in entry.results if r.record.ok} - seen_findings
                ran = [r for r in entry.results if r.record.error_type != PLAN_FIRST]
                for result in ran:
                    key = f"{result.name} {dump_canonical(result.input)}"
                    repeated |= key in seen_calls and result.sha256 not in new
                    seen_calls.add(key)
                plans = len(ran) < len(entry.results) or any(r.name == WRITE_PLAN for r in ran)
                barren = 0 if new or plans else barren
                seen_findings |= new
    if repeated:
        return "repeated_call"
    return "no_new_evidence" if barren >= BARREN_STEPS else None
