"""Replay a transcript: the recorded answers and results, with the decisions of today's code.

It uses no model, no tool and no network. Where today's code decides differently from the code that
recorded, the replay stops and says where.
"""

from collections.abc import Sequence

from idea_explorer.agent.bounds import Bounds
from idea_explorer.agent.moves import (
    Ask,
    Finish,
    Move,
    RefuseTools,
    Restart,
    RunTools,
    Say,
    StartBranches,
    Verify,
    next_move,
)
from idea_explorer.agent.state import State
from idea_explorer.agent.verification import ReportReader
from idea_explorer.domain import transcript
from idea_explorer.domain.dataclass import dataclass
from idea_explorer.usecases.outcome import Conclusion, conclude


@dataclass(frozen=True, slots=True)
class ReplayResult:
    """`divergence` is empty where today's code does what was recorded."""

    steps: int
    tool_calls: int
    conclusion: Conclusion | None
    divergence: str = ""


def replay(entries: Sequence[transcript.AnyEntry], page: str | None = None) -> ReplayResult:
    """`page` is the web address of the team's repository, as in the recorded run."""
    tape = _Tape(entries)
    while True:
        tape.skip_interruptions()
        state = State(tape.played)
        move = next_move(state, tape.bounds(state))
        if tape.came_from_outside(state):
            tape.play()
            continue
        if isinstance(move, Finish):
            return _ended(tape, state, move, page)
        if tape.at_end or not tape.agrees(move, state):
            if tape.at_end and not isinstance(state.last, transcript.ModelCallFinished):
                return _ended(tape, state, Finish("partial", "recording ends"), page)
            expected = tape.upcoming.kind if tape.upcoming else "the end"
            return _result(
                tape, None, f"after entry {len(tape.played)}: {move} where {expected} was"
            )
        tape.play()


def _ended(tape: "_Tape", state: State, finish: Finish, page: str | None) -> ReplayResult:
    if tape.upcoming is not None:
        return _result(tape, None, f"ended after entry {len(tape.played)} where more was recorded")
    return _result(tape, conclude(state, finish, ReportReader(page)), "")


def _result(tape: "_Tape", conclusion: Conclusion | None, divergence: str) -> ReplayResult:
    state = State(tape.played)
    return ReplayResult(state.steps, len(state.results), conclusion, divergence)


_INTERRUPTIONS = (
    transcript.ModelCallStarted | transcript.ModelCallFailed | transcript.VerificationStarted
)


class _Tape:
    """The recorded entries, and how far they have been played."""

    def __init__(self, entries: Sequence[transcript.AnyEntry]) -> None:
        assert isinstance(entries[0], transcript.Opening)
        self._entries = list(entries)
        self._position = 1

    @property
    def played(self) -> Sequence[transcript.AnyEntry]:
        return self._entries[: self._position]

    @property
    def upcoming(self) -> transcript.AnyEntry | None:
        return self._entries[self._position] if self._position < len(self._entries) else None

    @property
    def at_end(self) -> bool:
        return self.upcoming is None

    def play(self) -> None:
        self._position += 1

    def skip_interruptions(self) -> None:
        """Calls that broke off, and resumes by a person, are repeated as recorded."""
        while self.upcoming is not None and (
            isinstance(self.upcoming, _INTERRUPTIONS)
            or (
                isinstance(self.upcoming, transcript.Instruction)
                and self.upcoming.purpose == "resume"
            )
        ):
            self.play()

    def came_from_outside(self, state: State) -> bool:
        """Whether a person's decisions, or the findings of branches, come next: both are repeated as they
        were recorded."""
        decided = state.waiting and isinstance(self.upcoming, transcript.ApprovalsDecided)
        found = state.branches and isinstance(self.upcoming, transcript.BranchesFinished)
        return bool(decided or found)

    def bounds(self, state: State) -> Bounds:
        reason = (
            self.upcoming.reason
            if isinstance(self.upcoming, transcript.Instruction | transcript.ConversationRestarted)
            else None
        )
        refused = isinstance(self.upcoming, transcript.ToolsRan) and self.upcoming.refused
        started = self.upcoming
        restarted = isinstance(self.upcoming, transcript.ConversationRestarted)
        return Bounds(
            max_steps=state.steps + (1 if reason == "max_steps" else 0 if refused else 1_000),
            unfinished_at_limit=refused,
            out_of_time=reason == "deadline",
            check_budget=lambda: reason != "budget",
            find_branches=lambda: (
                started.branches if isinstance(started, transcript.BranchesStarted) else ()
            ),
            check_writing_budget=lambda: not (restarted and reason == "budget"),
            verifies=isinstance(self.upcoming, transcript.VerificationFinished)
            or (
                isinstance(self.upcoming, transcript.Instruction)
                and self.upcoming.again == "unsupported"
            ),
        )

    def agrees(self, move: Move, state: State) -> bool:
        match move, self.upcoming:
            case Ask(), transcript.ModelCallFinished():
                return True
            case Say(), transcript.Instruction():
                said = self.upcoming
                expected = (said.purpose, said.reason, said.again)
                return (move.purpose, move.reason, move.again) == expected
            case Verify(), transcript.VerificationFinished():
                return True
            case Restart(), transcript.ConversationRestarted():
                return True
            case StartBranches(), transcript.BranchesStarted():
                return True
            case RunTools() | RefuseTools(), transcript.ToolsRan():
                if self.upcoming.refused != isinstance(move, RefuseTools):
                    return False
                called: list[transcript.StoredResult | transcript.PendingCall] = [
                    *self.upcoming.results,
                    *self.upcoming.pending,
                ]
                recorded = {r.call_id: (r.name, r.input) for r in called}
                return recorded == {c.id: (c.name, c.input) for c in state.calls()}
            case _:
                return False
