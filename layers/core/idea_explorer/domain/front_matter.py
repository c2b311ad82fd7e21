"""Read and write the front matter of a document. Anybody may have written it, so it is read as data and in
bounds.

Only the events of YAML's parser are used. Nothing is constructed from them, so that tags, anchors, aliases
and merge keys have no effect except that the front matter is refused.

Most documents are our own, with values that need none of YAML's rules. Those are read and written without
it, because it is slow to load.
"""

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from idea_explorer.domain.patterns import lazy_pattern

if TYPE_CHECKING:
    import yaml

MAX_FRONT_MATTER = (
    65_536  # characters: an idea of 10,000, most of them escaped, and seven short values
)
MAX_NODES = 1_000  # ours has eight names and values
MAX_DEPTH = 4
_CLOSING = lazy_pattern(r"^-{3,}[ \t]*$", re.MULTILINE)
# Nothing in such a line means anything else in YAML.
_SIMPLE_LINE = lazy_pattern(
    r"([^\W\d]\w{0,40}): (?:([^\W_](?:[\w ,./()-]{0,500}[\w.)])?)|'([\w :,./()-]{0,500})')"
)
# YAML writes these as they are: they look like no other type, and fit in a line.
_PLAIN = lazy_pattern(
    r"(?:\d{1,4} )?[^\W\d_][\w ,./()-]{0,70}[\w.)]|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
)
_DATE = lazy_pattern(r"\d{4}-\d\d-\d\d", re.ASCII)  # which it quotes
_OTHER_TYPES = frozenset("yes no on off true false null".split())
_NO_VALUE = frozenset({"", "~", "null", "Null", "NULL"})


class FrontMatterError(ValueError):
    """The front matter cannot be used. The message says why, without a word of the document."""


def split_front_matter(text: str) -> tuple[str | None, str]:
    """The front matter of a text with line feeds only, without its marks, and the body. None if it has none;
    raises FrontMatterError if it is too long."""
    if closing := _find_closing(text):
        return text[4 : closing.start()], text[closing.end() :].strip()
    if text.startswith("---\n") and len(text) > MAX_FRONT_MATTER:
        raise FrontMatterError(f"it does not end within {MAX_FRONT_MATTER:,} characters")
    return None, text


def find_front_matter_end(text: str) -> int:
    """Where the line after the front matter begins; 0 if there is none."""
    closing = _find_closing(text)
    return min(closing.end() + 1, len(text)) if closing else 0


def cut_front_matter(text: str) -> tuple[str, str]:
    """The front matter of any text, as it is written, and the body. Neither is parsed."""
    plain = text.removeprefix("\ufeff").replace("\r\n", "\n")
    end = find_front_matter_end(plain)
    return plain[:end], plain[end:]


def _find_closing(text: str) -> re.Match[str] | None:
    return _CLOSING.search(text, 4, MAX_FRONT_MATTER) if text.startswith("---\n") else None


def parse_front_matter(block: str) -> dict[str, str]:
    """The values that are plain text, as they are written; lists and nested values are left out. Raises
    FrontMatterError, and nothing else."""
    simple = _read_simple_lines(block)
    if simple is not None:
        return simple
    import yaml

    # libyaml is ten times as fast; some platforms have no wheel with it
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        return _read(yaml.parse(block, Loader=loader))
    except FrontMatterError:
        raise
    except Exception as error:  # whatever the parser raises, the document is readable
        raise FrontMatterError("it is not valid YAML") from error


def _read_simple_lines(block: str) -> dict[str, str] | None:
    """What YAML reads, if every line is simple; otherwise None."""
    matter: dict[str, str] = {}
    lines = block.rstrip("\n").split("\n")
    if len(lines) > (MAX_NODES - 1) // 2:  # a node is the mapping
        return None
    for line in lines:
        match = _SIMPLE_LINE.fullmatch(line)
        if match is None:
            return None
        name, plain, quoted = match.groups()
        if plain not in _NO_VALUE:
            matter[name] = plain if quoted is None else quoted
    return matter


def format_front_matter(matter: Mapping[str, str | float | None]) -> str:
    """The lines of the front matter, with every value quoted as YAML needs it."""
    lines = [_format_simple_line(name, value) for name, value in matter.items()]
    if all(lines):
        return "".join(f"{line}\n" for line in lines)
    import yaml

    return yaml.safe_dump(dict(matter), sort_keys=False, allow_unicode=True, width=100)


def _format_simple_line(name: str, value: str | float | None) -> str | None:
    if isinstance(value, float) and (number := repr(value)).replace(".", "").isdecimal():
        return f"{name}: {number}"
    if not isinstance(value, str):
        return None
    if _DATE.fullmatch(value):
        return f"{name}: '{value}'"
    is_plain = _PLAIN.fullmatch(value) and value.lower() not in _OTHER_TYPES
    return f"{name}: {value}" if is_plain else None


def _read(events: Iterable["yaml.Event"]) -> dict[str, str]:
    """The names and values of the outermost mapping."""
    from yaml.events import CollectionEndEvent, CollectionStartEvent, NodeEvent, ScalarEvent

    matter: dict[str, str] = {}
    name: str | None = None
    depth = nodes = 0
    for event in events:
        if isinstance(event, CollectionEndEvent):
            depth -= 1
        if not isinstance(event, NodeEvent):
            continue
        nodes += 1
        _check(event, nodes, depth)
        if depth == 1 and name is None:
            name = _read_name(event)
        elif depth == 1 and name is not None:
            if isinstance(event, ScalarEvent) and not _is_empty(event):
                matter[name] = _read_text(event)
            name = None
        depth += isinstance(event, CollectionStartEvent)
    return matter


def _check(event: "yaml.NodeEvent", nodes: int, depth: int) -> None:
    from yaml.events import AliasEvent, MappingStartEvent

    if isinstance(event, AliasEvent) or event.anchor:
        raise FrontMatterError("it has anchors or aliases")
    if getattr(event, "tag", None):
        raise FrontMatterError("it has tags")
    if nodes > MAX_NODES:
        raise FrontMatterError(f"it has more than {MAX_NODES:,} values")
    if depth > MAX_DEPTH:
        raise FrontMatterError(f"it is nested deeper than {MAX_DEPTH} levels")
    if depth == 0 and (nodes > 1 or not isinstance(event, MappingStartEvent)):
        raise FrontMatterError("it is not a list of names and values")


def _read_name(event: "yaml.NodeEvent") -> str:
    from yaml.events import ScalarEvent

    if not isinstance(event, ScalarEvent):
        raise FrontMatterError("a name in it is not text")
    if event.value == "<<":
        raise FrontMatterError("it has merge keys")
    return _read_text(event)


def _is_empty(event: "yaml.ScalarEvent") -> bool:
    return bool(event.implicit[0]) and event.value in _NO_VALUE


def _read_text(event: "yaml.ScalarEvent") -> str:
    """Raises UnicodeEncodeError for half of a surrogate pair, which no file and no index can store."""
    text = str(event.value)
    text.encode()
    return text
