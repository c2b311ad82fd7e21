"""The result of a run: its stats, its receipt and its report."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from idea_explorer.agent.budget import Budget
from idea_explorer.agent.moves import Finish
from idea_explorer.agent.plans import accepted_plan
from idea_explorer.agent.requests import price_next_step, price_report
from idea_explorer.agent.state import State
from idea_explorer.agent.verification import ReportReader
from idea_explorer.domain.claims import Verification
from idea_explorer.domain.errors import ErrorCode
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.json import text_of
from idea_explorer.domain.private_text import has_private_text
from idea_explorer.domain.report import choose_report, find_verified, read_final_turn
from idea_explorer.domain.report_phrases import translate_phrases
from idea_explorer.domain.report_text import find_verdict, name_report
from idea_explorer.domain.run import NO_PLAN, Receipt, Stats
from idea_explorer.domain.toolsets import TOOLSETS
from idea_explorer.domain.transcript import AnyEntry, ApprovalsDecided
from idea_explorer.domain.usage import Price, Usage, compute_cost
from idea_explorer.domain.verification.report import add_evidence, mark_unsupported


def stats_of(state: State, stop_reason: str | None, prices: Mapping[str, Price]) -> Stats:
    cost = compute_cost(state.all_billed, prices)
    confirmed = compute_cost(state.confirmed, prices)
    return Stats(
        steps=state.steps,
        usage=Usage.total(call.usage for call in state.all_billed),
        cost_usd=cost,
        unconfirmed_usd=round((cost or 0.0) - (confirmed or 0.0), 6),
        stop_reason=stop_reason,
        private_text_read=has_private_text(state.entries),
        step_durations=tuple(answer.duration_ms for answer in state.answers),
        tool_calls=tuple(state.records),
    )


def min_resume_cost(state: State, finish: Finish, budget: Budget) -> float | None:
    """What a resume costs at least, on top of what is spent: where the budget ended the run, another step,
    because for less it would write the same again; otherwise a report. None where that is not known."""
    if finish.status == "completed":
        return None
    short = (finish.status, finish.stop_reason) == ("partial", "budget")
    return price_next_step(state, budget) if short else price_report(state, budget)


# The receipts of runs that ended without an error.
ENDINGS: dict[str, tuple[ErrorCode, str]] = {
    "deadline": (
        "TIMEOUT",
        "The time for gathering was over; the report was written from what had been found.",
    ),
    "budget": (
        "BUDGET_EXCEEDED",
        "The budget was reached; the report was written from what had been found.",
    ),
    "max_steps": ("INTERNAL_ERROR", "The step limit was reached before the work was finished."),
    "no_progress": (
        "INTERNAL_ERROR",
        "The last steps only repeated calls whose results were known, so the work ended there.",
    ),
    "cut_calls": (
        "INTERNAL_ERROR",
        "The model's calls were longer than an answer may be, so the work ended there.",
    ),
    "max_tokens": ("INTERNAL_ERROR", "The report was cut off at the output limit."),
    "approval_expired": (
        "TIMEOUT",
        "Nobody decided in time; the work so far is kept.",
    ),
    "cancelled": ("CANCELLED", "Cancelled; the work so far is kept."),
    "pauses": ("INTERNAL_ERROR", "The search did not finish."),
    NO_PLAN: (
        "CANCELLED",
        "No plan was accepted, so nothing was researched and nothing is published; the text is kept.",
    ),
}


NO_RESEARCH = "The budget was too small for research, so the report was written without it."


def receipt_for(
    exploration: Exploration,
    finish: Finish,
    state: State,
    stats: Stats,
    *,
    has_text: bool,
    min_resume_usd: float | None,
) -> Receipt | None:
    if finish.status == "completed":
        return None
    if finish.error:
        code, message = finish.error.code, finish.error.sentence
    elif finish.stop_reason == "budget" and not stats.tool_calls:
        code, message = "BUDGET_EXCEEDED", _no_research(stats.cost_usd, min_resume_usd)
    else:
        code, message = ENDINGS[finish.stop_reason]
    if finish.status == "failed":
        message += unproposed_changes(exploration, state.entries)
    receipt = Receipt.of(
        exploration.id,
        code,
        message,
        stats=stats,
        has_text=has_text,
        # a model that declined would decline again
        resumable=finish.stop_reason != "refusal",
    )
    least = _least_budget(stats.cost_usd, min_resume_usd)
    given = exploration.request.max_cost_usd
    if finish.stop_reason != "budget" or least is None or (given and given >= float(least)):
        return receipt  # a day's budget may have ended it; a resume must not lower its own
    return receipt.model_copy(update={"resume": f"{receipt.resume} --max-cost-usd {least}"})


def unproposed_changes(exploration: Exploration, entries: Sequence[AnyEntry]) -> str:
    """Where to find changes that a person approved and that are in no pull request yet."""
    decided = [entry for entry in entries if isinstance(entry, ApprovalsDecided)]
    written = [result for entry in decided for result in entry.results if result.record.ok]
    branch = next((text_of(result.payload.get("branch")) for result in written), "")
    if not branch or exploration.publication.url:
        return ""
    return (
        f" The approved changes are on the branch {branch}, without a pull request:"
        " resume the run, or open one yourself."
    )


def _no_research(spent_usd: float | None, min_resume_usd: float | None) -> str:
    least = _least_budget(spent_usd, min_resume_usd)
    if least is None:
        return NO_RESEARCH
    return f"{NO_RESEARCH} Resuming it with research takes at least ${least}."


def _least_budget(spent_usd: float | None, min_resume_usd: float | None) -> str | None:
    """What all runs must be allowed to cost for a resume to get anywhere."""
    if spent_usd is None or min_resume_usd is None:
        return None
    return f"{math.ceil((spent_usd + min_resume_usd) * 100) / 100:.2f}"


ONE_BY_ONE = "The questions were researched one after the other, because"
NOT_PLANNED = "The model wrote no plan, so the report was written without one."


def hold_back(exploration: Exploration, finish: Finish, state: State) -> Finish:
    """The end of a run whose plan a person wanted to see and has not accepted: it is not complete."""
    if not exploration.request.review_plan or accepted_plan(state.entries):
        return finish
    ended = finish.status in {"completed", "partial"} and finish.stop_reason != "approval_expired"
    return Finish("partial", NO_PLAN) if ended else finish


def describe_notice(
    exploration: Exploration, finish: Finish, state: State, undivided: str | None
) -> str | None:
    """The notice of the record, with a sentence where the plan that was to come first is missing, or where
    a run could not have its questions researched side by side (`undivided` says why)."""
    said = exploration.publication.notice or ""
    said = said.replace(NOT_PLANNED, "").partition(ONE_BY_ONE)[0].strip()  # of an earlier run
    has_report = finish.status in {"completed", "partial"}
    reviewed = exploration.request.review_plan
    if exploration.request.plans and has_report and not accepted_plan(state.entries):
        said = said if reviewed else f"{said} {NOT_PLANNED}".strip()
    elif has_report and undivided:
        said = f"{said} {ONE_BY_ONE} {undivided}.".strip()
    return said or None


@dataclass(frozen=True, slots=True)
class Conclusion:
    text: str
    verdict: str | None
    citations: int
    unmatched: int
    verification: Verification | None = None

    def title(self, idea: str) -> str:
        return name_report(self.text, idea)


def conclude(state: State, finish: Finish, reader: ReportReader) -> Conclusion:
    """The report, cleaned and with its citations checked; for a run that ended early, the best text there
    is."""
    verified = find_verified(state.entries)
    if verified:
        written = verified[0]
    elif finish.status == "completed":
        written = read_final_turn(state.entries)
    else:
        written = choose_report(state.entries)
    checked, passages = reader.read(written, state)
    text = checked.text
    claims = verified[1].claims if verified else ()
    if claims:
        cited = {target: passages.key(target) for claim in claims for target in claim.sources}
        numbers = {t: checked.numbers[key] for t, key in cited.items() if key in checked.numbers}
        text = add_evidence(mark_unsupported(text, claims), claims, numbers)
    return Conclusion(
        _add_result(translate_phrases(text), state),
        find_verdict(checked.text),
        checked.citations,
        checked.unmatched,
        Verification.of(claims) if verified else None,
    )


def _add_result(text: str, state: State) -> str:
    """The report with what the toolset's result tool returned last, if it has such a tool."""
    if not state.opening.adds_result:
        return text
    from idea_explorer.domain.playlist import add_playlist, playlist_of

    names = {spec.result_tool for spec in TOOLSETS.values() if spec.result_tool}
    found = [result for result in state.results if result.name in names and result.record.ok]
    return add_playlist(text, playlist_of(found[-1].payload) if found else None)
