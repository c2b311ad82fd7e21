"""Generates docs/openapi.json from the routes and their models: `make openapi`."""

import json
import sys
from collections.abc import Iterator

from pydantic import BaseModel, JsonValue
from pydantic.json_schema import models_json_schema

from idea_explorer import __version__
from idea_explorer.api.http import ERROR_TYPES, QUOTA_SPENT, ErrorResponse
from idea_explorer.api.routes import ROUTES, Content, Route
from idea_explorer.domain.event_json import event_schemas
from idea_explorer.domain.json import JsonObject

SCHEMAS = "#/components/schemas/{model}"
EVENTS: JsonObject = {
    "type": "string",
    "description": "Server-sent events; the data of each is an Event.",
    "contentMediaType": "application/json",
    "contentSchema": {"$ref": SCHEMAS.format(model="Event")},
}
# error responses that any route may give
FAILURES = {
    400: "The request is malformed.",
    401: "The request has no valid bearer token.",
    403: "The token does not allow this.",
    404: "There is no such exploration, or it belongs to another owner.",
    409: "The exploration's status does not allow this.",
    413: "The body is too large.",
    422: "A field is invalid; `details` says which and why.",
    429: "Too many requests; with the type `quota_spent`, the owner's budget for today is spent.",
    500: "Something went wrong on our side.",
    503: "A service we depend on is unavailable.",
}
SUCCESSES = {
    200: "OK.",
    201: "Created.",
    202: "Accepted.",
    204: "The exploration has ended and no more events follow.",
}
DESCRIPTION = (
    "Send in an idea and get a researched, cited report in your GitHub repository minutes later. "
    "Each token belongs to an owner, and owners see only their own explorations. "
    f"Error types: {', '.join([*(ERROR_TYPES[status] for status in FAILURES), QUOTA_SPENT])}."
)


def build_document() -> JsonObject:
    paths: dict[str, JsonValue] = {}
    for route in ROUTES:
        path = route.path.replace("<", "{").replace(">", "}")
        operations = paths.setdefault(path, {})
        assert isinstance(operations, dict)
        operations[route.method.lower()] = _build_operation(route)
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
            "schemas": _build_schemas(),
            "responses": {
                ERROR_TYPES[status]: {
                    "description": meaning,
                    "content": _build_content(ErrorResponse),
                }
                for status, meaning in FAILURES.items()
            },
        },
    }


def _build_operation(route: Route) -> JsonObject:
    operation: JsonObject = {
        "operationId": route.handle.__name__,
        "summary": route.summary,
        "parameters": list(_build_parameters(route)),
        "responses": {**_build_successes(route), **_build_failures(route)},
    }
    if route.body:
        operation["requestBody"] = {
            "required": any(field.is_required() for field in route.body.model_fields.values()),
            "content": _build_content(route.body),
        }
    if route.public:
        operation["security"] = []
    return operation


def _build_parameters(route: Route) -> Iterator[JsonValue]:
    for name in (part[1:-1] for part in route.path.split("/") if part.startswith("<")):
        yield {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
    for name, text in route.headers.items():
        schema: JsonObject = {"type": "string"}
        yield {"name": name, "in": "header", "description": text, "schema": schema}
    if route.query:
        properties = route.query.model_json_schema(ref_template=SCHEMAS)["properties"]
        for name, schema in properties.items():
            yield {"name": name, "in": "query", "schema": schema}


def _build_successes(route: Route) -> JsonObject:
    responses: JsonObject = {}
    for status, contents in route.responses.items():
        response: JsonObject = {"description": SUCCESSES[status]}
        by_type: JsonObject = {}
        for content in contents:
            by_type |= _build_content(content)
        responses[str(status)] = {**response, "content": by_type} if by_type else response
    return responses


def _build_failures(route: Route) -> JsonObject:
    wanted = {500} if route.public else FAILURES.keys()
    return {
        str(status): {"$ref": f"#/components/responses/{ERROR_TYPES[status]}"} for status in wanted
    }


def _build_content(content: Content) -> JsonObject:
    match content:
        case None:
            return {}
        case "text/event-stream":
            return {content: {"schema": EVENTS}}
        case str():
            return {content: {"schema": {"type": "string"}}}
        case _:
            return {
                "application/json": {"schema": {"$ref": SCHEMAS.format(model=content.__name__)}}
            }


def _build_schemas() -> JsonObject:
    """Request bodies as they are validated, response bodies as they are serialized."""
    requests = {route.body for route in ROUTES if route.body}
    responses: set[type[BaseModel]] = {ErrorResponse}
    for route in ROUTES:
        for contents in route.responses.values():
            responses |= {c for c in contents if isinstance(c, type)}
    wanted = [(model, "validation") for model in requests] + [
        (m, "serialization") for m in responses
    ]
    wanted.sort(key=lambda pair: pair[0].__name__)
    _, found = models_json_schema(wanted, ref_template=SCHEMAS)  # type: ignore[arg-type]
    schemas: JsonObject = {**found["$defs"], **event_schemas(SCHEMAS)}
    return dict(sorted(schemas.items()))


def render_document() -> str:
    return json.dumps(build_document(), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    sys.stdout.write(render_document())
