"""The prompts, each a Markdown file in this folder; a new mode is a new file.

The front matter of a mode, in TOML, lists what its reports must contain; the model does not see it.
"""

import re
import tomllib
from functools import cache
from pathlib import Path

from idea_explorer.domain.completeness import Framework
from idea_explorer.domain.errors import InvalidRequestError
from idea_explorer.domain.patterns import lazy_pattern
from idea_explorer.domain.request import ExploreRequest
from idea_explorer.domain.text import pluralize
from idea_explorer.domain.toolsets import TOOLSETS

SHARED = frozenset(
    """
    common web_search write_now cut_call cut_edit complete_report correct_report verify only_thinking
    no_more_tools continue
    update follow_up go_on fresh_start resume plan related findings branch synthesis no_findings
    """.split()
)
_FOLDER = Path(__file__).parent
_PLACEHOLDER = lazy_pattern(r"\{\{(\w+)\}\}")
_FRONT_MATTER = lazy_pattern(r"\A\+\+\+\n(.*?)^\+\+\+\n", re.DOTALL | re.MULTILINE)


@cache
def _file(name: str) -> str:
    return (_FOLDER / f"{name}.md").read_text("utf-8")


@cache
def _text(name: str) -> str:
    return _FRONT_MATTER.sub("", _file(name)).strip()


@cache
def framework(name: str) -> Framework:
    """What a report of this mode, or an update, must contain."""
    matter = _FRONT_MATTER.match(_file(name))
    return Framework.model_validate(tomllib.loads(matter[1]) if matter else {})


def prompt(name: str, **values: str) -> str:
    """A prompt with its placeholders filled in. Placeholders within the values are left as they are."""
    return _PLACEHOLDER.sub(lambda match: values[match.group(1)], _text(name))


@cache
def modes() -> tuple[str, ...]:
    """The research modes: the prompt files that are neither shared nor a toolset's."""
    names = {file.stem for file in _FOLDER.iterdir() if file.suffix == ".md"}
    return tuple(sorted(names - SHARED - TOOLSETS.keys()))


def system_prompt(request: ExploreRequest) -> str:
    """The instructions of a toolset or mode, with the steps and the length that the request asks for."""
    values = {"steps": pluralize(request.steps, "step"), "web_search": prompt("web_search")}
    if depth := request.depth_limits:
        values["words"] = " to ".join(f"{words:,}" for words in depth.words)
    if not request.spec.takes("mode"):
        return prompt(request.toolset, **values)
    if request.mode not in modes():
        raise InvalidRequestError(
            f"Unknown mode '{request.mode}'.",
            hint=f"Choose one of: {', '.join(modes())}.",
            fields={"mode": f"must be one of: {', '.join(modes())}"},
        )
    return f"{prompt('common', **values)}\n\n{prompt(request.mode, **values)}"
