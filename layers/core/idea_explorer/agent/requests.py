"""Requests to the model: how they are built, priced and retried, and the instructions we add to them."""

from collections.abc import Sequence
from dataclasses import replace

from pydantic import JsonValue

from idea_explorer.agent.budget import (
    OUR_WORDS_TOKENS,
    TOKENS_PER_WORD,
    Allowance,
    Budget,
    estimate_tokens,
)
from idea_explorer.agent.fresh_start import estimate_least_start
from idea_explorer.agent.moves import Say
from idea_explorer.agent.plans import accepted_plan
from idea_explorer.agent.prompts import prompt
from idea_explorer.agent.state import State
from idea_explorer.domain import limits
from idea_explorer.domain.approvals import approval_id
from idea_explorer.domain.deadline import OUTPUT_TOKENS_PER_SECOND, WRITE_MARGIN_SECONDS, Deadline
from idea_explorer.domain.errors import ExternalError
from idea_explorer.domain.events import EventUsage, RetryScheduled, StepFinished
from idea_explorer.domain.ids import ExplorationId
from idea_explorer.domain.json import Block, document_block, dump_canonical
from idea_explorer.domain.retry import Retry, RetryPolicy
from idea_explorer.domain.server_tools import (
    is_fetch,
    is_search,
    is_server_tool,
    max_uses,
    page_tokens,
)
from idea_explorer.domain.tools import ToolCall, ToolRecord, ToolResult
from idea_explorer.domain.transcript import (
    ConversationRestarted,
    Instruction,
    ModelCallFinished,
    PendingCall,
    StoredResult,
    ToolsRan,
)
from idea_explorer.domain.turns import list_blocks
from idea_explorer.domain.usage import Price, Usage
from idea_explorer.ports import ModelRequest

ATTEMPTS = 5
MODEL_CALLS = RetryPolicy(first=1.0, attempts=ATTEMPTS)
LEAST_WORDS = 300

UNSUPPORTED = "Unsupported sentences"  # the document, which the prompt names

WHY = {
    "max_steps": "this is the last step",
    "deadline": "the time for gathering is over",
    "budget": "the budget for gathering is spent",
    "no_progress": "the last steps repeated calls whose results are known",
    "cut_calls": "the last calls were longer than an answer may be",
    "empty_answer": "the last answer held no report",
    "pauses": "the search did not come to an end",
    "context_window": "the conversation no longer fits the context window",
    "rejected": "the conversation could not go on",
}


def build_request(
    state: State,
    *,
    writing: bool,
    tools_off: bool = False,
    max_tokens: int = limits.MAX_OUTPUT_TOKENS,
) -> ModelRequest:
    """The next request of a conversation. Its model, settings, system prompt and tools are those it was
    opened with, word for word, even if a deployment has changed them since. Only where a person has yet to
    accept the plan are Anthropic's tools left out: a call of them cannot be refused."""
    opening, built = state.opening, state.messages
    waits = opening.reviews_plan and accepted_plan(state.entries) is None
    return ModelRequest(
        model_id=opening.model_id,
        system=opening.system,
        tools=[tool for tool in opening.tools if not (waits and is_server_tool(tool))],
        messages=built.turns,
        fixed_size=None if waits else built.fixed_size,
        messages_size=built.size,
        paused_at=built.paused_at,
        max_tokens=max_tokens,
        writing=writing,
        tools_off=tools_off,
        thinking=opening.thinking,
        effort=state.effort,
    )


def announce_retry(again: Retry, *, step: int) -> RetryScheduled:
    """The event that tells people about a retry."""
    assert isinstance(again.error, ExternalError)
    return RetryScheduled(
        step=step,
        attempt=again.attempt,
        attempts=ATTEMPTS,
        seconds=again.seconds,
        reason=again.error.message,
        error_type=again.error.error_type,
    )


def announce_step(finished: ModelCallFinished, price: Price | None) -> StepFinished:
    """The event that tells people about a complete answer."""
    return StepFinished(
        step=finished.step,
        usage=EventUsage.of(finished.usage),
        cost=price.cost(finished.usage) if price else None,
        duration_ms=finished.duration_ms,
        stop_reason=finished.stop_reason,
        blocks=finished.content,
    )


def count_searches(tools: Sequence[Block]) -> int:
    """The most web searches that one request with these tools may make."""
    return sum(max_uses(tool) for tool in tools if is_search(tool))


def count_pages(tools: Sequence[Block]) -> int:
    """The most pages that Anthropic may open during one request with these tools."""
    return sum(max_uses(tool) for tool in tools if is_fetch(tool))


def count_page_tokens(tools: Sequence[Block]) -> int:
    """What these pages come to at most."""
    return sum(max_uses(tool) * page_tokens(tool) for tool in tools if is_fetch(tool))


def largest_page(tools: Sequence[Block]) -> int:
    """What one of these pages comes to at most."""
    return max((page_tokens(tool) for tool in tools if is_fetch(tool)), default=0)


def allow_request(request: ModelRequest, state: State, budget: Budget) -> Allowance:
    """What the next request of a conversation may use."""
    tools = () if request.tools_off else request.tools
    return budget.without(state.billed_elsewhere).allow(
        request,
        state.billed,
        searches=count_searches(tools),
        page_tokens=count_page_tokens(tools),
        first=not state.has_results,
    )


