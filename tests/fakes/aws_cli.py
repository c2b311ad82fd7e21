"""The AWS command line, as far as a page of ours uses it, over boto3.

Commands, options and values are read by botocore's own description of the services, as the real one does:
an option that there is not, or a value of the wrong shape, is refused.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import Any

import jmespath  # type: ignore[import-untyped]
from botocore import xform_name

GLOBAL = {"--query", "--output"}


class AwsCli:
    """`only_checked` are operations that moto lacks: their options are checked, and no more."""

    def __init__(self, connect: Callable[[str], Any], only_checked: Sequence[str] = ()) -> None:
        self._connect = connect
        self._only_checked = only_checked
        self.called: list[str] = []

    def run(self, arguments: Sequence[str]) -> str:
        service, operation, *rest = arguments
        client = self._connect({"s3api": "s3"}.get(service, service))
        self.called.append(f"{service} {operation}")
        if operation == "wait":
            name, *rest = rest
            client.get_waiter(name.replace("-", "_")).wait(
                **_parameters(rest, _shape(client, "describe_table"))
            )
            return ""
        method = operation.replace("-", "_")
        options = dict(_options(rest))
        given = [
            part for name, value in options.items() if name not in GLOBAL for part in (name, value)
        ]
        parameters = _parameters(given, _shape(client, method))
        if method in self._only_checked:
            return ""
        answer = getattr(client, method)(**parameters)
        answer.pop("ResponseMetadata", None)
        answer = json.loads(json.dumps(answer, default=_as_text))
        if "--query" in options:
            answer = jmespath.search(options["--query"], answer)
        if options.get("--output") == "text":
            return "\t".join(map(str, answer if isinstance(answer, list) else [answer])) + "\n"
        return json.dumps(answer) + "\n"


def _shape(client: Any, method: str) -> Any:
    model = client.meta.service_model
    return model.operation_model(client.meta.method_to_api_mapping[method]).input_shape


def _options(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Options and their values; a flag alone is true, and with `no-` false."""
    index = 0
    while index < len(words):
        name = words[index]
        assert name.startswith("--"), f"not an option: {name}"
        has_value = index + 1 < len(words) and not words[index + 1].startswith("--")
        if has_value:
            yield name, words[index + 1]
        elif name.startswith("--no-"):
            yield f"--{name.removeprefix('--no-')}", "false"
        else:
            yield name, "true"
        index += 2 if has_value else 1


def _parameters(words: Sequence[str], shape: Any) -> dict[str, Any]:
    known = {f"--{xform_name(member, '-')}": member for member in shape.members}
    found: dict[str, Any] = {}
    for name, value in _options(words):
        assert name in known, f"there is no option {name}"
        member = known[name]
        found[member] = _value(value, shape.members[member].type_name)
    assert set(shape.required_members) <= set(found), f"missing: {shape.required_members}"
    return found


def _value(text: str, kind: str) -> Any:
    match kind:
        case "structure" | "map" | "list":
            return json.loads(text)
        case "integer" | "long":
            return int(text)
        case "boolean":
            return text == "true"
        case "timestamp":
            return datetime.fromisoformat(text)
        case _:
            return text


def _as_text(value: object) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)
