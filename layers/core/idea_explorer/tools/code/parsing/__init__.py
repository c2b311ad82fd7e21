"""Parsing source code into symbols. A file that cannot be parsed has none."""

from contextlib import suppress

from idea_explorer.domain.code import ParsedCode
from idea_explorer.tools.code.parsing.python import parse_python
from idea_explorer.tools.code.parsing.treesitter import parse_with_grammar

# what Python's parser raises for invalid or deeply nested code
_REFUSED = (SyntaxError, ValueError, RecursionError, MemoryError)


def parse(grammar: str, source: bytes) -> ParsedCode:
    if grammar == "python":
        with suppress(*_REFUSED):
            return parse_python(source)
    return parse_with_grammar(grammar, source)
