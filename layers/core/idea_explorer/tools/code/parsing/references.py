"""Where a source file uses a name: in its code, and not in its comments and strings."""

from bisect import bisect_left
from contextlib import suppress
from functools import cache, partial
from typing import TYPE_CHECKING, NamedTuple

from idea_explorer.domain.deadline import (
    TimeLimitExceededError,
    check_time_limit,
    run_with_time_limit,
)
from idea_explorer.tools.code.parsing.components import extract_scripts
from idea_explorer.tools.code.parsing.treesitter import (
    FILE_SECONDS,
    MAX_SOURCE,
    QUERY_BYTES,
    load_language,
    parse_tree,
)

if TYPE_CHECKING:
    from tree_sitter import Query

# Names that do not end in `identifier`, as most of them do.
_OTHER_NAMES = frozenset(
    "constant name variable_name instance_variable class_variable global_variable simple_symbol"
    " hash_key_symbol".split()
)
# Code that the parser takes for plain text.
_UNPARSED = "preproc_arg"


class Uses(NamedTuple):
    """Where the parser sees a name, and where the name is in code that it does not parse, in order."""

    parsed: list[int]
    unparsed: list[int]


def find_uses(grammar: str, source: bytes, name: bytes, at: list[int]) -> Uses | None:
    """Of the places that have a name, in order, those at which it is used; None if it takes too long."""
    outside: list[int] = []
    if grammar in {"vue", "svelte"}:
        grammar, source = extract_scripts(source)
        outside = [place for place in at if not source.startswith(name, place)]
    if len(source) > MAX_SOURCE:
        return None
    with suppress(TimeLimitExceededError):
        find = partial(_find, grammar, source, name, at)
        uses = run_with_time_limit(find, FILE_SECONDS, name="references")
        return Uses(uses.parsed, sorted([*uses.unparsed, *outside]))
    check_time_limit()
    return None


def _find(grammar: str, source: bytes, name: bytes, at: list[int]) -> Uses:
    from tree_sitter import QueryCursor

    root = parse_tree(grammar, source).root_node
    cursor = QueryCursor(_names_query(grammar))
    found: set[int] = set()
    unparsed: set[int] = set()
    for part in sorted({place // QUERY_BYTES for place in at}):
        check_time_limit()
        cursor.set_byte_range(part * QUERY_BYTES, (part + 1) * QUERY_BYTES)
        captures = cursor.captures(root)
        for node in captures.get("name", []):
            if source[node.start_byte : node.end_byte].lstrip(b"$@:#") == name:
                found.add(node.end_byte - len(name))
        for node in captures.get("unparsed", []):
            unparsed.update(at[bisect_left(at, node.start_byte) : bisect_left(at, node.end_byte)])
    return Uses(sorted(found.intersection(at)), sorted(unparsed - found))


@cache
def _names_query(grammar: str) -> "Query":
    """Every kind of name that the grammar has, and code that it does not parse."""
    from tree_sitter import Query

    language = load_language(grammar)
    kinds = {
        kind
        for number in range(language.node_kind_count)
        if language.node_kind_is_named(number)
        and language.node_kind_is_visible(number)
        and (kind := language.node_kind_for_id(number))
    }
    names = sorted(kind for kind in kinds if kind.endswith("identifier") or kind in _OTHER_NAMES)
    patterns = [f"({kind}) @name" for kind in names]
    patterns += [f"({_UNPARSED}) @unparsed"] if _UNPARSED in kinds else []
    return Query(language, "\n".join(patterns))
