"""Where a function gets its keys: from secrets in a deployment, from its variables under `sam local`."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from idea_explorer.adapters.claude import Claude
from idea_explorer.lambda_runtime import deployment
from idea_explorer.settings import Settings
from tests.e2e.harness.template import environment_of, variables_of

KEYS = {"ANTHROPIC_API_KEY": "sk-ant-1", "GITHUB_TOKEN": "ghp_1", "GITHUB_REPOSITORY": "acme/ideas"}


@pytest.fixture(autouse=True)
def read_anew(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.setattr(deployment, "EMBEDDED", tmp_path)
    deployment.settings.cache_clear()
    yield
    deployment.settings.cache_clear()


def settings_with(monkeypatch: pytest.MonkeyPatch, **variables: str) -> Settings:
    given = {**environment_of("ExploreFunction"), **KEYS, **variables}
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    return deployment.settings()


def test_a_deployment_reads_no_key_from_its_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = settings_with(monkeypatch)

    assert (settings.anthropic_api_key, settings.github_token) == (None, None)
    assert settings.anthropic_secret_id == "AnthropicSecret"
    assert settings.github_secret_id == "GitHubSecret"


def test_sam_local_reads_them_and_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = settings_with(monkeypatch, AWS_SAM_LOCAL="true")

    assert settings.provider == "anthropic"
    assert settings.uses_github
    assert (settings.anthropic_secret_id, settings.github_secret_id) == (None, None)


@pytest.mark.parametrize("function", ["ApiFunction", "ExploreFunction"])
def test_what_sam_local_may_set_is_declared_where_explorations_run(function: str) -> None:
    assert {*KEYS, "ANTHROPIC_BASE_URL"} <= set(variables_of(function))


def test_an_empty_address_in_the_environment_is_not_where_claude_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "")

    assert str(Claude.with_key("sk-ant-1").client.base_url) == "https://api.anthropic.com"
