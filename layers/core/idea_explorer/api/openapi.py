"""docs/openapi.json, made from the routes and their models: `python -m idea_explorer.api.openapi`."""

import json
import sys
from collections.abc import Iterator

from pydantic import BaseModel, JsonValue
from pydantic.json_schema import models_json_schema

from idea_explorer import __version__
from idea_explorer.api.errors import QUOTA_SPENT, TYPES, ErrorAnswer
from idea_explorer.api.routes import ROUTES, Content, Route
from idea_explorer.domain.json import JsonObject

SCHEMAS = "#/components/schemas/{model}"
# what any route may answer with, besides what is its own
FAILURES = {
    400: "The request is malformed.",
    401: "There is no valid bearer token.",
    403: "The token does not allow this.",
    404: "There is no such exploration, or it is another owner's.",
    409: "The exploration is not in a status for this.",
    413: "The body is too large.",
    422: "A field is not valid; `details` says which and why.",
    429: "Too many requests; with the type `quota_spent`, the owner's budget for today is spent.",
    500: "Something went wrong here.",
    503: "A part of the service is not available.",
}
MEANINGS = {
    200: "As asked for.",
    201: "Room was made for it.",
    202: "Accepted.",
    204: "Nothing follows: it is over.",
}
DESCRIPTION = (
    "Send in an idea; minutes later a researched, cited report stands in your repository. "
    "Each token names an owner, and owners see only what is theirs. "
    f"Errors are of the types {', '.join([*(TYPES[status] for status in FAILURES), QUOTA_SPENT])}."
)


def document() -> JsonObject:
    paths: dict[str, JsonValue] = {}
    for route in ROUTES:
        path = route.path.replace("<", "{").replace(">", "}")
        operations = paths.setdefault(path, {})
        assert isinstance(operations, dict)
        operations[route.method.lower()] = _operation(route)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Idea Explorer",
            "version": __version__,
            "description": DESCRIPTION,
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "servers": [{"url": "/"}],
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": _schemas(),
            "responses": {
                TYPES[status]: {"description": meaning, "content": _content(ErrorAnswer)}
                for status, meaning in FAILURES.items()
            },
        },
    }


def _operation(route: Route) -> JsonObject:
    operation: JsonObject = {
        "operationId": route.handle.__name__,
        "summary": route.summary,
        "parameters": list(_parameters(route)),
        "responses": {**_answers(route), **_failures(route)},
    }
    if route.body:
        operation["requestBody"] = {
            "required": any(field.is_required() for field in route.body.model_fields.values()),
            "content": _content(route.body),
        }
    if route.open:
        operation["security"] = []
    return operation


def _parameters(route: Route) -> Iterator[JsonValue]:
    for name in (part[1:-1] for part in route.path.split("/") if part.startswith("<")):
        yield {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
    for name, text in route.headers.items():
        schema: JsonObject = {"type": "string"}
        yield {"name": name, "in": "header", "description": text, "schema": schema}
    if route.query:
        properties = route.query.model_json_schema(ref_template=SCHEMAS)["properties"]
        for name, schema in properties.items():
            yield {"name": name, "in": "query", "schema": schema}


def _answers(route: Route) -> JsonObject:
    answers: JsonObject = {}
    for status, contents in route.answers.items():
        answer: JsonObject = {"description": MEANINGS[status]}
        held: JsonObject = {}
        for content in contents:
            held |= _content(content)
        answers[str(status)] = {**answer, "content": held} if held else answer
    return answers


def _failures(route: Route) -> JsonObject:
    wanted = {500} if route.open else FAILURES.keys()
    return {str(status): {"$ref": f"#/components/responses/{TYPES[status]}"} for status in wanted}


def _content(content: Content) -> JsonObject:
    match content:
        case None:
            return {}
        case str():
            return {content: {"schema": {"type": "string"}}}
        case _:
            return {
                "application/json": {"schema": {"$ref": SCHEMAS.format(model=content.__name__)}}
            }


def _schemas() -> JsonObject:
    """Bodies as they are sent in, answers as they are sent out."""
    inward = {route.body for route in ROUTES if route.body}
    outward: set[type[BaseModel]] = {ErrorAnswer}
    for route in ROUTES:
        for contents in route.answers.values():
            outward |= {c for c in contents if isinstance(c, type)}
    wanted = [(model, "validation") for model in inward] + [(m, "serialization") for m in outward]
    wanted.sort(key=lambda pair: pair[0].__name__)
    _, found = models_json_schema(wanted, ref_template=SCHEMAS)  # type: ignore[arg-type]
    schemas: JsonObject = found["$defs"]
    return schemas


def text() -> str:
    return json.dumps(document(), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    sys.stdout.write(text())
