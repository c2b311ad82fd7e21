"""Which parameters a deployment gets, and from where."""

from pathlib import Path

import pytest

from idea_explorer.domain.errors import InvalidRequestError
from scripts.deploy.parameters import (
    check_names,
    format_overrides,
    merge_parameters,
    parse_overrides,
    read_stage,
    read_template,
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
