"""Which web tools a provider and a model take, held against the SDK's types and the API's rules."""

import typing

import pytest
from anthropic.types.model_param import ModelParam
from anthropic.types.tool_union_param import ToolUnionParam

from idea_explorer.domain.server_tools import BASIC, MODELS, NEWEST, find_web_tools
from idea_explorer.domain.web_scope import UserLocation, WebScope
from idea_explorer.settings import MODELS as NAMES
from idea_explorer.tools import web_fetch, web_search
from tests.fakes.anthropic_validation import complaint_about
from tests.fakes.anthropic_wire import JsonObject

SCOPES = (
    WebScope(),
    WebScope(allowed_domains=("a.example",), user_location=UserLocation(country="DE")),
    WebScope(blocked_domains=("b.example",), user_location=UserLocation(timezone="Asia/Tokyo")),
)


def known_versions() -> set[str]:
    tools = typing.get_args(ToolUnionParam)
    kinds = [typing.get_type_hints(tool).get("type") for tool in tools]
    return {v for kind in kinds for v in typing.get_args(kind) if isinstance(v, str)}


def test_every_version_is_one_that_the_sdk_knows_and_the_newest_is_the_newest() -> None:
    known = known_versions()

    assert {BASIC.search, BASIC.fetch, NEWEST.search, NEWEST.fetch} <= known
    assert NEWEST.search == max(name for name in known if name.startswith("web_search_"))
    assert NEWEST.fetch == max(name for name in known if name.startswith("web_fetch_"))


def test_every_model_of_the_table_is_one_that_the_sdk_knows() -> None:
    literal = next(part for part in typing.get_args(ModelParam) if part is not str)

    assert MODELS.keys() <= set(typing.get_args(literal))
    assert set(NAMES.values()) <= MODELS.keys()


@pytest.mark.parametrize("provider", ["anthropic", "aws"])
def test_our_models_get_the_newest_on_every_provider(provider: str) -> None:
    assert {find_web_tools(provider, model) for model in NAMES.values()} == {NEWEST}


def test_an_unknown_model_gets_what_every_model_takes() -> None:
    assert find_web_tools("anthropic", "claude-of-tomorrow") == BASIC


def test_the_offline_model_has_no_pages_of_anthropics() -> None:
    assert find_web_tools("offline", "offline").fetch is None


@pytest.mark.parametrize("filters", [False, True])
@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("model", [*NAMES.values(), "claude-opus-4-5"])
def test_the_api_takes_the_definitions(model: str, scope: WebScope, filters: bool) -> None:
    tools = find_web_tools("anthropic", model)
    assert tools.fetch
    filters = filters and tools.filters
    request: JsonObject = {
        "model": model,
        "max_tokens": 1_000,
        "messages": [{"role": "user", "content": "Tea"}],
        "tools": [
            web_search(tools.search, scope, dynamic_filtering=filters).definition,
            web_fetch(tools.fetch, 3, scope, dynamic_filtering=filters).definition,
        ],
        "stream": True,
    }

    assert complaint_about(request, ()) is None
    callers = [tool.get("allowed_callers") for tool in request["tools"]]
    assert callers[1] == (None if filters else ["direct"])


def test_pages_are_bounded_cited_and_named_by_others_than_our_tools() -> None:
    definition = web_fetch(NEWEST.fetch or "", 3, max_tokens=5_000).definition

    assert (definition["max_uses"], definition["max_content_tokens"]) == (3, 5_000)
    assert definition["citations"] == {"enabled": True}
    assert definition["url_sources"] == {
        "user_input": {"type": "all"},
        "server_tool_results": {"type": "all"},
        "client_tool_results": {"type": "none"},
    }
