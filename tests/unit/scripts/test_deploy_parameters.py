"""Which parameters a deployment gets, and from where."""

from pathlib import Path

import pytest

from idea_explorer.domain.errors import InvalidRequestError
from scripts.deploy.parameters import (
    check_names,
    check_rules,
    check_values,
    format_overrides,
    merge_parameters,
    parse_overrides,
    read_stage,
    read_template,
    repository_name,
)

ROOT = Path(__file__).parents[3]
SAMCONFIG = ROOT / "samconfig.toml"


def test_the_settings_of_a_stage_are_those_of_samconfig() -> None:
    prod = read_stage(SAMCONFIG, "prod")

    assert prod.stack == "idea-explorer-prod"
    assert prod.parameters["Stage"] == "prod"
    assert prod.parameters["LogRetentionDays"] == "90"
    with pytest.raises(InvalidRequestError, match="no stage test"):
        read_stage(SAMCONFIG, "test")


def test_every_parameter_of_samconfig_is_one_of_the_template() -> None:
    declared = read_template(ROOT / "template.yaml")["Parameters"]

    for stage in ("default", "dev", "prod"):
        check_names(read_stage(SAMCONFIG, stage).parameters, declared, "samconfig.toml")
    with pytest.raises(InvalidRequestError, match="no parameter MaxRuning"):
        check_names(["MaxRuning"], declared, "the command")


def test_what_is_named_last_wins_and_what_nobody_names_stays_as_deployed() -> None:
    merged = merge_parameters(
        defaults={"A": "default", "B": "default", "C": "default", "D": "default"},
        deployed={"B": "deployed", "C": "deployed", "D": "deployed"},
        stage={"C": "stage", "D": "stage"},
        command={"D": "command"},
    )

    assert merged == {"A": "default", "B": "deployed", "C": "stage", "D": "command"}


@pytest.mark.parametrize("given", ["A=1 B='two words' C=", ["A=1", "B=two words", "C="]])
def test_overrides_are_read_as_sam_reads_them(given: str | list[str]) -> None:
    from samcli.cli.types import CfnParameterOverridesType

    parsed = parse_overrides(given)

    assert parsed == {"A": "1", "B": "two words", "C": ""}
    assert CfnParameterOverridesType().convert(format_overrides(parsed), None, None) == parsed


def test_what_is_no_pair_is_refused() -> None:
    with pytest.raises(InvalidRequestError, match="'MaxRunning' is not of the form Name=value"):
        parse_overrides("MaxRunning 5")


def test_quotes_that_are_not_closed_are_one_sentence() -> None:
    with pytest.raises(InvalidRequestError, match="cannot be read: no closing quotation"):
        parse_overrides("A='x")


@pytest.mark.parametrize(
    ("name", "value", "rule"),
    [
        ("MaxRunning", "abc", "must be a number"),
        ("MaxRunning", "nan", "must be a number"),
        ("MaxRunning", "0", "must be at least 1"),
        ("MaxRunning", "501", "must be at most 500"),
        ("LogLevel", "LOUD", "must be DEBUG, INFO, WARN or ERROR"),
        ("LogRetentionDays", "8", "must be 1, 3, "),
        (
            "GitHubRepository",
            "ideas",
            "does not have the right form. The repository, as owner/name",
        ),
    ],
)
def test_what_the_template_forbids_is_refused(name: str, value: str, rule: str) -> None:
    declared = read_template(ROOT / "template.yaml")["Parameters"]

    with pytest.raises(InvalidRequestError) as refused:
        check_values({name: value}, declared, "the command")

    assert refused.value.message.startswith(f"{name} {rule}")


def test_the_templates_defaults_and_samconfig_are_allowed() -> None:
    template = read_template(ROOT / "template.yaml")
    declared = template["Parameters"]
    defaults = {name: str(rule["Default"]) for name, rule in declared.items()}

    for stage in ("default", "dev", "prod"):
        values = {**defaults, **read_stage(SAMCONFIG, stage).parameters}
        check_values(values, declared, "samconfig.toml")
        check_rules(template["Rules"], values)


def test_every_parameter_with_a_pattern_describes_its_form() -> None:
    declared = read_template(ROOT / "template.yaml")["Parameters"]

    assert all("Description" in rule for rule in declared.values() if "AllowedPattern" in rule)


def test_a_rule_of_the_template_is_one_sentence() -> None:
    rules = read_template(ROOT / "template.yaml")["Rules"]

    check_rules(rules, {"Provider": "aws", "AnthropicWorkspaceId": "wrkspc_1"})
    with pytest.raises(InvalidRequestError, match="Set AnthropicWorkspaceId if Provider is aws"):
        check_rules(rules, {"Provider": "aws", "AnthropicWorkspaceId": ""})


@pytest.mark.parametrize(
    "given",
    [
        "acme/ideas",
        "https://github.com/acme/ideas",
        "https://github.com/acme/ideas.git",
        "https://github.com/acme/ideas/",
        "git@github.com:acme/ideas.git",
    ],
)
def test_a_repository_may_be_given_by_its_address(given: str) -> None:
    assert repository_name(given) == "acme/ideas"


def test_the_settings_page_names_every_parameter() -> None:
    page = (ROOT / "docs" / "settings.md").read_text("utf-8")
    _, _, table = page.partition("| parameters | about |")

    declared = read_template(ROOT / "template.yaml")["Parameters"]

    assert [name for name in declared if f"`{name}`" not in table.partition("\n\n")[0]] == []
