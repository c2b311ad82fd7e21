"""The parameters of a deployment: what samconfig.toml sets for the stage, and what the command changes.

`sam deploy --parameter-overrides` replaces samconfig's list, so the merged list is given. A parameter that
neither names keeps the value that the deployed stack has.
"""

import shlex
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from samtranslator.yaml_helper import intrinsics_multi_constructor

from idea_explorer.domain.errors import InvalidRequestError


class _Loader(yaml.CSafeLoader):
    """Reads short forms such as !Ref as CloudFormation does."""


_Loader.add_multi_constructor("!", intrinsics_multi_constructor)


@dataclass(frozen=True)
class StageSettings:
    """What samconfig.toml says about a stage."""

    stack: str | None
    region: str | None
    parameters: Mapping[str, str]


def read_stage(samconfig: Path, stage: str) -> StageSettings:
    """Raises InvalidRequestError for a stage that samconfig.toml does not have."""
    config = tomllib.loads(samconfig.read_text("utf-8"))
    stages = [name for name, value in config.items() if isinstance(value, dict)]
    if stage not in stages:
        raise InvalidRequestError(
            f"samconfig.toml has no stage {stage}.", hint=f"It has {', '.join(stages)}."
        )
    settings = config[stage].get("global", {}).get("parameters", {}) | config[stage].get(
        "deploy", {}
    ).get("parameters", {})
    return StageSettings(
        stack=settings.get("stack_name"),
        region=settings.get("region"),
        parameters=parse_overrides(settings.get("parameter_overrides", "")),
    )


def parse_overrides(given: str | list[str]) -> dict[str, str]:
    """`Name=value` pairs, as samconfig.toml and `sam deploy` have them; raises InvalidRequestError."""
    pairs = shlex.split(given) if isinstance(given, str) else given
    if wrong := [pair for pair in pairs if "=" not in pair]:
        raise InvalidRequestError(f"{wrong[0]!r} is not of the form Name=value.")
    return {name: value for name, _, value in (pair.partition("=") for pair in pairs)}


def format_overrides(parameters: Mapping[str, str]) -> list[str]:
    """As arguments of `sam`, which takes quotes off again."""
    return [f'{name}="{value}"' for name, value in sorted(parameters.items())]


def parse_template(text: str) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.load(text, Loader=_Loader)  # a SafeLoader
    return loaded


def read_template(path: Path) -> dict[str, Any]:
    return parse_template(path.read_text("utf-8"))


def check_names(given: Iterable[str], declared: Mapping[str, object], source: str) -> None:
    """`sam deploy` silently drops a parameter that the template does not have."""
    if unknown := sorted(set(given) - set(declared)):
        raise InvalidRequestError(
            f"The template has no parameter {' and no '.join(unknown)}.",
            hint=f"Correct it in {source}; template.yaml lists the parameters.",
        )


def merge_parameters(
    *,
    defaults: Mapping[str, str],
    deployed: Mapping[str, str],
    stage: Mapping[str, str],
    command: Mapping[str, str],
) -> dict[str, str]:
    """What will be in force. What is named last wins."""
    return {**defaults, **deployed, **stage, **command}
