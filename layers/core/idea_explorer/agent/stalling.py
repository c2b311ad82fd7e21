"""Whether a run still makes progress."""

from collections.abc import Iterator, Sequence

from idea_explorer.domain.json import dump_canonical
from idea_explorer.domain.plan import PLAN_FIRST, WRITE_PLAN
from idea_explorer.domain.tools import ToolCall, parse_search_results
from idea_explorer.domain.transcript import (
    AnyEntry,
    ApprovalsDecided,
    BranchesFinished,
    ConversationRestarted,
    Instruction,
    ModelCallFinished,
    StoredResult,
    ToolsRan,
    WriteReason,
)

BARREN_STEPS = (
    2  # after so many steps in a row with nothing new, the next would bring nothing either
)


def find_stall(entries: Sequence[AnyEntry]) -> WriteReason | None:
    """Steps in a row in which nothing new was learned or tried: the same calls with the same results, or no
    calls that could run. A call that fails is new once, and so is each reason for a rejection. Only answers
    that could gather count, and counting starts again with a resume."""
    seen: set[str] = set()
    barren, gathering = 0, True
    for entry in entries:
        match entry:
            case Instruction(purpose="resume"):
                barren, gathering = 0, True
            case Instruction(purpose="write"):
                gathering = False
            case Instruction(again="cut_call"):
                barren = min(barren, BARREN_STEPS - 1)  # one more step, to follow it
            case BranchesFinished():
                barren, gathering = 0, not entry.has_answers
            case ConversationRestarted():
                gathering = False
                seen.clear()  # the results are no longer part of the conversation
            case ModelCallFinished() if gathering:
                news = {*_list_searches(entry)} - seen
                barren = 0 if news else barren + 1
                seen |= news
            case ToolsRan(refused=False) | ApprovalsDecided():
                news = {_describe(result) for result in entry.results} - seen
                plans = any(_is_of_plan(result) for result in entry.results)
                barren = 0 if news or plans else barren
                seen |= news
    return "no_progress" if barren >= BARREN_STEPS else None


def _list_searches(answer: ModelCallFinished) -> Iterator[str]:
    """What was searched for at Anthropic, and what was found."""
    for block in answer.content:
        if block.get("type") == "server_tool_use":
            yield f"{block.get('name')} {dump_canonical(block.get('input') or {})}"
    yield from (passage.sha256 for passage in parse_search_results(answer.content))


def _is_of_plan(result: StoredResult) -> bool:
    """Whether a plan was written or asked for: what came too early is called again after it."""
    return result.name == WRITE_PLAN or result.record.error_type == PLAN_FIRST


def _describe(result: StoredResult) -> str:
    """Equal for the same call with the same result. A failure is the same however it is worded, but each
    rejection has its own reason."""
    call = ToolCall(result.call_id, result.name, result.input).key
    failed = result.record.error_type
    return f"{call} {result.sha256 if failed in {None, 'rejected'} else failed}"
