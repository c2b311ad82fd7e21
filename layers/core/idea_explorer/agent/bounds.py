"""The limits that decide the next move of a run."""

from collections.abc import Callable
from functools import cached_property

from idea_explorer.domain import limits
from idea_explorer.domain.branches import BranchTask
from idea_explorer.domain.dataclass import dataclass
from idea_explorer.domain.deadline import OUTPUT_TOKENS_PER_SECOND, Deadline


@dataclass(frozen=True)
class Bounds:
    """The limits of the run at this moment. What has to be computed is computed when a move asks for it."""

    max_steps: int
    out_of_time: bool
    check_budget: Callable[[], bool] = lambda: True  # whether another step with tools fits it
    # whether the report does, in this conversation; a new one with less evidence may fit
    check_writing_budget: Callable[[], bool] = lambda: True
    # The result is the work, not the text: the model may use its last step as it likes, and has finished if
    # it ends there by itself. Other runs write in their last step.
    unfinished_at_limit: bool = False
    time_to_rewrite: bool = True
    find_branches: Callable[[], tuple[BranchTask, ...]] = tuple
    verifies: bool = False  # reports of this run are verified before it ends

    @cached_property
    def out_of_budget(self) -> bool:
        return not self.check_budget()

    @cached_property
    def too_dear_to_write(self) -> bool:
        return not self.check_writing_budget()

    @cached_property
    def branches(self) -> tuple[BranchTask, ...]:
        """Those that the run may start now."""
        return self.find_branches()

    def is_last_step(self, steps: int) -> bool:
        """Whether after so many steps the report has to be written."""
        return steps >= (self.max_steps if self.unfinished_at_limit else self.max_steps - 1)


def count_gathering_tokens(deadline: Deadline) -> int:
    """How long an answer may be that still ends before the time for gathering does. A call that is cut off by
    its length can be made again, shorter; one that is cut off by the clock cannot."""
    in_time = int(deadline.gathering_left * OUTPUT_TOKENS_PER_SECOND)
    return min(max(in_time, limits.MIN_OUTPUT_TOKENS), limits.MAX_OUTPUT_TOKENS)
