"""What stays the same for all of a run, and the commit that its exploration reads."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from idea_explorer.agent.budget import Budget
from idea_explorer.agent.state import State
from idea_explorer.agent.verification import Judge, ReportReader, Verifier
from idea_explorer.domain.errors import ExplorerError
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.models import VERIFIER
from idea_explorer.domain.parsed_documents import OFFLINE
from idea_explorer.ports import Transcript
from idea_explorer.usecases.cancel import is_cancelled
from idea_explorer.usecases.deps import Deps
from idea_explorer.usecases.engine import Engine
from idea_explorer.usecases.opening import call_until_reachable, deadline_of
from idea_explorer.usecases.run_events import RecordingSink

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RunContext:
    """What stays the same for all of a run, whatever its record comes to hold."""

    transcript: Transcript
    sink: RecordingSink
    engine: Engine
    deps: Deps
    reader: ReportReader

    @property
    def state(self) -> State:
        return State(self.transcript.entries)

    def budget_for(self, exploration: Exploration, model_id: str) -> Budget:
        return Budget(
            price=self.deps.policy.prices.get(model_id),
            max_cost_usd=exploration.run.limit_usd,
            max_total_tokens=self.engine.max_total_tokens,
            search_tokens=self.engine.search_tokens,
            prices=self.deps.policy.prices,
        )

    def verifier_for(self, exploration: Exploration) -> Verifier | None:
        """Without a priced model to judge with, only rules verify; so does an offline run. The findings of a
        branch are verified with the report that is written from them."""
        if exploration.branch_of or not exploration.request.spec.verifies:
            return None
        policy = self.deps.policy
        model_id = policy.model_ids.get(VERIFIER, OFFLINE)
        price = policy.prices.get(model_id)
        judge = None
        if price is not None and OFFLINE not in {model_id, self.state.opening.model_id}:
            judge = Judge(model_id, price, policy.profiles.get(model_id))
        return Verifier(self.engine.model, judge, exploration.run.limit_usd, self.reader)

    def call_until_reachable(self, call: Callable[[], T], exploration: Exploration) -> T:
        """Call, and call again while the run has time for that and is not cancelled."""
        return call_until_reachable(
            call,
            deadline_of(exploration, self.deps.clock),
            self.sink,
            lambda: is_cancelled(exploration, self.deps),
        )


def pin_commit(exploration: Exploration, context: RunContext) -> Exploration:
    """Fix the commit that this exploration reads, in this run and in every later one.

    Raises where the repository cannot be used, unless the run has cost something by now: then it goes
    on, and the tools report the error. For a branch its parent has done so.
    """
    if exploration.branch_of:
        return exploration
    engine, deps = context.engine, context.deps

    def find_commit() -> str | None:
        return None if exploration.base_commit else engine.base_commit_for(exploration)

    def check_and_find_commit() -> str | None:
        engine.check_repository(exploration)
        return find_commit()

    steps = context.state.steps if context.transcript.entries else 0
    has_begun = steps > exploration.run.base_steps or exploration.cancel_requested
    try:
        if has_begun:
            commit = find_commit()
        else:
            commit = context.call_until_reachable(check_and_find_commit, exploration)
    except ExplorerError as error:
        if not has_begun:
            raise
        deps.log.warning("commit_unknown", explorationId=exploration.id, error=error.sentence)
        return exploration
    if commit is None:
        return exploration
    pinned = exploration.replace(base_commit=commit)
    context.sink.save_soon(pinned)
    return pinned
