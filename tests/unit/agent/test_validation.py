"""Bad calls of every tool of every toolset: refused with the contract's words, and nothing runs."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import JsonValue

from idea_explorer.agent.toolset import MayBeBlank, Tool
from idea_explorer.agent.validation import HINT
from idea_explorer.domain.events import ToolCallError
from idea_explorer.domain.json import JsonObject
from tests.fakes.engine import Bench
from tests.fakes.models import calls, says, scripted, tool_results
from tests.fakes.toolsets import TOOLSETS, counted, toolset_in

NOT_THERE: list[JsonValue] = [None, "", " \t\u2003\ufeff"]
WRONG_TYPES: dict[str, list[JsonValue]] = {
    "string": [7, 1.5, True, [], ["x"], {"x": "y"}],
    "array": [7, True, "x", {"x": "y"}],
    "object": [7, True, "x", ["x"]],
}


def bad_calls(tool: Tool[Any]) -> Iterator[tuple[str, JsonObject]]:
    """The parameter that each call lacks, and the call."""
    schema: Any = tool.definition["input_schema"]
    required = schema.get("required", [])
    if required:
        yield required[0], {}
    for name in required:
        kind = schema["properties"][name]["type"]
        marks = tool.arguments.model_fields[name].metadata
        may_be_blank = any(isinstance(mark, MayBeBlank) for mark in marks)
        for value in (*([None] if may_be_blank else NOT_THERE), *WRONG_TYPES[kind]):
            yield name, {**tool.example, name: value}


@pytest.mark.parametrize("name", TOOLSETS)
def test_every_bad_call_is_explained_and_only_the_good_ones_of_its_step_run(
    name: str, tmp_path: Path
) -> None:
    toolset, executed = counted(toolset_in(tmp_path, name))
    tools = toolset.tools.values()
    bad = [(tool, *lacking) for tool in tools for lacking in bad_calls(tool)]
    good = [(tool.name, tool.example) for tool in tools]
    step = [good[0], *((tool.name, given) for tool, _, given in bad), *good[1:]]
    model = scripted([calls(*step), says("# Done")])
    bench = Bench(tmp_path, model, toolset=toolset)
    done = bench.explore(toolset=name)
    assert done.run.outcome == "completed"
    assert sorted(executed) == sorted(tool.name for tool in tools)
    results = tool_results(model.requests[1])[1 : len(bad) + 1]
    for (tool, parameter, given), result in zip(bad, results, strict=True):
        payload = json.loads(str(result["content"]))
        ending = tool.note or f"Example: {json.dumps(tool.example, ensure_ascii=False)}"
        said = rf"{tool.name} requires '{parameter}' parameter \(.+\)\. {re.escape(ending)}"
        assert re.fullmatch(said, payload.pop("message")), given
        assert payload == {"ok": False, "error_type": "invalid_arguments", "hint": HINT}
        assert result["is_error"] is True
    refused = bench.log.of("Tool argument validation failed")
    assert sorted(str(line["toolName"]) for line in refused) == sorted(t.name for t, _, _ in bad)
    assert not any(e.was_retried for e in bench.seen.events if isinstance(e, ToolCallError))


@pytest.mark.parametrize("name", TOOLSETS)
def test_a_parameter_that_does_not_exist_is_refused_by_every_tool(
    name: str, tmp_path: Path
) -> None:
    toolset, executed = counted(toolset_in(tmp_path, name))
    step = [(tool.name, {**tool.example, "volume": 11}) for tool in toolset.tools.values()]
    model = scripted([calls(*step), says("# Done")])
    Bench(tmp_path, model, toolset=toolset).explore(toolset=name)
    assert executed == []
    for (tool, _), result in zip(step, tool_results(model.requests[1]), strict=True):
        message = json.loads(str(result["content"]))["message"]
        assert message.startswith(f"{tool} has no 'volume' parameter. Example: ")


@pytest.mark.parametrize("name", TOOLSETS)
def test_every_description_steers_and_shows_a_call_that_is_valid(name: str, tmp_path: Path) -> None:
    tools = toolset_in(tmp_path, name).tools
    for tool in tools.values():
        described = str(tool.definition["description"])
        others = [other for other in tools if other != tool.name and other in described]
        assert others or re.search(r"\b(NOT|ONLY|ALWAYS|BEFORE)\b", described), tool.name
        assert described.endswith(f"Example: {json.dumps(tool.example, ensure_ascii=False)}")
        tool.arguments.model_validate(tool.example)
