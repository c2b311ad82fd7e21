"""The limits that decide the next move of a run."""

from dataclasses import dataclass

from idea_explorer.domain import limits
from idea_explorer.domain.branches import BranchTask
from idea_explorer.domain.deadline import OUTPUT_TOKENS_PER_SECOND, Deadline


@dataclass(frozen=True, slots=True)
class Bounds:
    """The limits of the run at this moment."""

    max_steps: int
    out_of_time: bool
    out_of_budget: bool = False
    too_dear_to_write: bool = False  # in this conversation; a new one with less evidence may fit
    # The result is the work, not the text: the model may use its last step as it likes, and has finished if
    # it ends there by itself. Other runs write in their last step.
    unfinished_at_limit: bool = False
    time_to_rewrite: bool = True
    branches: tuple[BranchTask, ...] = ()  # that the run may start now
    verifies: bool = False  # reports of this run are verified before it ends

    def is_last_step(self, steps: int) -> bool:
        """Whether after so many steps the report has to be written."""
        return steps >= (self.max_steps if self.unfinished_at_limit else self.max_steps - 1)


def count_gathering_tokens(deadline: Deadline) -> int:
    """How long an answer may be that still ends before the time for gathering does. A call that is cut off by
    its length can be made again, shorter; one that is cut off by the clock cannot."""
    in_time = int(deadline.gathering_left * OUTPUT_TOKENS_PER_SECOND)
    return min(max(in_time, limits.MIN_OUTPUT_TOKENS), limits.MAX_OUTPUT_TOKENS)
