"""Where a source file uses a name: in its code, and not in its comments and strings."""

from contextlib import suppress
from functools import cache, partial
from typing import TYPE_CHECKING

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
    "constant name variable_name instance_variable class_variable global_variable simple_symbol".split()
)


def find_uses(grammar: str, source: bytes, name: bytes, at: list[int]) -> list[int] | None:
    """Of the places that have a name, those at which the parser sees one; None if it takes too long."""
    if grammar in {"vue", "svelte"}:
        grammar, source = extract_scripts(source)
    if len(source) > MAX_SOURCE:
        return None
    with suppress(TimeLimitExceededError):
        find = partial(_find, grammar, source, name, at)
        return run_with_time_limit(find, FILE_SECONDS, name="references")
    check_time_limit()
    return None


def _find(grammar: str, source: bytes, name: bytes, at: list[int]) -> list[int]:
    from tree_sitter import QueryCursor

    root = parse_tree(grammar, source).root_node
    cursor = QueryCursor(_names_query(grammar))
    found: set[int] = set()
    for part in sorted({place // QUERY_BYTES for place in at}):
        check_time_limit()
        cursor.set_byte_range(part * QUERY_BYTES, (part + 1) * QUERY_BYTES)
        for node in cursor.captures(root).get("name", []):
            if source[node.start_byte : node.end_byte].lstrip(b"$@:#") == name:
                found.add(node.end_byte - len(name))
    return sorted(found.intersection(at))


@cache
def _names_query(grammar: str) -> "Query":
    """Every kind of name that the grammar has."""
    from tree_sitter import Query

    language = load_language(grammar)
    kinds = {
        kind
        for number in range(language.node_kind_count)
        if language.node_kind_is_named(number)
        and language.node_kind_is_visible(number)
        and (kind := language.node_kind_for_id(number))
        and (kind.endswith("identifier") or kind in _OTHER_NAMES)
    }
    return Query(language, "\n".join(f"({kind}) @name" for kind in sorted(kinds)))
