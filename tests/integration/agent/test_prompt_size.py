"""What every exploration pays for before it begins. A sentence more is a decision: raise the figure here."""

from pathlib import Path

import pytest

from tests.performance.tokens import REQUESTS, measure

MOST = {  # tokens of system prompt and tools, and of the first message
    "research business quick": (2_100, 850),
    "research business standard": (2_510, 1_000),
    "research business deep": (2_510, 1_000),
    "research exploration quick": (1_900, 850),
    "assistant": (1_150, 50),
    "code": (2_760, 50),
    "discover": (1_375, 50),
}


@pytest.mark.parametrize("name", REQUESTS)
def test_a_prompt_keeps_to_its_budget(tmp_path: Path, name: str) -> None:
    size = measure(REQUESTS[name], tmp_path)
    assert size.fixed <= MOST[name][0]
    assert size.first_message <= MOST[name][1]
