"""The state of a run, computed from its transcript, so that a resumed run continues with the same state."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile

from idea_explorer.agent.billing import list_confirmed_calls, list_other_calls, list_own_calls
from idea_explorer.agent.branches import latest_findings, open_branches
from idea_explorer.agent.stalling import find_stall
from idea_explorer.domain.server_tools import RESULT_TYPES
from idea_explorer.domain.tools import Passage, ToolCall, ToolRecord, parse_search_results
from idea_explorer.domain.transcript import (
    AnyEntry,
    ApprovalsDecided,
    BranchesFinished,
    BranchesStarted,
    ConversationRestarted,
    Instruction,
    ModelCallFinished,
    ModelCallStarted,
    Opening,
    PendingCall,
    RewriteReason,
    StoredResult,
    ToolsRan,
    VerificationFinished,
    VerificationStarted,
    WriteReason,
)
from idea_explorer.domain.turns import (
    Conversation,
    Messages,
    find_effort,
    find_pending_server_calls,
    prepare_answer,
)
from idea_explorer.domain.usage import ModelUsage, Usage

_BESIDE = ModelCallStarted | VerificationStarted | VerificationFinished


@dataclass(frozen=True)
class State:
    """`built` are the messages of the entries, where they are known."""

    entries: Sequence[AnyEntry]
    built: Messages | None = None

    @cached_property
    def opening(self) -> Opening:
        opening = self.entries[0]
        assert isinstance(opening, Opening)
        return opening

    @cached_property
    def messages(self) -> Messages:
        """Those of the next request."""
        return self.built or Conversation().follow(self.entries)

    @property
    def last(self) -> AnyEntry:
        """The last entry, not counting calls that were only announced and verifications of what was said."""
        return next(entry for entry in reversed(self.entries) if not isinstance(entry, _BESIDE))

    @cached_property
    def answers(self) -> list[ModelCallFinished]:
        return [entry for entry in self.entries if isinstance(entry, ModelCallFinished)]

    @property
    def steps(self) -> int:
        return len(self.answers)

    @cached_property
    def results(self) -> list[StoredResult]:
        """The results of calls that were run or decided."""
        ran = [entry for entry in self.entries if isinstance(entry, ToolsRan | ApprovalsDecided)]
        answered = [e for e in ran if not (isinstance(e, ToolsRan) and e.refused)]
        return [result for entry in answered for result in entry.results]

    @property
    def confirmed(self) -> list[ModelUsage]:
        """What each complete answer, of any model, says it was billed."""
        return list_confirmed_calls(self.entries, self.opening.model_id)

    @cached_property
    def records(self) -> list[ToolRecord]:
        """Every tool call that has a result, in order, including those that ran at Anthropic."""
        found: list[ToolRecord] = []
        for entry in self.entries:
            match entry:
                case ModelCallFinished():
                    results = [b for b in entry.content if b.get("type") in RESULT_TYPES]
                    found.extend(ToolRecord.of_server_result(b, entry.step) for b in results)
                case ToolsRan(refused=False) | ApprovalsDecided():
                    found.extend(result.record for result in entry.results)
        return [*found, *(r for branch in latest_findings(self.entries) for r in branch.records)]

    @property
    def has_results(self) -> bool:
        """Whether there are any `records`, which take longer to list."""
        for entry in self.entries:
            match entry:
                case ModelCallFinished():
                    if any(block.get("type") in RESULT_TYPES for block in entry.content):
                        return True
                case ToolsRan(refused=False) | ApprovalsDecided():
                    if entry.results:
                        return True
        return any(branch.records for branch in latest_findings(self.entries))

    @cached_property
    def billed(self) -> list[Usage]:
        """What each call of the run's own model was billed, at most."""
        return list_own_calls(self.entries)

    @cached_property
    def billed_elsewhere(self) -> list[ModelUsage]:
        """What each call of another model was billed, at most."""
        return list_other_calls(self.entries)

    @cached_property
    def all_billed(self) -> list[ModelUsage]:
        own = self.opening.model_id
        return [*(ModelUsage(own, usage) for usage in self.billed), *self.billed_elsewhere]

    @property
    def verification(self) -> VerificationFinished | None:
        """That of the last answer, if it was verified."""
        for entry in reversed(self.entries):
            if isinstance(entry, VerificationFinished):
                return entry
            if isinstance(entry, ModelCallFinished):
                return None
        return None

    @cached_property
    def before_correction(self) -> "State | None":
        """The state before unsupported sentences were sent back, if they were since the last resume."""
        for number in range(len(self.entries) - 1, 0, -1):
            entry = self.entries[number]
            if isinstance(entry, Instruction) and entry.purpose == "resume":
                return None
            if isinstance(entry, Instruction) and entry.again == "unsupported":
                return State(self.entries[:number])
        return None

    @cached_property
    def evidence(self) -> list[Passage]:
        """Every passage that was read or found, in order."""
        found: list[Passage] = []
        for entry in self.entries:
            match entry:
                case Opening():
                    found.extend(entry.passages)
                case ModelCallFinished():
                    found.extend(parse_search_results(entry.content))
                case ToolsRan() | ApprovalsDecided():
                    found.extend(p for result in entry.results for p in result.passages)
                case BranchesFinished():
                    found.extend(p for branch in entry.findings for p in branch.passages)
        return found

    @cached_property
    def writing(self) -> WriteReason | None:
        """Why the report was asked for; None while gathering, and again after a resume."""
        for entry in reversed(self.entries):
            if isinstance(entry, ConversationRestarted):
                return entry.reason
            if isinstance(entry, BranchesFinished):
                return "branches" if entry.has_answers else None
            if isinstance(entry, Instruction) and entry.purpose != "continue":
                return entry.reason
        return None

    @property
    def tools_off(self) -> bool:
        """Whether tools are switched off. In a new conversation they are from its beginning; in one that
        continues only after two refusals, because switching them off invalidates its cache."""
        return bool(self.writing) and (self.restarted or self.refusals > 1)

    @property
    def tools_were_off(self) -> bool:
        """Whether tools were off for the last answer."""
        asked = next((e for e in reversed(self.entries) if isinstance(e, ModelCallStarted)), None)
        return asked is not None and asked.tools_off

    @cached_property
    def refusals(self) -> int:
        """How often the model called tools instead of writing the report."""
        count = 0
        for entry in reversed(self.entries):
            if isinstance(entry, ConversationRestarted | BranchesFinished) or (
                isinstance(entry, Instruction) and entry.purpose in {"write", "resume"}
            ):
                break
            count += isinstance(entry, ToolsRan) and entry.refused
        return count

    @cached_property
    def _since_resume(self) -> list[AnyEntry]:
        """The entries since the last resume, latest first."""
        entries = reversed(self.entries)
        return list(
            takewhile(lambda e: not (isinstance(e, Instruction) and e.purpose == "resume"), entries)
        )

    def rewritten(self, why: RewriteReason) -> bool:
        """Whether the report was asked for again for this reason since the last resume."""
        return any(isinstance(e, Instruction) and e.again == why for e in self._since_resume)

    @property
    def asked_for_shorter_call(self) -> bool:
        """Whether that was the last instruction."""
        said = next((e for e in reversed(self.entries) if isinstance(e, Instruction)), None)
        return said is not None and said.again == "cut_call"

    @property
    def effort(self) -> str | None:
        """The effort that the conversation began with, sent unchanged with each of its requests."""
        begun_anew = any(isinstance(entry, ConversationRestarted) for entry in self.entries)
        return self.opening.write_effort if begun_anew else self.opening.effort

    @property
    def effort_now(self) -> str | None:
        return find_effort(self.messages.turns, self.effort)

    @property
    def resumed(self) -> set[int | None]:
        """The runs that were told to continue the work of earlier ones."""
        return {e.run for e in self.entries if isinstance(e, Instruction) and e.purpose == "resume"}

    @cached_property
    def continued(self) -> bool:
        """Whether the current text was already continued once after it was cut off."""
        for entry in reversed(self.entries):
            if isinstance(entry, Instruction):
                return entry.purpose == "continue" and entry.again is None
            if isinstance(entry, ToolsRan | ApprovalsDecided | Opening | ConversationRestarted):
                return False
            if isinstance(entry, BranchesFinished):
                return False
        return False

    @cached_property
    def restarted(self) -> bool:
        """Whether the run has restarted from the evidence since the last resume."""
        return any(isinstance(entry, ConversationRestarted) for entry in self._since_resume)

    @property
    def pending(self) -> bool:
        """Whether a web search of the last answer is unfinished. Until it is finished, only tool results
        may be added."""
        for entry in reversed(self.entries):
            if isinstance(entry, ConversationRestarted):
                return False
            if isinstance(entry, ModelCallFinished):
                return bool(find_pending_server_calls(prepare_answer(entry)))
        return False

    @cached_property
    def pauses(self) -> int:
        """How many times in a row the turn was paused."""
        count = 0
        for entry in self._since_resume:
            ended = isinstance(entry, ModelCallFinished) and entry.stop_reason != "pause_turn"
            if ended or isinstance(entry, ConversationRestarted):
                break
            count += isinstance(entry, ModelCallFinished)
        return count

    @cached_property
    def stalled(self) -> WriteReason | None:
        """Why more gathering is pointless."""
        return find_stall(self.entries)

    @property
    def branches(self) -> BranchesStarted | None:
        """The branches that the run waits for."""
        return open_branches(self.entries)

    @property
    def waiting(self) -> tuple[PendingCall, ...]:
        """The calls that wait for a person's decision."""
        last = self.last
        return last.pending if isinstance(last, ToolsRan) else ()

    def calls(self) -> list[ToolCall]:
        """The calls of the last answer that run here."""
        return [
            ToolCall(
                id=str(block.get("id")),
                name=str(block.get("name")),
                input=given if isinstance(given := block.get("input"), dict) else {},
            )
            for block in self.answers[-1].content
            if block.get("type") == "tool_use"
        ]
