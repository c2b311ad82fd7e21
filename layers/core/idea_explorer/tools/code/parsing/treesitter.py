"""Parsing other languages with tree-sitter, which also accepts files with errors."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from idea_explorer.domain.code import Definition, DefinitionKind, Import, ParsedCode
from idea_explorer.domain.deadline import check_time_limit, is_abandoned
from idea_explorer.tools.code.parsing.grammars import GRAMMARS
from idea_explorer.tools.code.parsing.modules import ModuleReference, shorten

if TYPE_CHECKING:
    from tree_sitter import Language, Node, Query

Captures = dict[str, list["Node"]]
_KINDS: tuple[DefinitionKind, ...] = ("function", "class", "variable")
MAX_MODIFIERS = 60
_MODIFIERS = re.compile(rb"[\w \t]{0,%d}" % MAX_MODIFIERS)
MAX_SOURCE = (
    262_144  # of a file: hostile code takes seconds for so much, and people write no larger files
)
READ_BYTES = 4_096
QUERY_BYTES = 32_768
# How much of what a stranger wrote is looked at for one symbol: a file may be a single line of a megabyte.
MAX_NAME = 400
MAX_LINE = 1_600  # four times what is shown, in bytes
MAX_LIST = 10_000  # a Rust `use` with all its names
MAX_NESTING = 50


@dataclass(frozen=True, slots=True)
class _Found:
    start: int
    end: int
    name: str
    kind: DefinitionKind | None
    line: int
    signature: str
    container: str


def parse_with_grammar(grammar: str, source: bytes) -> ParsedCode:
    """Raises TimeLimitExceededError. The parser and the query hold the interpreter while they work, so both
    get the source in small parts: in between, other threads run. (Their progress callbacks would be the way
    to do that, but crash the process: tree-sitter 0.26.)"""
    from tree_sitter import Parser

    language, query = _tools(grammar)
    looked_at = source[:MAX_SOURCE]

    def read(start: int, _: object) -> bytes:
        return b"" if is_abandoned() else looked_at[start : start + READ_BYTES]

    # not shared: while one thread parses, another one may begin to
    tree = Parser(language).parse(read)
    check_time_limit()
    matches = [*_matches(query, tree.root_node, len(looked_at))]
    return ParsedCode(
        definitions=tuple(_definitions(matches, looked_at)),
        imports=tuple(_imports(grammar, matches, looked_at)),
    )


def _matches(query: "Query", root: "Node", size: int) -> Iterator[Captures]:
    """A match that reaches into several parts of the source is found in each, and returned once."""
    from tree_sitter import QueryCursor

    cursor = QueryCursor(query)
    seen: set[tuple[int, tuple[tuple[str, int, int], ...]]] = set()
    for start in range(0, size, QUERY_BYTES):
        check_time_limit()
        cursor.set_byte_range(start, start + QUERY_BYTES)
        for pattern, captures in cursor.matches(root):
            nodes = [(name, n.start_byte, n.end_byte) for name in captures for n in captures[name]]
            key = (pattern, tuple(sorted(nodes)))
            if key not in seen:
                seen.add(key)
                yield captures


@cache
def _tools(grammar: str) -> "tuple[Language, Query]":
    from tree_sitter import Language, Query

    described = GRAMMARS[grammar]
    language = Language(getattr(import_module(described.package), described.function)())
    return language, Query(language, described.query)


@dataclass(frozen=True, slots=True)
class _Scope:
    """What a definition is inside of: where that ends, and the names down to it."""

    end: int
    names: tuple[str, ...]
    in_function: bool


def _definitions(matches: list[Captures], source: bytes) -> Iterator[Definition]:
    """In source order, without the local variables of functions."""
    around = [_Scope(len(source) + 1, (), in_function=False)]
    for found in _found(matches, source):
        while around[-1].end <= found.start:
            around.pop()
        outer = around[-1]
        names = outer.names or ((found.container,) if found.container else ())
        if found.kind and not (found.kind == "variable" and outer.in_function):
            yield Definition(found.name, found.kind, found.line, found.signature, ".".join(names))
        if found.kind != "variable":
            inner = (*outer.names, found.name)[:MAX_NESTING]
            in_function = outer.in_function or found.kind == "function"
            around.append(_Scope(found.end, inner, in_function=in_function))


def _found(matches: list[Captures], source: bytes) -> list[_Found]:
    """Outer definitions first. If several queries match a name, a function or class wins over a variable."""
    best: dict[int, _Found] = {}
    for captures in matches:
        for kind in (*_KINDS, None):
            for node in captures.get(kind or "scope", []):
                for name in captures.get("name", []):
                    known = best.get(name.start_byte)
                    if known is None or known.kind == "variable":
                        best[name.start_byte] = _describe(node, name, kind, captures, source)
    return sorted(best.values(), key=lambda found: (found.start, -found.end))


def _describe(
    node: "Node", name: "Node", kind: DefinitionKind | None, captures: Captures, source: bytes
) -> _Found:
    return _Found(
        start=node.start_byte,
        end=node.end_byte,
        name=_bare(_text(name, source)),
        kind=kind,
        line=name.start_point[0] + 1,
        signature=_signature(node, source),
        container="".join(_bare(_text(outer, source)) for outer in captures.get("container", [])),
    )


def _signature(node: "Node", source: bytes) -> str:
    """The source from its modifiers (`export`, `pub`) to the body or the end of the first line."""
    start = node.start_byte
    line_start = _line_start(source, start, MAX_MODIFIERS)
    if line_start is not None and _MODIFIERS.fullmatch(source, line_start, start):
        start = line_start
    value = node.child_by_field_name("value")
    body = node.child_by_field_name("body") or (value and value.child_by_field_name("body"))
    if body:
        return shorten(source[start : min(body.start_byte, start + MAX_LINE)]).rstrip("{ ")
    return shorten(source[start : _line_end(source, start)]).rstrip("{; ")


def _line_start(source: bytes, at: int, most: int) -> int | None:
    """Where the line begins; None if that is more than `most` bytes before."""
    first = max(at - most - 1, 0)
    found = source.rfind(b"\n", first, at)
    return None if found < 0 and first else found + 1


def _line_end(source: bytes, start: int) -> int:
    """Where the line ends, or its part that is looked at."""
    found = source.find(b"\n", start, start + MAX_LINE)
    return found if found >= 0 else start + MAX_LINE


def _imports(grammar: str, matches: list[Captures], source: bytes) -> Iterator[Import]:
    seen: set[Import] = set()
    for captures in matches:
        for marked in captures.get("import", []):
            line, statement = _statement(marked, source)
            for named in GRAMMARS[grammar].names(_first(captures, "module", source, MAX_LIST)):
                given = _with_captures(named, captures, source)
                for imported in _as_imports(given, line, statement):
                    if imported not in seen:
                        seen.add(imported)
                        yield imported


def _with_captures(named: ModuleReference, captures: Captures, source: bytes) -> ModuleReference:
    if captures.get("all"):
        module = f"{named.module}/{named.symbol}" if named.module else named.symbol
        return ModuleReference(module, named.level)
    return ModuleReference(
        named.module,
        named.level,
        _first(captures, "symbol", source) or named.symbol,
        _first(captures, "alias", source) or named.alias,
    )


def _as_imports(named: ModuleReference, line: int, statement: str) -> Iterator[Import]:
    if not named.symbol:
        yield Import(named.module, line, statement, named.level, named.alias)
        return
    yield Import(named.module, line, statement, named.level)
    target = f"{named.module}/{named.symbol}" if named.module else named.symbol
    yield Import(target, line, statement, named.level, named.alias or named.symbol)


def _statement(node: "Node", source: bytes) -> tuple[int, str]:
    """Its whole lines: a call of require() says little without its assignment."""
    first = _line_start(source, node.start_byte, MAX_LINE)
    start = node.start_byte if first is None else first
    end = min(_line_end(source, node.end_byte), start + MAX_LINE)
    return node.start_point[0] + 1, shorten(source[start:end])


def _first(captures: Captures, name: str, source: bytes, most: int = MAX_NAME) -> str:
    nodes = captures.get(name)
    return _text(nodes[0], source, most) if nodes else ""


def _text(node: "Node", source: bytes, most: int = MAX_NAME) -> str:
    """The beginning of a node's text: nodes of nested code would repeat all that is inside."""
    end = min(node.end_byte, node.start_byte + most)
    return source[node.start_byte : end].decode("utf-8", "replace")


def _bare(name: str) -> str:
    """The name without quotes, pointers and type parameters."""
    return name.strip("*&'\"` ").partition("<")[0].partition("[")[0].rpartition("::")[2]
