"""What the model reads of every tool is what it read before: a change spoils caches and replays."""

import json
from pathlib import Path

import pytest

from tests.fakes.toolsets import TOOLSETS, toolset_in

COMMITTED = Path(__file__).with_name("definitions.json")


@pytest.mark.parametrize("name", TOOLSETS)
def test_the_definitions_are_the_committed_ones(tmp_path: Path, name: str) -> None:
    committed = json.loads(COMMITTED.read_text("utf-8"))[name]
    # as text, because the order of keys is part of what is cached
    assert json.dumps(toolset_in(tmp_path, name).definitions) == json.dumps(committed)
