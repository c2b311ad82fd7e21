"""Tools as the model sees them and as the engine runs them."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ConfigDict

from idea_explorer.domain.json import Block, JsonObject
from idea_explorer.domain.tools import ToolResult

DEFAULT_TIME_LIMIT = 20.0


class Arguments(BaseModel):
    """Base of every tool's arguments: strict, and nothing beyond what is declared.

    A validator may raise ToolError to answer with an error type of the tool's own.
    """

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


@dataclass(frozen=True, slots=True)
class Rule:
    """How an argument is described when it is missing or wrong: `Annotated[str, Rule("…")]`."""

    text: str


@dataclass(frozen=True, slots=True)
class MayBeBlank:
    """Marks a required text that may be empty, as a file's content may: `Annotated[str, MayBeBlank()]`."""


A = TypeVar("A", bound=Arguments)


@dataclass(frozen=True)
class Tool(Generic[A]):
    """A tool that runs here.

    `run` gets checked arguments and returns what it found, or raises ToolError or ExternalError; both
    go back to the model as data. `note` names the better tool for calls that should not have come here.
    """

    name: str
    description: str
    arguments: type[A]
    run: Callable[[A], ToolResult]
    example: JsonObject
    note: str = ""
    reads_only: bool = True
    time_limit: float = DEFAULT_TIME_LIMIT

    @property
    def definition(self) -> Block:
        schema = _inline(self.arguments.model_json_schema())
        schema.pop("title", None)
        example = json.dumps(self.example, ensure_ascii=False)
        return {
            "name": self.name,
            "description": f"{self.description}\nExample: {example}",
            "input_schema": schema,
        }


@dataclass(frozen=True, slots=True)
class ServerTool:
    """A tool that runs at Anthropic: declared here, never executed here."""

    name: str
    definition: Block


class Toolset:
    """The tools of one exploration, in the order in which the model sees them.

    `introduce` says in the first message what the model cannot know of what they work on. `close` ends
    what still goes on beside the calls, within seconds; whoever runs the tools calls it when done.
    """

    def __init__(
        self,
        tools: Sequence[Tool[Any]],
        server_tools: Sequence[ServerTool] = (),
        introduce: Callable[[], str] = str,
        close: Callable[[], None] = lambda: None,
    ) -> None:
        self.close = close
        self.introduce = introduce
        self.tools: Mapping[str, Tool[Any]] = {tool.name: tool for tool in tools}
        self.server_tools: Mapping[str, ServerTool] = {tool.name: tool for tool in server_tools}

    @property
    def definitions(self) -> list[Block]:
        return [
            *(tool.definition for tool in self.server_tools.values()),
            *(tool.definition for tool in self.tools.values()),
        ]


def _inline(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema without `$ref` and titles: smaller, and every model reads it alike."""
    definitions = schema.pop("$defs", {})

    def resolve(node: Any) -> Any:
        if isinstance(node, list):
            return [resolve(item) for item in node]
        if not isinstance(node, dict):
            return node
        if reference := node.get("$ref"):
            return resolve(definitions[reference.rsplit("/", 1)[1]])
        return {
            key: resolve(value)
            for key, value in node.items()
            if key != "title" or isinstance(value, dict)
        }

    resolved: dict[str, Any] = resolve(schema)
    return resolved
