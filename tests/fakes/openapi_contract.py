"""What requests and answers must look like, from the owner's description of the service.

Nothing but what the description names passes: whoever sends another parameter or field believes in
something that does not exist.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote, unquote_plus

from jsonschema import Draft202012Validator

Schema = dict[str, Any]
_NUMBER = re.compile(r"-?\d+")


@dataclass(frozen=True)
class Operation:
    name: str
    pattern: re.Pattern[str]
    query: Mapping[str, Draft202012Validator]
    required_query: Sequence[str]
    body: Draft202012Validator | None
    body_required: bool
    response: Draft202012Validator | None


@dataclass
class Contract:
    """The operations of an extract; remembers how many requests it saw and what was wrong with them."""

    extract: Path
    requests: int = 0
    violations: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        facts = json.loads(self.extract.read_text())
        self.schemas: Mapping[str, Schema] = facts["schemas"]
        closed = {name: close_schema(schema) for name, schema in self.schemas.items()}

        def validator(schema: Schema | None) -> Draft202012Validator | None:
            return schema and Draft202012Validator({**close_schema(schema), "schemas": closed})

        self._operations = [
            Operation(
                name=name,
                pattern=path_pattern(name.partition(" ")[2], known["path"]),
                query={key: Draft202012Validator(schema) for key, schema in known["query"].items()},
                required_query=known.get("required_query", ()),
                body=validator(known.get("body", {}).get("schema")),
                body_required=known.get("body", {}).get("required", False),
                response=validator(known.get("response")),
            )
            for name, known in facts["operations"].items()
        ]

    def check_request(self, method: str, target: str, body: bytes) -> tuple[Operation | None, str]:
        """The operation that a request is for, and what is wrong with it; nothing if it is right."""
        self.requests += 1
        operation, wrong = self._check(method, target, body)
        if wrong:
            self.violations.append(f"{method} {target}: {wrong}")
        return operation, wrong

    def check_response(self, operation: Operation, body: object) -> None:
        assert operation.response is not None
        self.violations += [
            f"answer to {operation.name}: {sentence}"
            for sentence in _sentences(operation.response, body)
        ]

    def _check(self, method: str, target: str, body: bytes) -> tuple[Operation | None, str]:
        path, _, query = target.partition("?")
        for operation in self._operations:
            if operation.name.startswith(f"{method} ") and operation.pattern.fullmatch(path):
                wrong = [*_broken_by_query(operation, query), *_broken_by_body(operation, body)]
                return operation, "; ".join(wrong)
        return None, "there is no such operation"


def query_values(query: str) -> dict[str, list[str]]:
    """The values of each parameter. Commas separate values only if they are written as commas."""
    values: dict[str, list[str]] = {}
    for pair in filter(None, query.split("&")):
        name, _, raw = pair.partition("=")
        values.setdefault(unquote_plus(name), []).extend(map(unquote_plus, raw.split(",")))
    return values


def close_schema(schema: Any) -> Any:
    """The schema with every object limited to the properties that it names."""
    if isinstance(schema, list):
        return [close_schema(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {
        key: {name: close_schema(part) for name, part in value.items()}
        if key == "properties"
        else close_schema(value)
        for key, value in schema.items()
    }
    if "properties" in closed:
        closed.setdefault("additionalProperties", False)
    return closed


def path_pattern(path: str, parameters: Mapping[str, Any]) -> re.Pattern[str]:
    """A value is a segment of the path or, where the description says so, several; none is empty."""

    def values(named: re.Match[str]) -> str:
        segments = "[^/]+(?:/[^/]+)*" if parameters[named[1]]["many_segments"] else "[^/]+"
        return f"(?P<{named[1]}>{segments})"

    return re.compile(re.sub(r"\{(\w+)\}", values, path))


def typed(text: str) -> str | int | bool:
    """A value of path or query as the type that it is written in."""
    if text in {"true", "false"}:
        return text == "true"
    return int(text) if _NUMBER.fullmatch(text) else text


def _broken_by_query(operation: Operation, query: str) -> Iterator[str]:
    given = query_values(query)
    yield from (f"{name} is required" for name in operation.required_query if name not in given)
    for name, values in given.items():
        validator = operation.query.get(name)
        if validator is None:
            yield f"{name} is not a parameter"
            continue
        match validator.schema.get("type"):
            case "array":
                yield from _sentences(validator, values)
            case "string":
                yield from _sentences(validator, ",".join(values))
            case _:
                yield from _sentences(validator, typed(",".join(values)))


def _broken_by_body(operation: Operation, body: bytes) -> Iterator[str]:
    if operation.body is None:
        yield from ["no body is taken"] * bool(body)
    elif body:
        yield from _sentences(operation.body, json.loads(body))
    elif operation.body_required:
        yield "a body is required"


def _sentences(validator: Draft202012Validator, value: object) -> Iterator[str]:
    for error in validator.iter_errors(value):
        place = "/".join(unquote(str(step)) for step in error.path)
        yield f"{place}: {error.message[:300]}" if place else error.message[:300]
