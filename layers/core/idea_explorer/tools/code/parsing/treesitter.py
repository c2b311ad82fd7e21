"""Parsing other languages with tree-sitter, which also accepts files with errors."""

import re
from collections.abc import Iterator
from contextlib import suppress
from functools import cache, partial
from importlib import import_module
from itertools import chain
from typing import TYPE_CHECKING

from idea_explorer.domain.code import Definition, DefinitionKind, ParsedCode
from idea_explorer.domain.dataclass import dataclass
from idea_explorer.domain.deadline import (
    TimeLimitExceededError,
    check_time_limit,
    is_abandoned,
    run_with_time_limit,
)
from idea_explorer.tools.code.parsing.captures import (
    MAX_LINE,
    Captures,
    line_end,
    line_start,
    text_of,
)
from idea_explorer.tools.code.parsing.grammars import PART_END
from idea_explorer.tools.code.parsing.modules import shorten
from idea_explorer.tools.code.parsing.more_grammars import GRAMMARS
from idea_explorer.tools.code.parsing.tree_imports import find_imported_names, find_imports

if TYPE_CHECKING:
    from tree_sitter import Language, Node, Query, Tree

# Variables that are not local to the function around them: they belong to a type in it, or to the file.
_MEMBERS = frozenset(
    "enum_assignment enum_variant enumerator field_declaration field_definition preproc_def"
    " property_signature public_field_definition".split()
)
_KINDS: tuple[DefinitionKind, ...] = ("function", "class", "variable")
MAX_MODIFIERS = 60
_MODIFIERS = re.compile(rb"[\w \t]{0,%d}" % MAX_MODIFIERS)
# Of a file. Ordinary code takes a fifth of a second for so much; the parser holds the interpreter for a tenth
# when it has read all of it. Hostile code may take minutes: then the beginning has to do, if that is faster.
MAX_SOURCE = 524_288
MAX_SLOW_SOURCE = 131_072
MIN_SLOW_SOURCE = 16_384  # less takes a second at worst
FILE_SECONDS = 3.0
READ_BYTES = 512  # for which hostile code takes 30 ms
QUERY_BYTES = 32_768
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
    is_member: bool = False


def parse_with_grammar(grammar: str, source: bytes) -> ParsedCode:
    """Of a file that takes too long, only the beginning is parsed; if that takes too long as well, it has no
    symbols. Raises TimeLimitExceededError for the call itself."""
    if len(source) <= MIN_SLOW_SOURCE:
        return _parse(grammar, source)
    for part in dict.fromkeys(_cut(source, most) for most in (MAX_SOURCE, MAX_SLOW_SOURCE)):
        with suppress(TimeLimitExceededError):
            return run_with_time_limit(partial(_parse, grammar, part), FILE_SECONDS, name="parse")
        check_time_limit()
    return ParsedCode()


def _cut(source: bytes, most: int) -> bytes:
    """Whole lines: half of a token at the end would cost more than all before it."""
    return source if len(source) <= most else source[: source.rfind(b"\n", 0, most) + 1 or most]


def _parse(grammar: str, looked_at: bytes) -> ParsedCode:
    tree = parse_tree(grammar, looked_at)
    queries = [_load_query(grammar, part) for part in GRAMMARS[grammar].query.split(PART_END)]
    found = (_matches(query, tree.root_node, len(looked_at)) for query in queries)
    matches = [*chain.from_iterable(found)]
    return ParsedCode(
        definitions=tuple(_definitions(matches, looked_at)),
        imports=tuple(find_imports(grammar, matches, looked_at)),
    )


def parse_tree(grammar: str, source: bytes) -> "Tree":
    """The parser and the query hold the interpreter while they work, so both get the source in small parts:
    in between, other threads run. (Their progress callbacks would be the way to do that, but crash the
    process: tree-sitter 0.26.)"""
    from tree_sitter import Parser

    def read(start: int, _: object) -> bytes:
        return b"" if is_abandoned() else source[start : start + READ_BYTES]

    # not shared: while one thread parses, another one may begin to
    tree = Parser(load_language(grammar)).parse(read)
    check_time_limit()
    return tree


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
def load_language(grammar: str) -> "Language":
    from tree_sitter import Language

    described = GRAMMARS[grammar]
    return Language(getattr(import_module(described.package), described.function)())