def write_instruction(move: Say, state: State, deadline: Deadline) -> Instruction:
    """What the model is told when it has to write, to write again, or to continue."""
    match move:
        case Say(again="cut_call"):
            names = " and ".join(dict.fromkeys(f"`{call.name}`" for call in state.calls()))
            can_edit = any(tool.get("name") == "edit_file" for tool in state.opening.tools)
            text = prompt("cut_edit" if can_edit else "cut_call", calls=names)
            return Instruction(purpose="continue", again="cut_call", text=text)
        case Say(purpose="continue"):
            return Instruction(purpose="continue", text=prompt("continue"))
        case Say(purpose="write", reason=reason):
            assert reason is not None
            text = prompt("write_now", reason=WHY[reason], room=_room(deadline))
        case Say(again="incomplete", gaps=gaps):
            text = prompt("complete_report", missing=", ".join(gaps))
        case Say(again="unsupported"):
            text = prompt("correct_report")
        case _:
            text = prompt("only_thinking", room=_room(deadline))
    return Instruction(
        purpose=move.purpose,
        reason=move.reason,
        again=move.again,
        effort=_new_effort(move, state, deadline),
        attached=[_list_unsupported(state)] if move.again == "unsupported" else [],
        text=text,
    )


def _list_unsupported(state: State) -> Block:
    """As a document, because the sentences and passages are data. It can be cited if the other documents of
    the conversation can."""
    claims = state.verification.claims if state.verification else ()
    listed: list[JsonValue] = [
        {"sentence": claim.text, "problem": claim.reason, "source_says": claim.passage}
        for claim in claims
        if claim.verdict == "unsupported"
    ]
    blocks = list_blocks(state.messages.turns)
    documents = [block for block in blocks if block.get("type") == "document"]
    cited = "citations" in documents[-1] if documents else any(map(is_fetch, state.opening.tools))
    return document_block(UNSUPPORTED, dump_canonical(listed), cited=cited)


def _new_effort(move: Say, state: State, deadline: Deadline) -> str | None:
    """The effort to change to, or None to keep the current one. It is the lowest when time is short and
    after an answer that was all thinking: better to think less than to write less."""
    wanted = state.opening.write_effort
    if wanted is None or not state.opening.changes_effort:
        return None
    if move.again == "no_text" or _is_tight(deadline):
        wanted = "low"
    return None if wanted == state.effort_now else wanted


def _is_tight(deadline: Deadline) -> bool:
    """Whether the time is too short for a report of the full length."""
    return deadline.left * OUTPUT_TOKENS_PER_SECOND < limits.MAX_OUTPUT_TOKENS


def _room(deadline: Deadline) -> str:
    """The sentence that limits the report's length when time is short."""
    if not _is_tight(deadline):
        return ""
    left = max(deadline.left - WRITE_MARGIN_SECONDS, 0.0)
    words = int(left * OUTPUT_TOKENS_PER_SECOND / TOKENS_PER_WORD / 100) * 100
    return f" There is little time left: keep it under {max(words, LEAST_WORDS):,} words."


def describe_result(
    exploration_id: ExplorationId, call: ToolCall, result: ToolResult, record: ToolRecord
) -> StoredResult | PendingCall:
    """The result of a call as the transcript has it; a proposal waits for a person's decision."""
    if result.proposal is None:
        return StoredResult.of(call, result, record)
    return PendingCall(
        call_id=call.id,
        name=call.name,
        input=call.input,
        approval_id=approval_id(exploration_id, call.id),
        proposal=result.proposal,
    )


def refuse_tools(state: State) -> ToolsRan:
    """Answer calls that came instead of a report with the instruction to write it."""
    step, result = state.steps, ToolResult.failure("not_run", prompt("no_more_tools"))
    record = ToolRecord(name="", duration_ms=0, ok=False, error_type="not_run", step=step)
    results = tuple(
        StoredResult.of(call, result, replace(record, name=call.name)) for call in state.calls()
    )
    return ToolsRan(step=step, results=results, refused=True)


def price_next_step(state: State, budget: Budget) -> float | None:
    """Dollars for one more step with tools and the report after it; None if the price is not known."""
    request = build_request(state, writing=False)
    least = budget.minimum_usd(
        request,
        searches=count_searches(request.tools),
        page_tokens=count_page_tokens(request.tools),
        first=not state.has_results,
    )
    return _with_our_words(budget, least)


def price_report(state: State, budget: Budget) -> float | None:
    """Dollars for a report, from the conversation or from a minimum of its evidence."""
    whole = budget.minimum_usd(build_request(state, writing=True, tools_off=True), searches=0)
    if whole is None or budget.price is None or not state.answers:
        return _with_our_words(budget, whole)

    def tokens_with(fresh: ConversationRestarted) -> int:
        return estimate_tokens(build_request(State([*state.entries, fresh]), writing=True))

    read = estimate_least_start(state, tokens_with)
    anew = budget.price.cost(Usage(cache_write_tokens=read, output_tokens=limits.MIN_OUTPUT_TOKENS))
    return _with_our_words(budget, min(whole, anew))


def _with_our_words(budget: Budget, usd: float | None) -> float | None:
    if usd is None or budget.price is None:
        return None
    return usd + budget.price.cost(Usage(cache_write_tokens=OUR_WORDS_TOKENS))
