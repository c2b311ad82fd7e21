"""The plan that comes before the research, in a run whose depth plans."""

from collections.abc import Sequence

from idea_explorer.agent.state import State
from idea_explorer.agent.tool_calls import Caller
from idea_explorer.domain.dataclass import dataclass
from idea_explorer.domain.events import PlanAccepted
from idea_explorer.domain.json import JsonObject
from idea_explorer.domain.plan import PLAN_FIRST, WRITE_PLAN, Plan
from idea_explorer.domain.tools import ToolCall, ToolResult
from idea_explorer.domain.transcript import AnyEntry, ApprovalsDecided, StoredResult, ToolsRan
from idea_explorer.ports import EventSink, Transcript

MAX_REFUSED_STEPS = 2  # after so many, the model will not plan; research without a plan is better
WRITE_FIRST = (
    "This was not run: there is no accepted plan yet. Call write_plan first, alone; then use the other"
    " tools."
)
ONE_PLAN = "One plan at a time: the first of these calls counts."
ACCEPTED_BEFORE = "The plan was accepted already. Follow it, and write the report."


def accepted_plan(entries: Sequence[AnyEntry]) -> Plan | None:
    """The plan that the run follows, as it stands after a person's edit."""
    found = next((r for r in _results(entries) if r.name == WRITE_PLAN and r.record.ok), None)
    return read_plan(found) if found else None


def entries_to_plan(entries: Sequence[AnyEntry]) -> Sequence[AnyEntry]:
    """The entries up to the one with which the plan was accepted."""
    lengths = (n for n in range(1, len(entries) + 1) if accepted_plan(entries[n - 1 : n]))
    return entries[: next(lengths, len(entries))]


def read_plan(result: StoredResult) -> Plan:
    """The plan of an accepted call: as a person changed it, or as the model wrote it."""
    edited = result.payload.get("plan")
    if isinstance(edited, dict):
        return Plan.model_validate(edited)
    return _plan_of(result.input)


def _plan_of(arguments: JsonObject) -> Plan:
    """From valid arguments, in which null counts as missing."""
    return Plan.model_validate({name: v for name, v in arguments.items() if v is not None})


def _results(entries: Sequence[AnyEntry]) -> list[StoredResult]:
    ran = [e for e in entries if isinstance(e, ToolsRan | ApprovalsDecided)]
    return [result for entry in ran for result in entry.results]


@dataclass(frozen=True)
class PlanFirst:
    """Runs no other tool before the plan is accepted. Where a person wants to see the plan, that holds for
    the whole run; otherwise a model that ignores it twice works without."""

    inner: Caller
    transcript: Transcript
    sink: EventSink
    is_reviewed: bool

    def call(self, call: ToolCall) -> ToolResult:
        entries = self.transcript.entries
        plan = accepted_plan(entries)
        if call.name != WRITE_PLAN:
            if plan or self._has_given_up(entries):
                return self.inner.call(call)
            return ToolResult.failure(PLAN_FIRST, WRITE_FIRST)
        if plan:
            return ToolResult.failure("plan_accepted", ACCEPTED_BEFORE)
        first = next((c for c in State(entries).calls() if c.name == WRITE_PLAN), call)
        if first.id != call.id:
            return ToolResult.failure("not_run", ONE_PLAN)
        result = self.inner.call(call)
        if result.ok and result.proposal is None:
            self.sink.emit(PlanAccepted(plan=_plan_of(call.input)))
        return result

    def _has_given_up(self, entries: Sequence[AnyEntry]) -> bool:
        refused = [
            entry
            for entry in entries
            if isinstance(entry, ToolsRan)
            and any(result.record.error_type == PLAN_FIRST for result in entry.results)
        ]
        return not self.is_reviewed and len(refused) >= MAX_REFUSED_STEPS
