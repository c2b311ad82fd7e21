"""Tools as the model sees them and as the engine runs them. See docs/adding-a-tool.md."""

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from string import Template
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ConfigDict

from idea_explorer.domain.dataclass import dataclass
from idea_explorer.domain.json import Block, JsonObject
from idea_explorer.domain.tools import ToolResult
from idea_explorer.domain.transcript import AnyEntry

DEFAULT_TIME_LIMIT = 20.0


class Arguments(BaseModel):
    """Base class for the arguments of a tool: strict types, and no undeclared fields. A validator may
    raise ToolError to answer with an error type of its own."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


@dataclass(frozen=True, slots=True)
class Rule:
    """What the model is told when an argument is missing or wrong: `Annotated[str, Rule("…")]`."""

    text: str


@dataclass(frozen=True, slots=True)
class MayBeBlank:
    """Marks a required text that may be empty, such as a file's content."""


A = TypeVar("A", bound=Arguments)
F = TypeVar("F", bound=Callable[..., ToolResult])
_OPTIONS = "__tool_options__"


@dataclass(frozen=True)
class Tool(Generic[A]):
    """A tool that runs here. `run` gets valid arguments. It returns a result, or raises ToolError or
    ExternalError, which the model gets as data. An invalid call is answered with the example, or with
    `note` where another tool is meant."""

    name: str
    description: str
    arguments: type[A]
    run: Callable[[A], ToolResult]
    example: JsonObject
    note: str = ""
    reads_only: bool = True
    time_limit: float = DEFAULT_TIME_LIMIT

    @classmethod
    def of(cls, function: Callable[..., ToolResult], *bound: object, **numbers: int) -> "Tool[Any]":
        """From a function that is decorated with `tool`. `bound` are its parameters before `arguments`;
        `numbers` are put in place of `$name` in its docstring."""
        options: dict[str, Any] = getattr(function, _OPTIONS)
        description = " ".join((function.__doc__ or "").split())
        values = {name: f"{number:,}" for name, number in numbers.items()}
        return Tool(
            name=options["name"] or function.__name__,
            description=Template(description).safe_substitute(values),
            arguments=function.__annotations__["arguments"],
            run=partial(function, *bound),
            **{name: value for name, value in options.items() if name != "name"},
        )

    @property
    def definition(self) -> Block:
        example = json.dumps(self.example, ensure_ascii=False)
        return {
            "name": self.name,
            "description": f"{self.description}\nExample: {example}",
            "input_schema": _schema_of(self.arguments),
        }


def tool(
    example: JsonObject,
    *,
    name: str = "",
    note: str = "",
    reads_only: bool = True,
    time_limit: float = DEFAULT_TIME_LIMIT,
) -> Callable[[F], F]:
    """Make a tool of a function or method whose last parameter is called `arguments`. The model sees the
    function's name, its docstring as one paragraph, the example, and the fields of the arguments."""
    options = {
        "name": name,
        "example": example,
        "note": note,
        "reads_only": reads_only,
        "time_limit": time_limit,
    }

    def mark(function: F) -> F:
        setattr(function, _OPTIONS, options)
        return function

    return mark


@dataclass(frozen=True, slots=True)
class ServerTool:
    """A tool that Anthropic runs: it is only declared here. Its definition has no description, so what it is
    for stands in the system prompt. A call that reaches us anyway is answered by the rule of its
    parameter."""

    name: str
    definition: Block
    parameter: str
    rule: str
    example: JsonObject


class Toolset:
    """The tools of one exploration, in the order in which the model sees them. `introduce` returns what
    the first message says about the things they work on. `read_transcript` gets the transcript before the
    calls of each step run. Whoever runs the tools calls `close` at the end; it waits a few seconds for work
    in the background."""

    def __init__(
        self,
        tools: Sequence[Tool[Any]],
        server_tools: Sequence[ServerTool] = (),
        introduce: Callable[[], str] = str,
        close: Callable[[], None] = lambda: None,
        read_transcript: Callable[[Sequence[AnyEntry]], None] = lambda _: None,
    ) -> None:
        self.close = close
        self.read_transcript = read_transcript
        self.introduce = introduce
        self.tools: Mapping[str, Tool[Any]] = {tool.name: tool for tool in tools}
        self.server_tools: Mapping[str, ServerTool] = {tool.name: tool for tool in server_tools}

    @property
    def definitions(self) -> list[Block]:
        return [
            *(tool.definition for tool in self.server_tools.values()),
            *(tool.definition for tool in self.tools.values()),
        ]


@cache
def _schema_of(arguments: type[Arguments]) -> dict[str, Any]:
    schema = _inline(arguments.model_json_schema())
    schema.pop("title", None)
    return schema


def _inline(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema without `$ref`, titles and null, which makes it smaller and easier to read. An argument that
    may be null may also be left out."""
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
            for key, value in _without_null(node).items()
            if key != "title" or isinstance(value, dict)
        }

    resolved: dict[str, Any] = resolve(schema)
    return resolved


def _without_null(node: dict[str, Any]) -> dict[str, Any]:
    options = node.get("anyOf", [])
    others = [option for option in options if option != {"type": "null"}]
    if len(others) != 1 or others == options:
        return node
    rest = {key: value for key, value in node.items() if key != "anyOf" and value is not None}
    return {**others[0], **rest}
