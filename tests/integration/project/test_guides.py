"""The guides to extending the project work as they are written."""

import json
import re
from pathlib import Path

import pytest

from tests.fakes.guides import Newcomer

pytestmark = pytest.mark.long  # each installs the project and runs its tests

DEFINITIONS = "tests/unit/tools/test_definitions.py"
TOOLSETS = "tests/unit/domain/test_toolsets.py"


@pytest.fixture
def newcomer(tmp_path: Path) -> Newcomer:
    return Newcomer(tmp_path)


def test_adding_a_tool(newcomer: Newcomer) -> None:
    newcomer.follow("adding-a-tool.md")

    tested = newcomer.run(f"pytest -k assistant {DEFINITIONS} {TOOLSETS}")
    assert tested.count(f"PASSED {DEFINITIONS}") >= 1
    assert tested.count(f"PASSED {TOOLSETS}") >= 1


def test_adding_a_toolset(newcomer: Newcomer) -> None:
    newcomer.follow("adding-a-toolset.md")

    tested = newcomer.run(f"pytest -k shop {DEFINITIONS} {TOOLSETS}")
    assert tested.count(f"PASSED {DEFINITIONS}") >= 1
    assert tested.count(f"PASSED {TOOLSETS}") >= 1
    assert '"shop"' in (newcomer.root / "docs/openapi.json").read_text("utf-8")
    explored = newcomer.run('idea explore --json --toolset shop "What should I reorder?"')
    assert json.loads(explored)["status"] == "completed"


def test_adding_an_adapter(newcomer: Newcomer) -> None:
    tested = newcomer.follow("adding-an-adapter.md")

    listed = newcomer.run("idea tool list_research --research team.zip")
    assert json.loads(listed)["files"] == [{"path": "tea.md", "bytes": 6}]
    passed = re.findall(r"^PASSED tests/integration/adapters/\S+\[zip\]$", tested, re.MULTILINE)
    assert len(passed) == 6
