"""What the offline model can say in one turn."""

from dataclasses import dataclass, field

from idea_explorer.domain.json import JsonObject

NOTICE = (
    "> **Offline run.** No model was called: this text was put together by rules from the idea and"
    " from the material named below. Set `ANTHROPIC_API_KEY` for real research.\n"
)


@dataclass(frozen=True, slots=True)
class Call:
    name: str
    input: JsonObject


@dataclass(frozen=True, slots=True)
class Turn:
    text: str = ""
    calls: tuple[Call, ...] = field(default=())
