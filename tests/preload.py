"""What takes seconds when it is first used: done once, before the workers are forked, which inherit it."""

import hypothesis
from hypothesis import strategies

from tests.fakes.anthropic_contract import complaint_of_types


@hypothesis.given(strategies.text())
@hypothesis.settings(database=None)
def list_characters(_: str) -> None:
    """Has Hypothesis list all characters, and the constants in our source. It keeps both in a folder, where
    the next process finds them."""


def load_types_of_anthropic() -> None:
    """Load all types of its SDK, by which the fake server checks each request."""
    complaint_of_types({}, beta=False)
