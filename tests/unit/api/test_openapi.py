"""docs/openapi.json is what the routes are."""

import json
from pathlib import Path

from openapi_spec_validator import validate

from idea_explorer.api.openapi import render_document
from idea_explorer.api.routes import ROUTES

COMMITTED = Path(__file__).parents[3] / "docs" / "openapi.json"


def test_the_committed_document_is_what_the_routes_make() -> None:
    assert COMMITTED.read_text("utf-8") == render_document(), "Run 'make openapi'."


def test_the_document_is_valid_openapi() -> None:
    validate(json.loads(render_document()))


def test_every_route_is_described() -> None:
    paths = json.loads(render_document())["paths"]
    described = {(method.upper(), path) for path, found in paths.items() for method in found}
    served = {(r.method, r.path.replace("<", "{").replace(">", "}")) for r in ROUTES}

    assert described == served
