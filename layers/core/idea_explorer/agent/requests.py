"""The next call to the model, from what was said so far."""

from idea_explorer.agent.state import State
from idea_explorer.domain import limits
from idea_explorer.domain.turns import build_messages
from idea_explorer.ports import ModelRequest


def request_of(
    state: State,
    *,
    writing: bool,
    tools_off: bool = False,
    max_tokens: int = limits.MAX_OUTPUT_TOKENS,
) -> ModelRequest:
    """System, tools, model and its settings are those of the opening, word for word, whatever a deploy
    has changed."""
    opening = state.opening
    return ModelRequest(
        model_id=opening.model_id,
        system=opening.system,
        tools=opening.tools,
        messages=build_messages(state.entries),
        max_tokens=max_tokens,
        writing=writing,
        tools_off=tools_off,
        thinking=opening.thinking,
        effort=state.effort,
    )
