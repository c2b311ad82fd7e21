"""Who opens the pages of research, by what a run may read and by what somebody said."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from idea_explorer.agent.toolset import Toolset
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.ids import new_id
from idea_explorer.domain.json import JsonObject
from idea_explorer.domain.request import ExploreRequest
from idea_explorer.domain.transcript import AnyEntry, Opening
from idea_explorer.observability.logging import SilentLog
from idea_explorer.settings import Settings
from idea_explorer.wiring.local import given_files
from idea_explorer.wiring.toolsets import ToolsetContext, research
from tests.fakes.explorations import NOW

KEY = {"ANTHROPIC_API_KEY": "key"}
AWS = {
    "IDEA_MODEL_PROVIDER": "aws",
    "ANTHROPIC_AWS_WORKSPACE_ID": "wrkspc_1",
    "AWS_REGION": "eu-central-1",
}


def tools_of(
    folder: Path,
    variables: dict[str, str] = KEY,
    entries: Sequence[AnyEntry] = (),
    *,
    has_research: bool = False,
    **fields: Any,
) -> Toolset:
    if has_research:
        (folder / "ideas").mkdir()
        (folder / "ideas" / "tea.md").write_text("# Tea")
    settings = Settings.from_environment({**variables, "IDEA_RESEARCH_DIR": str(folder)})
    request = ExploreRequest.model_validate({"idea": "Tea", **fields})
    exploration = Exploration.new(request, "me", at=NOW)
    context = ToolsetContext(settings, SilentLog(), given_files([]), exploration, entries)
    return research(context)


def opens_pages(tools: Toolset) -> str:
    (name,) = {"web_fetch", "http_fetch"} & {*tools.server_tools, *tools.tools}
    return name


@pytest.mark.parametrize("variables", [KEY, AWS], ids=["anthropic", "aws"])
def test_without_private_text_anthropic_opens_them(
    tmp_path: Path, variables: dict[str, str]
) -> None:
    tools = tools_of(tmp_path, variables, depth="standard")

    definition = tools.server_tools["web_fetch"].definition
    assert (definition["type"], definition["max_uses"]) == ("web_fetch_20260318", 8)
    assert definition["max_content_tokens"] == 8_000
    search = tools.server_tools["web_search"].definition
    assert (search["type"], search["allowed_callers"]) == ("web_search_20260318", ["direct"])
    assert "http_fetch" not in tools.tools


@pytest.mark.parametrize(
    ("fields", "variables", "opener"),
    [
        ({"has_research": True}, {}, "http_fetch"),
        ({"continue_from": new_id(1_700_000_000_000)}, {}, "http_fetch"),
        ({"has_research": True, "blocked_domains": ["b.example"]}, {}, "http_fetch"),
        ({"has_research": True, "allow_fetch_after_private": True}, {}, "web_fetch"),
        ({"has_research": True, "allowed_domains": ["a.example"]}, {}, "web_fetch"),
        ({"has_research": True}, {"IDEA_ALLOWED_DOMAINS": "a.example"}, "web_fetch"),
        (
            {"has_research": True, "allowed_domains": ["a.example"]},
            {"IDEA_SEARCH_WITH_PRIVATE_TEXT": "false"},
            "http_fetch",
        ),
    ],
)
def test_with_private_text_we_open_them_unless_somebody_said_where(
    tmp_path: Path, fields: dict[str, Any], variables: dict[str, str], opener: str
) -> None:
    assert opens_pages(tools_of(tmp_path, {**KEY, **variables}, **fields)) == opener


def test_domains_place_and_filtering_reach_both_tools(tmp_path: Path) -> None:
    variables = {**KEY, "IDEA_DYNAMIC_FILTERING": "true", "IDEA_USER_LOCATION": "country=DE"}

    tools = tools_of(tmp_path, variables, blocked_domains=["b.example"]).server_tools

    search, fetch = tools["web_search"].definition, tools["web_fetch"].definition
    assert search["user_location"] == {"type": "approximate", "country": "DE"}
    assert search["blocked_domains"] == fetch["blocked_domains"] == ["b.example"]
    assert "allowed_callers" not in search
    assert "allowed_callers" not in fetch


@pytest.mark.parametrize("declared", ["web_fetch", "http_fetch", None])
def test_a_run_keeps_what_it_began_with(tmp_path: Path, declared: str | None) -> None:
    named: list[JsonObject] = [{"name": declared}] if declared else []
    opening = Opening(model_id="m", system=[], tools=named, content=[])

    tools = tools_of(tmp_path, entries=[opening], has_research=True)

    found = {"web_fetch", "http_fetch"} & {*tools.server_tools, *tools.tools}
    assert found == ({declared} if declared else set())


def test_a_version_that_an_operator_sets_is_used(tmp_path: Path) -> None:
    variables = {**KEY, "IDEA_WEB_SEARCH_VERSION": "web_search_20260209"}

    assert tools_of(tmp_path, variables).server_tools["web_search"].definition["type"] == (
        "web_search_20260209"
    )
