"""The imports that a query found in a file."""

from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from idea_explorer.domain.code import Import
from idea_explorer.tools.code.parsing.captures import (
    MAX_LINE,
    Captures,
    first_text,
    line_end,
    line_start,
)
from idea_explorer.tools.code.parsing.grammars import IMPORT_CALLS
from idea_explorer.tools.code.parsing.modules import ModuleReference, shorten
from idea_explorer.tools.code.parsing.more_grammars import GRAMMARS

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_LIST = 10_000  # a Rust `use` with all its names


def find_imports(grammar: str, matches: list[Captures], source: bytes) -> Iterator[Import]:
    seen: set[Import] = set()
    depth_at = _inline_modules(matches)
    for captures in matches:
        if not is_import(captures, source):
            continue
        for marked in captures.get("import", []):
            line, statement = _statement(marked, source)
            depth = depth_at(marked.start_byte)
            for named in GRAMMARS[grammar].names(first_text(captures, "module", source, MAX_LIST)):
                given = _with_captures(named, captures, source)
                if given.level and given.level <= depth:
                    continue  # of a module within this file
                given = replace(given, level=given.level - depth if given.level else 0)
                for imported in _as_imports(given, line, statement):
                    if imported not in seen:
                        seen.add(imported)
                        yield imported


def _inline_modules(matches: list[Captures]) -> Callable[[int], int]:
    """How many of Rust's `mod a { … }` are around a position: `super` counts them too."""
    nodes = [n for captures in matches for n in captures.get("scope", []) if n.type == "mod_item"]
    starts = sorted(node.start_byte for node in nodes)
    ends = sorted(node.end_byte for node in nodes)
    return lambda at: bisect_right(starts, at) - bisect_right(ends, at)


def _with_captures(named: ModuleReference, captures: Captures, source: bytes) -> ModuleReference:
    if captures.get("all"):
        module = f"{named.module}/{named.symbol}" if named.module else named.symbol
        return replace(named, module=module, symbol="")
    return replace(
        named,
        symbol=first_text(captures, "symbol", source) or named.symbol,
        alias=first_text(captures, "alias", source) or named.alias,
    )


def _as_imports(named: ModuleReference, line: int, statement: str) -> Iterator[Import]:
    if not named.symbol:
        yield Import(named.module, line, statement, named.level, named.alias, named.spec)
        return
    yield Import(named.module, line, statement, named.level, spec=named.spec)
    target = f"{named.module}/{named.symbol}" if named.module else named.symbol
    bound = named.alias or named.symbol
    yield Import(target, line, statement, named.level, bound, named.spec)


def _statement(node: "Node", source: bytes) -> tuple[int, str]:
    """Its whole lines: a call of require() says little without its assignment."""
    first = line_start(source, node.start_byte, MAX_LINE)
    start = node.start_byte if first is None else first
    end = min(line_end(source, node.end_byte), start + MAX_LINE)
    return node.start_point[0] + 1, shorten(source[start:end])


def find_imported_names(matches: list[Captures], source: bytes) -> set[int]:
    """Where the names are that a statement imports: `const a = require("b")` defines no variable."""
    return {
        node.start_byte
        for captures in matches
        if captures.get("import") and is_import(captures, source)
        for name in ("symbol", "alias")
        for node in captures.get(name, [])
    }


def is_import(captures: Captures, source: bytes) -> bool:
    """Calls are matched whatever they call."""
    return "_call" not in captures or first_text(captures, "_call", source) in IMPORT_CALLS
