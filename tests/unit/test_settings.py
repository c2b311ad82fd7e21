"""What the environment sets, and where that is written down."""

import re
import traceback
from pathlib import Path

import pytest

from idea_explorer.agent.tool_calls import ToolExecutor
from idea_explorer.domain.errors import ConfigurationError, InvalidSettingError
from idea_explorer.domain.limits import CodeLimits
from idea_explorer.observability.logging import SilentLog
from idea_explorer.settings import CODE_VARIABLES, MODELS, PRICES, Settings
from idea_explorer.wiring.deps import local_deps
from idea_explorer.wiring.toolsets import toolset
from tests.fakes.settings import VARIABLES

DOCUMENTED = (Path(__file__).parents[2] / "docs" / "settings.md").read_text("utf-8")

READ_BY_HTTPX = {
    *("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "NO_PROXY"),
    *("SSL_CERT_FILE", "SSL_CERT_DIR"),
}

READ_BY_DEPLOY = {"ALARM_EMAIL"}
READ_BY_COMMANDS = {
    *("IDEA_API_URL", "IDEA_API_TOKEN", "IDEA_STACK", "NO_COLOR", "XDG_CONFIG_HOME"),
}


def test_every_variable_is_documented_and_nothing_else_is() -> None:
    named = set(re.findall(r"`([A-Z][A-Z0-9_]*_[A-Z0-9_]+)`", DOCUMENTED))
    assert named == {
        *VARIABLES,
        *CODE_VARIABLES,
        *READ_BY_HTTPX,
        *READ_BY_DEPLOY,
        *READ_BY_COMMANDS,
    }


@pytest.mark.parametrize(("variable", "field"), CODE_VARIABLES.items())
def test_every_limit_of_the_code_tools_can_be_set_and_is_documented_as_it_is(
    variable: str, field: str
) -> None:
    settings = Settings.from_environment({variable: "7"})
    assert getattr(settings.code_limits, field) == 7
    assert f"| `{variable}` | {getattr(CodeLimits(), field):,} |" in DOCUMENTED


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("IDEA_CODE_PAGE_SIZE", "0"),
        ("IDEA_CODE_MAX_MATCHES", "many"),
        ("IDEA_CODE_MAX_READ_CHARS", "150001"),
        ("IDEA_SEARCH_TOKENS", "-1"),
    ],
)
def test_a_limit_that_cannot_be_is_refused_by_its_name(variable: str, value: str) -> None:
    with pytest.raises(ConfigurationError, match=f"^{variable} must be "):
        Settings.from_environment({variable: value})


def test_every_wrong_variable_is_named_and_no_value_is_repeated() -> None:
    given = {"GITHUB_TOKEN": "ghp_hidden\r", "IDEA_MODELS": "[]", "MAX_RUNNING": "hidden"}

    with pytest.raises(InvalidSettingError) as refusal:
        Settings.from_environment(given)

    assert set(refusal.value.variables) == set(given)
    assert "hidden" not in "".join(traceback.format_exception(refusal.value))


def test_an_empty_variable_counts_as_not_set() -> None:
    empty = dict.fromkeys([*VARIABLES, *CODE_VARIABLES], "")

    assert Settings.from_environment(empty) == Settings()


def test_a_field_is_set_by_its_variable_only() -> None:
    assert Settings.from_environment({"table_name": "t", "code_limits": "7"}) == Settings()


def test_of_the_two_regions_the_one_that_aws_prefers_is_used() -> None:
    regions = {"AWS_DEFAULT_REGION": "us-east-1", "AWS_REGION": "eu-west-1"}

    assert Settings.from_environment(regions).aws_region == "eu-west-1"
    del regions["AWS_REGION"]
    assert Settings.from_environment(regions).aws_region == "us-east-1"


def test_a_table_names_only_the_entries_it_changes() -> None:
    settings = Settings.from_environment({"IDEA_MODELS": '{"opus": "claude-next"}'})

    assert settings.models == {**MODELS, "opus": "claude-next"}
    assert settings.prices == PRICES


def test_the_code_tools_keep_to_the_limits_that_are_set(tmp_path: Path) -> None:
    for name in ("a.py", "b.py", "c.py"):
        (tmp_path / name).write_text("tea = 1\ntea = 2\n")
    (tmp_path / "large.py").write_text("tea = 1\n" * 10)
    limited = {
        "IDEA_RESEARCH_DIR": str(tmp_path),
        "IDEA_CODE_PAGE_SIZE": "2",
        "IDEA_CODE_MAX_MATCHES": "1",
        "IDEA_CODE_MAX_READ_LINES": "1",
        "IDEA_CODE_MAX_FILE_BYTES": "50",
    }
    tools = toolset(Settings.from_environment(limited), "code").tools

    def called(name: str, **given: object) -> dict[str, object]:
        tool = tools[name]
        arguments = tool.arguments.model_validate(given)
        return dict(ToolExecutor(SilentLog()).run(tool, arguments).payload)

    assert called("list_files", path=".")["nextPage"] == 2
    matches = called("search_files", pattern="tea")["matches"]
    assert isinstance(matches, list)
    assert len(matches) == 1
    assert called("read_file", path="a.py")["truncated"] is True
    assert called("read_file", path="large.py")["error_type"] == "file_too_large"
    assert "1 lines at most" in tools["read_file"].description


def test_the_budget_holds_back_what_a_search_is_set_to_bring(tmp_path: Path) -> None:
    given = {"IDEA_RESEARCH_DIR": str(tmp_path), "IDEA_SEARCH_TOKENS": "123"}
    engine = local_deps(Settings.from_environment(given), SilentLog()).engine()
    assert engine.search_tokens == 123
