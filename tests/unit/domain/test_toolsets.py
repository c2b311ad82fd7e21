"""Every line of the table of toolsets holds against what it speaks of."""

from importlib import resources
from pathlib import Path

import pytest

from idea_explorer.agent.prompts import modes, system_prompt
from idea_explorer.domain.request import ExploreRequest
from idea_explorer.domain.toolsets import TOOLSETS, ToolsetSpec
from idea_explorer.settings import Settings
from tests.e2e.harness.template import template
from tests.fakes.toolsets import toolset_in

SPECS = pytest.mark.parametrize("spec", TOOLSETS.values(), ids=TOOLSETS)


@SPECS
def test_every_tool_has_a_label_and_every_label_a_tool(tmp_path: Path, spec: ToolsetSpec) -> None:
    tools = toolset_in(tmp_path, spec.name)
    # web_fetch is in place of http_fetch, and run_checks only where a repository names checks
    labels = [name for name in spec.labels if name not in {"web_fetch", "run_checks"}]
    assert labels == [*tools.server_tools, *tools.tools]


@SPECS
def test_the_prompt_is_the_toolsets_own_or_its_modes(spec: ToolsetSpec) -> None:
    prompts = resources.files("idea_explorer.agent.prompts")
    assert (prompts / f"{spec.name}.md").is_file() != spec.takes("mode")
    assert spec.name not in modes()
    assert "{{" not in system_prompt(ExploreRequest(idea="Tea", toolset=spec.name))


@SPECS
def test_what_it_takes_are_fields_of_the_request(spec: ToolsetSpec) -> None:
    assert set(spec.fields) <= ExploreRequest.model_fields.keys()


@SPECS
def test_what_it_needs_is_a_setting_and_a_parameter_of_the_deployment(spec: ToolsetSpec) -> None:
    setting, parameter = spec.needs or ("github_repository", "GitHubRepository")
    assert setting in Settings.model_fields
    assert parameter in template()["Parameters"]


@SPECS
def test_only_a_toolset_with_documents_can_update_reuse_or_follow_one(spec: ToolsetSpec) -> None:
    on_documents = (spec.takes("update"), spec.takes("if_exists"), spec.follow_up == "document")
    assert set(on_documents) == {spec.publishes_documents}
