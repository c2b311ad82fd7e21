"""The parameters of a deployment: what samconfig.toml sets for the stage, and what the command changes.

`sam deploy --parameter-overrides` replaces samconfig's list, so the merged list is given. A parameter that
neither names keeps the value that the deployed stack has.
"""

import math
import re
import shlex
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from samtranslator.yaml_helper import intrinsics_multi_constructor

from idea_explorer.domain.errors import InvalidRequestError

ADDRESS = re.compile(
    r"(?:https://(?:www\.)?github\.com/|git@github\.com:)([^/]+/[^/]+?)(?:\.git)?/?"
)


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
    try:
        pairs = shlex.split(given) if isinstance(given, str) else given
    except ValueError as error:
        raise InvalidRequestError(
            f"The parameters cannot be read: {str(error).lower()}.",
            hint="Write each as Name=value, with quotes around a value that has spaces.",
        ) from error
    if wrong := [pair for pair in pairs if "=" not in pair]:
        raise InvalidRequestError(f"{wrong[0]!r} is not of the form Name=value.")
    return {name: value for name, _, value in (pair.partition("=") for pair in pairs)}


def format_overrides(parameters: Mapping[str, str]) -> list[str]:
    """As arguments of `sam`, which takes quotes off again."""
    return [f'{name}="{value}"' for name, value in sorted(parameters.items())]


def parse_template(text: str) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.load(text, Loader=_Loader)  # a SafeLoader  # nosec B506
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


def check_values(
    given: Mapping[str, str], declared: Mapping[str, Mapping[str, Any]], source: str
) -> None:
    """CloudFormation would refuse these only after the build; raises InvalidRequestError."""
    for name, value in given.items():
        if wrong := _describe_wrong(value, declared[name]):
            raise InvalidRequestError(f"{name} {wrong}.", hint=f"Correct it in {source}.")


def _describe_wrong(value: str, rule: Mapping[str, Any]) -> str | None:
    """Does not repeat a text: an address can contain a key."""
    if allowed := [str(known) for known in rule.get("AllowedValues", ())]:
        *others, last = (known or "empty" for known in allowed)
        return None if value in allowed else f"must be {', '.join(others)} or {last}"
    if "AllowedPattern" in rule and not re.fullmatch(rule["AllowedPattern"], value):
        return f"does not have the right form. {rule['Description'].rstrip('.')}"
    if rule["Type"] != "Number":
        return None
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        return "must be a number"
    if number < rule.get("MinValue", number):
        return f"must be at least {rule['MinValue']}"
    if number > rule.get("MaxValue", number):
        return f"must be at most {rule['MaxValue']}"
    return None


def check_rules(rules: Mapping[str, Mapping[str, Any]], parameters: Mapping[str, str]) -> None:
    """The template's rules about several parameters; raises InvalidRequestError."""
    for rule in rules.values():
        if not _evaluate(rule.get("RuleCondition", True), parameters):
            continue
        for assertion in rule["Assertions"]:
            if not _evaluate(assertion["Assert"], parameters):
                raise InvalidRequestError(
                    assertion["AssertDescription"], hint="PARAMETERS takes it, as Name=value."
                )


def _evaluate(expression: Any, parameters: Mapping[str, str]) -> Any:
    match expression:
        case {"Ref": name}:
            return parameters[name]
        case {"Fn::Equals": [one, other]}:
            return _evaluate(one, parameters) == _evaluate(other, parameters)
        case {"Fn::Not": [negated]}:
            return not _evaluate(negated, parameters)
        case dict():
            raise NotImplementedError(f"a rule of the template with {next(iter(expression))}")
        case _:
            return expression


def repository_name(given: str) -> str:
    """owner/name, also where the address of the repository is given."""
    found = ADDRESS.fullmatch(given.strip())
    return found[1] if found else given


def merge_parameters(
    *,
    defaults: Mapping[str, str],
    deployed: Mapping[str, str],
    stage: Mapping[str, str],
    command: Mapping[str, str],
) -> dict[str, str]:
    """What will be in force. What is named last wins."""
    return {**defaults, **deployed, **stage, **command}
