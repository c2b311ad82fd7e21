"""From source to symbols. A file that cannot be parsed has none; it never fails a call."""

from contextlib import suppress

from idea_explorer.domain.code import ParsedCode
from idea_explorer.tools.code.parsing.python import parse_python
from idea_explorer.tools.code.parsing.treesitter import parse_with_grammar

# what Python's parser raises for text that is not today's Python, or too deeply nested
_REFUSED = (SyntaxError, ValueError, RecursionError, MemoryError)


def parse(grammar: str, source: bytes) -> ParsedCode:
    if grammar == "python":
        with suppress(*_REFUSED):
            return parse_python(source)
    return parse_with_grammar(grammar, source)
