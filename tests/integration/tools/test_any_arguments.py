"""Whatever JSON a model sends as arguments to whatever tool: a well-formed result, and the run goes on."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import JsonValue

from idea_explorer.adapters.claude import Claude
from idea_explorer.domain.json import JsonObject, sanitize
from idea_explorer.domain.transcript import PendingCall, StoredResult, ToolsRan
from tests.fakes.anthropic_server import FakeAnthropic
from tests.fakes.anthropic_turns import Turn, answer, text
from tests.fakes.engine import Bench
from tests.fakes.toolsets import TOOLSETS, toolset_in

pytestmark = pytest.mark.long

Calls = Sequence[tuple[str, JsonValue]]


class Desk:
    """A model that makes the calls it is given and then writes, and the engine that it drives."""

    def __init__(self, folder: Path, name: str, *, plain: bool) -> None:
        self.name = name
        self._calls: Calls = ()
        self.server = FakeAnthropic(self._turn, force_json=plain)
        self._toolset = toolset_in(folder, name)
        self.tools = self._toolset.tools
        self._folder = folder

    def __enter__(self) -> "Desk":
        model = Claude.with_key("key", self.server.start().url)
        self._bench = Bench(self._folder, model, toolset=self._toolset)
        return self

    def __exit__(self, *_: object) -> None:
        self.server.stop()

    def results(self, calls: Calls) -> Sequence[StoredResult | PendingCall]:
        """What came of the calls; the run has gone on and ended in writing, or waits for a decision."""
        self._calls = calls
        done = self._bench.explore(toolset=self.name)
        assert self.server.rejections == []
        (ran,) = [e for e in self._bench.entries(done) if isinstance(e, ToolsRan)]
        if ran.pending:
            assert done.status == "awaiting_approval"
        else:
            assert (done.run.outcome, done.run.stats.steps) == ("completed", 2), done.run.receipt
            assert self._bench.store.load_report(done.id).startswith("# Done")
        return sorted([*ran.results, *ran.pending], key=_position)

    def _turn(self, request: Any, _: int) -> Turn:
        if len(request["messages"]) > 1:
            return answer(text("# Done"))
        return answer(*({"type": "tool_use", "name": n, "input": i} for n, i in self._calls))


def _position(result: StoredResult | PendingCall) -> int:
    return int(result.call_id.rsplit("_", 1)[1])


@pytest.fixture(scope="module", params=[(n, p) for n in TOOLSETS for p in (False, True)],
                ids=lambda given: f"{given[0]}-{'json' if given[1] else 'sse'}")  # fmt: skip
def desk(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Desk]:
    name, plain = request.param
    with Desk(tmp_path_factory.mktemp(name), name, plain=plain) as opened:
        yield opened


_LEAVES: st.SearchStrategy[JsonValue] = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(codec=None), max_size=30)
    | st.sampled_from([10**30, "\ud800", "\x00", "a" * 5_000, "../../etc/passwd", "%00", "'\"; --"])
)
_JSON = st.recursive(
    _LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=8,
)


def any_calls(desk: Desk) -> st.SearchStrategy[Calls]:
    """Calls that are sheer nonsense, and calls that are nearly right."""
    names = sorted(desk.tools)

    def nearly(name: str) -> st.SearchStrategy[tuple[str, JsonValue]]:
        tool = desk.tools[name]
        parameters = st.sampled_from([*tool.arguments.model_fields, "other"])
        changes = st.dictionaries(parameters, _JSON, min_size=1, max_size=2)
        return changes.map(lambda changed: (name, {**tool.example, **changed}))

    nonsense = st.tuples(st.sampled_from([*names, "web_search", "", "rm -rf", "\udfff"]), _JSON)
    return st.lists(nonsense | st.sampled_from(names).flatmap(nearly), min_size=1, max_size=6)


@settings(max_examples=6, deadline=None)
@given(st.data())
def test_the_run_goes_on(desk: Desk, data: st.DataObject) -> None:
    calls = data.draw(any_calls(desk))
    results = desk.results(calls)
    assert len(results) == len(calls)
    for (_, sent), result in zip(calls, results, strict=True):
        if isinstance(result, StoredResult):
            assert_well_formed(result.payload)
        else:
            assert not desk.tools[result.name].reads_only
        assert result.input == (sanitize(sent) if isinstance(sent, dict) else {})


def assert_well_formed(payload: JsonObject) -> None:
    assert json.loads(json.dumps(payload, allow_nan=False)) == payload
    if payload["ok"] is True:
        return
    assert payload["ok"] is False
    assert payload["error_type"] != "internal_error"
    assert isinstance(payload["error_type"], str)
    assert isinstance(payload["message"], str)
    assert payload["message"].strip()


def nested(depth: int) -> JsonValue:
    value: JsonValue = "deep"
    for _ in range(depth):
        value = [value]
    return value


NO_OBJECTS: list[JsonValue] = [
    None, "", "x", 0, 7, True, [], [{}], {"x": nested(70)}, {"x": nested(400)},
    {"x": float("nan"), "y": float("inf")}, {"\ud800": "\udfff"},
]  # fmt: skip


@pytest.mark.parametrize("sent", NO_OBJECTS, ids=lambda sent: ascii(sent)[:20])
def test_what_is_no_object_or_cannot_be_stored_runs_nothing(desk: Desk, sent: JsonValue) -> None:
    strict = [name for name, tool in desk.tools.items() if tool.arguments.model_fields]
    for result in desk.results([(name, sent) for name in strict]):
        assert isinstance(result, StoredResult)
        assert result.payload["error_type"] == "invalid_arguments"
        assert_well_formed(result.payload)
