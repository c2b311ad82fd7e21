"""What a request to GitHub must look like, from GitHub's own description in github_openapi.json.

GitHub itself passes over query parameters and some body fields that it does not know. Here they are
refused too: whoever sends one believes in something that does not exist.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from urllib.parse import unquote

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError

from tests.fakes.github_wire import ApiError, JsonObject, ReceivedRequest
from tests.fakes.openapi_contract import close_schema, path_pattern

EXTRACT = Path(__file__).with_name("github_openapi.json")
_NUMBER = re.compile(r"-?\d+")


@dataclass(frozen=True)
class Operation:
    name: str
    docs: str
    pattern: re.Pattern[str]
    path: Mapping[str, Draft202012Validator]
    query: Mapping[str, Draft202012Validator]
    body: Draft202012Validator | None
    body_required: bool

    def broken_rules(self, request: ReceivedRequest, params: Mapping[str, str]) -> Iterator[str]:
        """Every rule that the request breaks, in the words that GitHub has for it."""
        for name, value in params.items():
            yield from _sentences(self.path[name], _typed(value), name)
        for name, value in request.query.items():
            if name in self.query:
                yield from _sentences(self.query[name], _typed(value), name)
            else:
                yield f'"{name}" is not a permitted key.'
        yield from self._broken_by_body(request)

    def _broken_by_body(self, request: ReceivedRequest) -> Iterator[str]:
        if self.body is None:
            yield from ["The request takes no body."] * bool(request.body)
        elif request.body:
            if not request.headers.get("content-type", "").startswith("application/json"):
                yield "The body is not sent as application/json."
            yield from _sentences(self.body, request.json())
        elif self.body_required:
            yield from _sentences(self.body, {})


@dataclass(frozen=True)
class Match:
    operation: Operation
    params: Mapping[str, str]


def match(method: str, path: str) -> Match | None:
    """The operation that a path, as it came over the wire, and its values stand for."""
    for operation in _operations():
        if operation.name.partition(" ")[0] == method:
            found = operation.pattern.fullmatch(path)
            if found:
                return Match(
                    operation, {key: unquote(text) for key, text in found.groupdict().items()}
                )
    return None


def refusal(request: ReceivedRequest, found: Match | None) -> ApiError | None:
    """What GitHub says to a request that its description does not know; None to one that it knows."""
    if found is None:
        return ApiError(404, "Not Found")
    try:
        broken = list(found.operation.broken_rules(request, found.params))
    except ApiError as error:
        return error
    if not broken:
        return None
    return ApiError(422, "Invalid request.\n\n" + "\n".join(broken), docs=found.operation.docs)


@cache
def _operations() -> tuple[Operation, ...]:
    extract = json.loads(EXTRACT.read_text())
    schemas = {name: close_schema(schema) for name, schema in extract["schemas"].items()}

    def validator(schema: JsonObject) -> Draft202012Validator:
        return Draft202012Validator({**close_schema(schema), "schemas": schemas})

    found = []
    for name, facts in extract["operations"].items():
        body = facts.get("body")
        found.append(
            Operation(
                name=name,
                docs=facts["docs"],
                pattern=path_pattern(name.partition(" ")[2], facts["path"]),
                path={key: validator(value["schema"]) for key, value in facts["path"].items()},
                query={key: validator(schema) for key, schema in facts["query"].items()},
                body=validator(body["schema"]) if body else None,
                body_required=bool(body and body["required"]),
            )
        )
    # a ref may hold slashes, so the paths that say more come first
    return tuple(sorted(found, key=lambda operation: -len(operation.name)))


def _typed(text: str) -> str | int:
    """A value of path or query as the type that it is written in."""
    return int(text) if _NUMBER.fullmatch(text) else text


def _sentences(validator: Draft202012Validator, value: object, name: str = "") -> Iterator[str]:
    for error in validator.iter_errors(value):
        if not (name and error.validator == "type" and _is_text_after_all(error)):
            yield _sentence(error, name)


def _is_text_after_all(error: ValidationError) -> bool:
    """Digits are as good a string as any."""
    return error.validator_value == "string" and isinstance(error.instance, int)


def _sentence(error: ValidationError, name: str) -> str:
    where = "/".join(f"properties/{step}" for step in [*([name] if name else []), *error.path])
    place = f"For '{where}', " if where else ""
    value = json.dumps(error.instance)
    match error.validator:
        case "required":
            missing = re.match("'(.*)' is a required", error.message)
            assert missing is not None
            return f'{place}"{missing[1]}" wasn\'t supplied.'
        case "additionalProperties":
            known = error.schema.get("properties", {})
            unknown = ", ".join(f'"{key}"' for key in error.instance if key not in known)
            verb = "are not permitted keys" if ", " in unknown else "is not a permitted key"
            return f"{place}{unknown} {verb}."
        case "enum":
            return f"{place}{value} is not a member of {json.dumps(error.validator_value)}."
        case "type":
            wanted = error.validator_value
            kinds = " or ".join([wanted] if isinstance(wanted, str) else wanted)
            article = "an" if kinds[0] in "aio" else "a"
            return f"{place}{'nil' if error.instance is None else value} is not {article} {kinds}."
        case _:
            return f"{place}{error.message}."
