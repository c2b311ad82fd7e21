"""The guides to extending the project work as they are written."""

import json
from pathlib import Path

import pytest

from tests.fakes.guides import Newcomer


@pytest.fixture
def newcomer(tmp_path: Path) -> Newcomer:
    return Newcomer(tmp_path)


def test_adding_a_tool(newcomer: Newcomer) -> None:
    newcomer.follow("adding-a-tool.md")

    newcomer.run("pytest -q -k assistant tests/unit/tools/test_definitions.py")
    newcomer.run("pytest -q -k assistant tests/unit/domain/test_toolsets.py")


def test_adding_a_toolset(newcomer: Newcomer) -> None:
    newcomer.follow("adding-a-toolset.md")

    newcomer.run("pytest -q -k shop tests/unit/tools/test_definitions.py")
    newcomer.run("pytest -q -k shop tests/unit/domain/test_toolsets.py")
    assert '"shop"' in (newcomer.root / "docs/openapi.json").read_text("utf-8")
    explored = newcomer.run('idea explore --json --toolset shop "What should I reorder?"')
    assert json.loads(explored)["status"] == "completed"


def test_adding_an_adapter(newcomer: Newcomer) -> None:
    newcomer.follow("adding-an-adapter.md")

    listed = newcomer.run("idea tool list_research --research team.zip")
    assert json.loads(listed)["files"] == [{"path": "tea.md", "bytes": 6}]
    tested = newcomer.run("pytest -k zip tests/integration/adapters/test_research_contract.py")
    assert "6 passed" in tested
