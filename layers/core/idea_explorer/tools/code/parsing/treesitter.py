"""Parsing other languages with tree-sitter, which also accepts files with errors."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from idea_explorer.domain.code import Definition, DefinitionKind, Import, ParsedCode
from idea_explorer.tools.code.parsing.grammars import GRAMMARS
from idea_explorer.tools.code.parsing.modules import ModuleReference, shorten

if TYPE_CHECKING:
    from tree_sitter import Node, Parser, Query

Captures = dict[str, list["Node"]]
_KINDS: tuple[DefinitionKind, ...] = ("function", "class", "variable")
_MODIFIERS = re.compile(rb"[\w \t]{0,60}")


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
    from tree_sitter import QueryCursor

    parser, query = _tools(grammar)
    tree = parser.parse(source)
    matches = [captures for _, captures in QueryCursor(query).matches(tree.root_node)]
    return ParsedCode(
        definitions=tuple(_definitions(matches, source)),
        imports=tuple(_imports(grammar, matches, source)),
    )


@cache
def _tools(grammar: str) -> "tuple[Parser, Query]":
    from tree_sitter import Language, Parser, Query

    described = GRAMMARS[grammar]
    language = Language(getattr(import_module(described.package), described.function)())
    return Parser(language), Query(language, described.query)


def _definitions(matches: list[Captures], source: bytes) -> Iterator[Definition]:
    """In source order, without the local variables of functions."""
    around: list[_Found] = []
    for found in _found(matches, source):
        while around and around[-1].end <= found.start:
            around.pop()
        names = [outer.name for outer in around] or ([found.container] if found.container else [])
        is_local = any(outer.kind == "function" for outer in around)
        if found.kind and not (found.kind == "variable" and is_local):
            yield Definition(found.name, found.kind, found.line, found.signature, ".".join(names))
        if found.kind != "variable":
            around.append(found)


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
        name=_bare(_text(name)),
        kind=kind,
        line=name.start_point[0] + 1,
        signature=_signature(node, source),
        container="".join(_bare(_text(outer)) for outer in captures.get("container", [])),
    )


def _signature(node: "Node", source: bytes) -> str:
    """The source from its modifiers (`export`, `pub`) to the body or the end of the first line."""
    line_start = source.rfind(b"\n", 0, node.start_byte) + 1
    is_alone = _MODIFIERS.fullmatch(source, line_start, node.start_byte)
    start = line_start if is_alone else node.start_byte
    value = node.child_by_field_name("value")
    body = node.child_by_field_name("body") or (value and value.child_by_field_name("body"))
    if body:
        return shorten(source[start : body.start_byte]).rstrip("{ ")
    line_end = source.find(b"\n", start)
    return shorten(source[start : line_end if line_end >= 0 else None]).rstrip("{; ")


def _imports(grammar: str, matches: list[Captures], source: bytes) -> Iterator[Import]:
    seen: set[Import] = set()
    for captures in matches:
        for marked in captures.get("import", []):
            line, statement = _statement(marked, source)
            for named in GRAMMARS[grammar].names(_first(captures, "module")):
                given = _with_captures(named, captures)
                for imported in _as_imports(given, line, statement):
                    if imported not in seen:
                        seen.add(imported)
                        yield imported


def _with_captures(named: ModuleReference, captures: Captures) -> ModuleReference:
    if captures.get("all"):
        module = f"{named.module}/{named.symbol}" if named.module else named.symbol
        return ModuleReference(module, named.level)
    return ModuleReference(
        named.module,
        named.level,
        _first(captures, "symbol") or named.symbol,
        _first(captures, "alias") or named.alias,
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
    first = source.rfind(b"\n", 0, node.start_byte) + 1
    last = source.find(b"\n", node.end_byte)
    return node.start_point[0] + 1, shorten(source[first : last if last >= 0 else None])


def _first(captures: Captures, name: str) -> str:
    nodes = captures.get(name)
    return _text(nodes[0]) if nodes else ""


def _text(node: "Node") -> str:
    return (node.text or b"").decode("utf-8", "replace")


def _bare(name: str) -> str:
    """The name without quotes, pointers and type parameters."""
    return name.strip("*&'\"` ").partition("<")[0].partition("[")[0].rpartition("::")[2]