@cache
def _load_query(grammar: str, query: str) -> "Query":
    from tree_sitter import Query

    return Query(load_language(grammar), query)


@dataclass(frozen=True, slots=True)
class _Scope:
    """What a definition is inside of: where that ends, and the names down to it."""

    end: int
    names: tuple[str, ...]
    in_function: bool


def _definitions(matches: list[Captures], source: bytes) -> Iterator[Definition]:
    """In source order, without the local variables of functions and without what was imported."""
    around = [_Scope(len(source) + 1, (), in_function=False)]
    for found in _found(matches, source):
        while around[-1].end <= found.start:
            around.pop()
        outer = around[-1]
        names = outer.names or ((found.container,) if found.container else ())
        is_local = found.kind == "variable" and outer.in_function and not found.is_member
        if found.kind and not is_local:
            yield Definition(found.name, found.kind, found.line, found.signature, ".".join(names))
        if found.kind != "variable":
            inner = (*outer.names, *filter(None, [found.name]))[:MAX_NESTING]
            # what is assigned in a class is part of it, wherever the class is
            is_inside = outer.in_function and found.kind != "class"
            in_function = is_inside or found.kind == "function" or not found.name
            around.append(_Scope(found.end, inner, in_function=in_function))


def _found(matches: list[Captures], source: bytes) -> list[_Found]:
    """Outer definitions first. If several queries match a name, a function or class wins over a variable."""
    best: dict[int, _Found] = {}
    nameless: list[_Found] = []
    imported = find_imported_names(matches, source)
    for captures in matches:
        nameless += [
            _Found(node.start_byte, node.end_byte, "", None, 0, "", "")
            for node in captures.get("locals", [])
        ]
        for kind in (*_KINDS, None):
            for node in captures.get(kind or "scope", []):
                for name in captures.get("name", []):
                    known = best.get(name.start_byte)
                    if kind == "variable" and (name.start_byte in imported or _is_extern(node)):
                        continue
                    if known is None or known.kind == "variable":
                        best[name.start_byte] = _describe(node, name, kind, captures, source)
    named = (found for found in best.values() if found.name not in {"", "_"})
    return sorted([*named, *nameless], key=lambda found: (found.start, -found.end))


def _is_extern(node: "Node") -> bool:
    """`extern int x;` says that x is defined elsewhere."""
    if node.type != "declaration" or node.child_count == 0:
        return False
    first = node.children[0]
    is_extern = first.type == "storage_class_specifier" and first.end_byte - first.start_byte == 6
    return is_extern and first.child_count > 0 and first.children[0].type == "extern"


def _describe(
    node: "Node", name: "Node", kind: DefinitionKind | None, captures: Captures, source: bytes
) -> _Found:
    return _Found(
        start=node.start_byte,
        end=node.end_byte,
        name=_bare(text_of(name, source)),
        kind=kind,
        line=name.start_point[0] + 1,
        signature=_signature(node, source),
        container="".join(_bare(text_of(outer, source)) for outer in captures.get("container", [])),
        is_member=node.type in _MEMBERS,
    )


def _signature(node: "Node", source: bytes) -> str:
    """The source from its modifiers (`export`, `pub`) to the body or the end of the first line."""
    start = node.start_byte
    first = line_start(source, start, MAX_MODIFIERS)
    if first is not None and _MODIFIERS.fullmatch(source, first, start):
        start = first
    value = node.child_by_field_name("value")
    body = node.child_by_field_name("body") or (value and value.child_by_field_name("body"))
    if body:
        return shorten(source[start : min(body.start_byte, start + MAX_LINE)]).rstrip("{ ")
    return shorten(source[start : line_end(source, start)]).rstrip("{; ")


def _bare(name: str) -> str:
    """The name without quotes, pointers and type parameters."""
    if name[:1] in {'"', "'"}:
        return name.strip("'\"")
    return name.strip("*&'\"` ").partition("<")[0].partition("[")[0].rpartition("::")[2]
