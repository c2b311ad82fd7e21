"""Whatever is sent in is answered with our error shape, never with a failure of ours."""

import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from idea_explorer.api.routes import ROUTES, Route
from idea_explorer.domain.request import ExploreRequest
from tests.fakes.api import Api

STRANGE_TEXT = st.one_of(
    st.text(st.characters(exclude_categories=[]), max_size=50),  # surrogates and controls too
    st.sampled_from(
        [
            "\x00", "\ud800", "'; DROP TABLE explorations; --", "<script>alert(1)</script>",
            "{{7*7}}", "${jndi:ldap://x}", "../../etc/passwd", "\u202egnp.exe", "a\r\nSet-Cookie: x=1",
            "𝕏" * 1_000, "%s%n%x", "__proto__", "NaN", "-0", "1e999", "null", "\ufeff", "é" * 300,
        ]
    ),
)  # fmt: skip
STRANGE_JSON: st.SearchStrategy[Any] = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.integers(min_value=10**30, max_value=10**40),
        st.floats(),  # NaN and infinities are what json.dumps makes of them
        STRANGE_TEXT,
    ),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(STRANGE_TEXT, inner, max_size=4),
    max_leaves=8,
)
FIELDS = sorted(ExploreRequest.model_fields)
RELAXED = settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Api:
    return Api(Path(tmp_path_factory.mktemp("fuzz")))


def check(api: Api, body: bytes) -> None:
    """A good request is stored once; a bad one leaves no trace."""
    before = newest(api)
    api.clock.pass_time(1)
    reply = api.post("/explorations", body)
    assert reply.status in {202, 400, 413, 422}, reply.text
    if reply.status == 202:
        assert newest(api) == reply.json["id"]
        assert api.get(f"/explorations/{reply.json['id']}").status == 200
    else:
        assert reply.error["message"]
        assert newest(api) == before


def newest(api: Api) -> str | None:
    listed = api.get("/explorations?limit=1").json["explorations"]
    return listed[0]["id"] if listed else None


def sent(value: object) -> bytes:
    return json.dumps(value).encode()


@pytest.mark.parametrize("field", FIELDS)
@RELAXED
@given(value=STRANGE_JSON)
def test_any_value_in_any_field(api: Api, field: str, value: object) -> None:
    check(api, sent({"idea": "Urban bees", field: value}))


@pytest.mark.parametrize("field", FIELDS)
@RELAXED
@given(value=STRANGE_TEXT)
def test_any_text_in_any_field(api: Api, field: str, value: str) -> None:
    check(api, sent({"idea": "Urban bees", field: value}))


@RELAXED
@given(body=st.one_of(st.binary(max_size=200), STRANGE_JSON.map(sent)))
def test_any_body(api: Api, body: bytes) -> None:
    check(api, body)


@RELAXED
@given(name=STRANGE_TEXT, value=STRANGE_TEXT)
def test_any_header(api: Api, name: str, value: str) -> None:
    headers = {name: value, "Last-Event-ID": value, "Accept": value, "Idempotency-Key": value}
    exploration = api.submitted()
    api.post(f"/explorations/{exploration.id}/cancel")

    assert api.post("/explorations", {"idea": "b"}, headers=headers).status in {202, 422}
    shown = api.get(f"/explorations/{exploration.id}/events", headers=headers)
    assert shown.status in {200, 204, 422}


@RELAXED
@given(text=STRANGE_TEXT)
def test_any_path_and_query(api: Api, text: str) -> None:
    part = quote(text.encode("utf-8", "surrogatepass"))
    for target in (f"/{part}", f"/explorations/{part}", f"/explorations/{part}/report"):
        # a path of slashes, dots or nothing may still be the list
        assert api.get(target).status in {200, 404}
    for name in ("status", "mode", "toolset", "limit", "cursor", part):
        assert api.get(f"/explorations?{name}={part}").status in {200, 422}


BODIES = [route for route in ROUTES if route.body]
GOOD: dict[str, Any] = {
    "idea": "Urban bees",
    "name": "notes.txt",
    "size": 1,
    "webhook_url": "https://hooks.example/ideas",
    "decision": "approve",
}


@pytest.mark.parametrize("route", BODIES, ids=lambda route: route.path)
@RELAXED
@given(data=st.data())
def test_anything_in_any_body_of_any_route(api: Api, route: Route, data: st.DataObject) -> None:
    """One field strange and the others good, or the whole body strange."""
    assert route.body is not None
    exploration = api.submitted()
    api.post(f"/explorations/{exploration.id}/cancel")
    target = route.path.replace("<exploration_id>", exploration.id).replace("<approval_id>", "a")
    fields = sorted(route.body.model_fields)
    field = data.draw(st.sampled_from([*fields, ""]))
    value = data.draw(STRANGE_JSON)
    good = {name: GOOD[name] for name in fields if name in GOOD}

    reply = api.post(target, sent({**good, field: value} if field else value))

    assert reply.status < 500, reply.text
    if reply.status >= 400:
        assert reply.error["message"]
