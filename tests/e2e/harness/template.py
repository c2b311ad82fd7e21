"""The deployment as template.yaml declares it, with names in place of references."""

import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from samtranslator.yaml_helper import intrinsics_multi_constructor

ROOT = Path(__file__).parents[3]
ACCOUNT = "123456789012"
REGION = "us-east-1"
NO_VALUE = object()
PSEUDO = {
    "AWS::Partition": "aws",
    "AWS::Region": REGION,
    "AWS::AccountId": ACCOUNT,
    "AWS::URLSuffix": "amazonaws.com",
    "AWS::NoValue": NO_VALUE,
}
_SUBSTITUTION = re.compile(r"\$\{([^!}]+)\}")


class _Loader(yaml.CSafeLoader):
    """Reads short forms such as !Ref as CloudFormation does."""


_Loader.add_multi_constructor("!", intrinsics_multi_constructor)


@cache
def template() -> dict[str, Any]:
    """The template as it stands, intrinsic functions in their long form."""
    text = (ROOT / "template.yaml").read_text("utf-8")
    parsed: dict[str, Any] = yaml.load(text, Loader=_Loader)
    return parsed


def resources_of(kind: str) -> dict[str, dict[str, Any]]:
    """Resources of a type by logical id."""
    found = template()["Resources"].items()
    return {name: declared for name, declared in found if declared["Type"] == kind}


def properties(name: str) -> dict[str, Any]:
    declared: dict[str, Any] = template()["Resources"][name].get("Properties", {})
    return declared


def defaults() -> dict[str, Any]:
    return {name: given.get("Default", "") for name, given in template()["Parameters"].items()}


class Resolver:
    """Puts values in place of Ref, GetAtt, Sub and If. `names` has what each reference stands for,
    attributes as `Resource.Attribute`."""

    def __init__(self, names: Mapping[str, Any]) -> None:
        self._names = {**PSEUDO, **defaults(), **names}

    def resolve(self, value: Any) -> Any:
        match value:
            case {"Ref": name, **rest} if not rest:
                return self._named(name)
            case {"Fn::GetAtt": attribute, **rest} if not rest:
                parts = attribute if isinstance(attribute, list) else [attribute]
                return self._named(".".join(parts))
            case {"Fn::Sub": text, **rest} if not rest:
                return _SUBSTITUTION.sub(lambda match: str(self._named(match[1])), text)
            case {"Fn::If": [condition, yes, no], **rest} if not rest:
                return self.resolve(yes if self.holds(condition) else no)
            case dict():
                resolved = {name: self.resolve(inner) for name, inner in value.items()}
                return {name: inner for name, inner in resolved.items() if inner is not NO_VALUE}
            case list():
                return [inner for item in value if (inner := self.resolve(item)) is not NO_VALUE]
            case _:
                return value

    def _named(self, name: str) -> Any:
        return self._names[name]

    def holds(self, condition: str) -> bool:
        return self._evaluate(template()["Conditions"][condition])

    def _evaluate(self, expression: Any) -> bool:
        match expression:
            case {"Fn::Not": [inner]}:
                return not self._evaluate(inner)
            case {"Fn::Equals": [one, other]}:
                return str(self.resolve(one)) == str(self.resolve(other))
            case _:
                raise ValueError(f"not a condition of this template: {expression}")


def names_of_function(resource: str, name: str) -> dict[str, Any]:
    """What references to a function stand for: its name, its ARN, and what SAM makes of its alias. The
    generated logical id of a version cannot be known, so a version goes by the reference SAM offers."""
    arn = f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:{name}"
    names = {resource: name, f"{resource}.Arn": arn}
    alias = properties(resource).get("AutoPublishAlias") or template()["Globals"]["Function"].get(
        "AutoPublishAlias"
    )
    if alias:
        names |= {
            f"{resource}.Alias": f"{arn}:{alias}",
            f"{resource}Alias{alias}": f"{arn}:{alias}",
            f"{resource}.Version": f"{arn}:1",
            f"{resource}.Version.Version": "1",
        }
    return names


def state_machine(substitutions: Mapping[str, str], *, quick: bool = False) -> dict[str, Any]:
    """The workflow as Step Functions gets it. `quick` waits a second where it would wait longer."""
    text = (ROOT / properties("ExplorationWorkflow")["DefinitionUri"]).read_text("utf-8")
    text = _SUBSTITUTION.sub(lambda match: substitutions[match[1]], text)
    definition: dict[str, Any] = yaml.load(text, Loader=yaml.CSafeLoader)
    if quick:
        for state in definition["States"].values():
            for retry in state.get("Retry", []):
                retry["IntervalSeconds"] = 1
                retry["BackoffRate"] = 1.0
                retry.pop("MaxDelaySeconds", None)
    return definition


def as_json(definition: Mapping[str, Any]) -> str:
    return json.dumps(definition)


def variables_of(function: str) -> dict[str, Any]:
    """The variables of a function as they are declared, with those that all functions share."""
    shared = template()["Globals"]["Function"]["Environment"]["Variables"]
    own: dict[str, Any] = properties(function).get("Environment", {}).get("Variables", {})
    return {**shared, **own}


def layers_of(function: str) -> list[str]:
    """The layers of a function, in the order in which Lambda unpacks them."""
    shared = template()["Globals"]["Function"]["Layers"]
    return [layer["Ref"] for layer in [*shared, *properties(function).get("Layers", [])]]


def environment_of(function: str, **parameters: str) -> dict[str, str]:
    """The variables of a function with values; each resource goes by its logical id."""
    resources = {name: name for name in template()["Resources"]}
    names = {"AWS::StackName": "stack", **resources, **parameters}
    return {
        name: str(Resolver(names).resolve(value)) for name, value in variables_of(function).items()
    }


def policies_of(role: str) -> list[tuple[str | None, dict[str, Any]]]:
    """The statements of a role and of what is attached to it, each with the condition it stands under."""
    found = [(None, policy["PolicyDocument"]) for policy in properties(role)["Policies"]]
    for name, declared in resources_of("AWS::IAM::Policy").items():
        if {"Ref": role} in properties(name)["Roles"]:
            found.append((declared.get("Condition"), properties(name)["PolicyDocument"]))
    return [(condition, entry) for condition, document in found for entry in document["Statement"]]


def listed(value: Any) -> list[Any]:
    """CloudFormation lets one of something stand alone."""
    return value if isinstance(value, list) else [value]
