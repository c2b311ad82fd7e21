"""The guide's own example works as it says."""

import re
from pathlib import Path
from typing import Any

from idea_explorer.agent.tool_calls import Bounded, Executed, Retried
from idea_explorer.agent.toolset import Toolset
from idea_explorer.agent.validation import Validated
from idea_explorer.domain.tools import ToolCall, ToolResult
from tests.fakes.clock import ManualClock
from tests.fakes.engine import RecordedLog

GUIDE = Path(__file__).parents[3] / "docs" / "adding-a-tool.md"


def example() -> Toolset:
    found = re.search(r"```python\n(.*?)```", GUIDE.read_text("utf-8"), re.DOTALL)
    assert found is not None
    names: dict[str, Any] = {"__name__": "shop"}
    exec(found[1], names)
    tools = names["shop_tools"]()
    assert isinstance(tools, Toolset)
    return tools


def call(**given: Any) -> ToolResult:
    log = RecordedLog()
    runner = Bounded(Retried(Executed(log), ManualClock(), log))
    return Validated(example(), runner, log).call(ToolCall("1", "count_stock", given))


def test_the_example_answers() -> None:
    assert call(tea="sencha").payload == {"ok": True, "tea": "sencha", "count": 12}


def test_the_example_fails_as_data() -> None:
    assert call(tea="coffee").error_type == "not_found"
    assert call(tea="").error_type == "invalid_arguments"
