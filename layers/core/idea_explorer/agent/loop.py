"""The loop: call the model, run its tools, until there is a report or a reason to stop.

All state is in the transcript. Each iteration computes the state, makes one move and appends the result;
a run that is killed anywhere resumes from the last entry.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from idea_explorer.agent.bounds import Bounds, count_gathering_tokens
from idea_explorer.agent.budget import WRITE_TOKENS, Allowance, Budget, estimate_tokens
from idea_explorer.agent.endings import end_early, end_interrupted, is_conversation_refused
from idea_explorer.agent.entries import store_answer, store_call, store_entry
from idea_explorer.agent.fresh_start import fit_fresh_start
from idea_explorer.agent.moves import (
    Ask,
    Finish,
    RefuseTools,
    Restart,
    RunTools,
    Say,
    StartBranches,
    Verify,
    next_move,
)
from idea_explorer.agent.requests import (
    ATTEMPTS,
    MODEL_CALLS,
    allow_request,
    announce_retry,
    build_request,
    describe_result,
    largest_page,
    refuse_tools,
    write_instruction,
)
from idea_explorer.agent.searches import next_gathering
from idea_explorer.agent.state import State
from idea_explorer.agent.stream_watcher import Interrupted, StreamWatcher
from idea_explorer.agent.tool_calls import ToolRecorder
from idea_explorer.agent.verification import Verifier
from idea_explorer.domain import limits
from idea_explorer.domain.branches import BranchTask
from idea_explorer.domain.deadline import WRITE_MARGIN_SECONDS, Deadline
from idea_explorer.domain.errors import ExternalError, TooLongError
from idea_explorer.domain.ids import ExplorationId
from idea_explorer.domain.json import sanitize_block
from idea_explorer.domain.retry import sleep_unless
from idea_explorer.domain.transcript import (
    AnyEntry,
    BranchesStarted,
    ConversationRestarted,
    ModelCallFailed,
    ModelCallFinished,
    ModelCallStarted,
    PendingCall,
    StoredResult,
    ToolsRan,
)
from idea_explorer.domain.turns import Conversation
from idea_explorer.domain.usage import compute_cost
from idea_explorer.ports import EventSink, Model, ModelRequest, Transcript


@dataclass(frozen=True)
class Agent:
    """One run. `cancelled` is checked between steps and while an answer streams."""

    exploration_id: ExplorationId
    transcript: Transcript
    model: Model
    tools: ToolRecorder
    sink: EventSink
    deadline: Deadline
    budget: Budget
    max_steps: int
    cancelled: Callable[[], bool]
    unfinished_at_limit: bool = False
    verifier: Verifier | None = None
    read_transcript: Callable[[Sequence[AnyEntry]], None] = lambda _: None  # before tools run
    divide: Callable[[State], tuple[BranchTask, ...]] = lambda _: ()  # the branches to start now
    conversation: Conversation = field(default_factory=Conversation)

    def run(self) -> Finish:
        """Run to the end; the report is then in the transcript."""
        while True:
            state = self._state
            if self.cancelled():
                return Finish("cancelled", "cancelled")
            move = next_move(state, self._bounds(state))
            match move:
                case Finish():
                    return move
                case Say() | RunTools() | RefuseTools() | StartBranches():
                    store_entry(self._carry_out(move, state), self.transcript)
                case Restart():
                    fresh = self._fresh_start(state, move)
                    if fresh is None:
                        return end_interrupted(state, Interrupted("budget"))
                    self.transcript.add(fresh)
                case Verify():
                    assert self.verifier is not None
                    spent = compute_cost(state.all_billed, self.budget.prices)
                    self.verifier.verify(
                        self.transcript, spent, self.deadline, self.cancelled, self.sink
                    )
                case Ask():
                    if finish := self._ask(state, move):
                        return finish

    def _carry_out(
        self, move: Say | RunTools | RefuseTools | StartBranches, state: State
    ) -> AnyEntry:
        match move:
            case Say():
                return write_instruction(move, state, self.deadline)
            case RunTools():
                return self._run_tools(state)
            case RefuseTools():
                return refuse_tools(state)
            case StartBranches():
                return BranchesStarted(branches=move.branches)

    def _bounds(self, state: State) -> Bounds:
        return Bounds(
            max_steps=self.max_steps,
            out_of_time=self.deadline.must_write,
            check_budget=lambda: next_gathering(state, self.budget)[1].fits,
            check_writing_budget=lambda: self._can_write(state),
            unfinished_at_limit=self.unfinished_at_limit,
            find_branches=lambda: self.divide(state),
            time_to_rewrite=self.deadline.left > self.deadline.reserve / 2,
            verifies=self.verifier is not None,
        )

    def _can_write(self, state: State) -> bool:
        return self._allowed(state, self._writing(state, tools_off=True)).fits

    def _allowed(self, state: State, request: ModelRequest) -> Allowance:
        return allow_request(request, state, self.budget)

    def _writing(self, state: State, *, tools_off: bool) -> ModelRequest:
        """The full number of tokens, because thinking uses them too; the deadline limits the report when
        time is short. After an answer that was all thinking, twice as many."""
        share = 2 if state.rewritten("no_text") else 1
        most = share * limits.MAX_OUTPUT_TOKENS
        return build_request(state, writing=True, tools_off=tools_off, max_tokens=most)

    def _next_request(self, state: State, move: Ask) -> tuple[ModelRequest, Allowance]:
        """The request and what it may use. Tools stay on while writing, which keeps the cache, as long as
        the budget covers searches made against our instruction and one more call to write."""
        if not move.writing:
            most = count_gathering_tokens(self.deadline) if self.unfinished_at_limit else None
            return next_gathering(state, self.budget, most or limits.MAX_OUTPUT_TOKENS)
        request = self._writing(state, tools_off=state.tools_off)
        allowance = self._allowed(state, request)
        if request.tools_off:
            return request, allowance
        last = self._writing(state, tools_off=True)
        budget = self.budget.without(state.billed_elsewhere)
        after = budget.allow(last, [*state.billed, allowance.reserved], searches=0)
        if allowance.max_tokens >= WRITE_TOKENS and after.fits:
            return request, allowance
        return last, self._allowed(state, last)

    def _ask(self, state: State, move: Ask) -> Finish | None:
        """One model call, retried while that may help and time allows."""
        for attempt in range(1, ATTEMPTS + 1):
            error = self._attempt(state, move)
            if error is None:
                return None
            if isinstance(error, Interrupted):
                # failed attempts have used up the budget or time that the move was decided on
                anew = error.reason == "gathering_over" or (
                    error.reason == "budget" and attempt > 1
                )
                return None if anew else end_interrupted(self._state, error)
            if is_conversation_refused(state, error):
                return None
            again = MODEL_CALLS.next(error, attempt)
            if again is None or again.seconds >= self._longest_wait(move):
                return self._give_up(error, move)
            # a store that cannot be reached does not end the run
            with suppress(ExternalError):
                self.sink.emit(announce_retry(again, step=state.steps + 1))
            if sleep_unless(self.cancelled, again.seconds, self.deadline.clock):
                return Finish("cancelled", "cancelled")
            state = self._state
        return None

    def _attempt(self, state: State, move: Ask) -> ExternalError | Interrupted | None:
        if self._time_for(move).passed:
            return Interrupted("deadline" if move.writing else "gathering_over")
        request, allowance = self._next_request(state, move)
        if not allowance.fits:
            return Interrupted("budget")
        step = state.steps + 1
        started = ModelCallStarted(
            step=step,
            tools_off=request.tools_off,
            max_tokens=allowance.max_tokens,
            reserved=allowance.reserved,
        )
        store_call(started, self.transcript)
        watching = StreamWatcher(
            self.sink,
            self._time_for(move),
            self.cancelled,
            step=step,
            gathering=not move.writing,
            search_tokens=self.budget.search_tokens,
            page_tokens=largest_page(request.tools),
        )
        clock = self.deadline.clock
        began = clock.monotonic()
        watching.begin(request.system, request.messages)
        try:
            answer = self.model.answer(
                replace(request, max_tokens=allowance.max_tokens), watching, watching.deadline
            )
        except (ExternalError, Interrupted) as error:
            self.transcript.append(
                ModelCallFailed(
                    step=step,
                    text=watching.so_far,
                    usage=watching.billed(error, allowance.reserved),
                    reason=str(error),
                    overflow=isinstance(error, TooLongError),
                    rejected=is_conversation_refused(state, error)
                    and not isinstance(error, TooLongError),
                )
            )
            return error
        finished = ModelCallFinished(
            step=step,
            content=[sanitize_block(block) for block in answer.content],
            stop_reason=answer.stop_reason,
            stop_detail=answer.stop_detail,
            usage=answer.usage,
            duration_ms=round((clock.monotonic() - began) * 1_000),
        )
        store_answer(finished, self.budget.price, self.transcript, self.sink)
        return None

    @property
    def _state(self) -> State:
        entries = self.transcript.entries
        return State(entries, self.conversation.follow(entries))

    def _time_for(self, move: Ask) -> Deadline:
        """A call that gathers has to end when the time for writing begins."""
        kept = WRITE_MARGIN_SECONDS if move.writing else self.deadline.reserve
        return Deadline(self.deadline.clock, self.deadline.at - kept, 0.0)

    def _longest_wait(self, move: Ask) -> float:
        """While gathering, a wait may use half of the time for writing: the other half is enough."""
        if move.writing:
            return self._time_for(move).left
        return self.deadline.left - self.deadline.reserve / 2

    def _give_up(self, error: ExternalError, move: Ask) -> Finish | None:
        """End the run, unless it was gathering and there is still time to write up what it found."""
        timed_out = not move.writing and self._time_for(move).passed
        if timed_out and self.deadline.left > WRITE_MARGIN_SECONDS:
            return None
        return end_early(self._state, "model_error", error)

    def _run_tools(self, state: State) -> ToolsRan:
        step = state.steps
        self.read_transcript(state.entries)
        calls = state.calls()
        ran = zip(calls, self.tools.call_all(calls, step), strict=True)
        outcomes = [describe_result(self.exploration_id, call, *one) for call, one in ran]
        return ToolsRan(
            step=step,
            results=tuple(o for o in outcomes if isinstance(o, StoredResult)),
            pending=tuple(o for o in outcomes if isinstance(o, PendingCall)),
        )

    def _fresh_start(self, state: State, move: Restart) -> ConversationRestarted | None:
        def tokens_with(fresh: ConversationRestarted) -> int:
            begun = State([*state.entries, fresh])
            return estimate_tokens(self._writing(begun, tools_off=True))

        budget = self.budget.without(state.billed_elsewhere)
        return fit_fresh_start(state, move.reason, budget, tokens_with)
