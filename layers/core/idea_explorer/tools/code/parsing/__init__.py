"""The language of a file, and its symbols. A file that cannot be parsed has none."""

import ast
import warnings
from collections.abc import Iterator
from contextlib import suppress

from idea_explorer.domain.code import Definition, Import, ParsedCode
from idea_explorer.tools.code.parsing.components import extract_scripts
from idea_explorer.tools.code.parsing.modules import shorten
from idea_explorer.tools.code.parsing.treesitter import parse_with_grammar

_BY_ENDING = {
    "bash": "sh bash zsh",
    "c": "c h",
    "cpp": "cc cpp cxx hh hpp hxx",
    "csharp": "cs",
    "css": "css",
    "dart": "dart",
    "elixir": "ex exs",
    "go": "go",
    "graphql": "graphql gql",
    "html": "html htm",
    "ini": "ini cfg conf",
    "java": "java",
    "javascript": "js jsx mjs cjs",
    "json": "json",
    "kotlin": "kt kts",
    "less": "less",
    "lua": "lua",
    "markdown": "md markdown mdx",
    "perl": "pl pm",
    "php": "php",
    "protobuf": "proto",
    "python": "py pyi pyw",
    "r": "r",
    "restructuredtext": "rst",
    "ruby": "rb rake gemspec",
    "rust": "rs",
    "scala": "scala",
    "scss": "scss",
    "sql": "sql",
    "svelte": "svelte",
    "swift": "swift",
    "terraform": "tf",
    "toml": "toml",
    "typescript": "ts tsx mts cts",
    "vue": "vue",
    "xml": "xml svg",
    "yaml": "yaml yml",
}
_BY_NAME = {
    "dockerfile": "dockerfile",
    "gemfile": "ruby",
    "jenkinsfile": "groovy",
    "makefile": "makefile",
    "rakefile": "ruby",
}
LANGUAGES = {ending: name for name, endings in _BY_ENDING.items() for ending in endings.split()}

# TSX is a grammar of its own; JSX is part of JavaScript's. Vue and Svelte have their scripts parsed.
_GRAMMARS = frozenset(
    "c cpp csharp go java javascript kotlin php python ruby rust svelte typescript vue".split()
)
# Source code for which there is no parser.
UNPARSED = frozenset(
    "bash dart elixir groovy lua perl protobuf r scala sql swift terraform".split()
)


def language_of(path: str) -> str:
    name = path.rpartition("/")[2].lower()
    return _BY_NAME.get(name) or LANGUAGES.get(_ending(name), "text")


def grammar_of(path: str) -> str | None:
    """The parser for a file; None if there is none."""
    if _ending(path) == "tsx":
        return "tsx"
    language = language_of(path)
    return language if language in _GRAMMARS else None


def _ending(name: str) -> str:
    return name.rpartition(".")[2].lower() if "." in name else ""


# Python's own parser holds the interpreter until it is done: a tenth of a second for so much.
MAX_AST_BYTES = 100_000
MAX_STATEMENT = 1_600  # bytes of a line, of which fewer are shown
MAX_STATEMENT_LINES = 20
# what Python's parser raises for invalid or deeply nested code
_REFUSED = (SyntaxError, ValueError, RecursionError, MemoryError)


def parse(grammar: str, source: bytes) -> ParsedCode:
    if grammar == "python" and len(source) <= MAX_AST_BYTES:
        with suppress(*_REFUSED):
            return parse_python(source)
    if grammar in {"vue", "svelte"}:
        grammar, source = extract_scripts(source)
    return parse_with_grammar(grammar, source)


_FILE = "<repository>"
_BODIES = ("body", "orelse", "finalbody", "handlers", "cases")
_Function = ast.FunctionDef | ast.AsyncFunctionDef
_TypeAlias = getattr(
    ast, "TypeAlias", ()
)  # from Python 3.12; earlier, the grammar reads `type X = …`


def parse_python(source: bytes) -> ParsedCode:
    """Raises SyntaxError or ValueError for invalid code, RecursionError for deep nesting."""
    warnings.filterwarnings("ignore", category=SyntaxWarning, module=_FILE)
    module = ast.parse(source, _FILE)
    lines = source.split(b"\n")
    found = [*_walk(module, "", lines, in_function=False)]
    return ParsedCode(
        definitions=tuple(item for item in found if isinstance(item, Definition)),
        imports=tuple(item for item in found if isinstance(item, Import)),
    )


def _walk(
    scope: ast.AST, container: str, lines: list[bytes], *, in_function: bool
) -> Iterator[Definition | Import]:
    """Statements only: an expression neither defines nor imports a name."""
    for field in _BODIES:
        for node in getattr(scope, field, ()):
            match node:
                case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                    is_class = isinstance(node, ast.ClassDef)
                    yield Definition(
                        node.name,
                        "class" if is_class else "function",
                        node.lineno,
                        _signature(node, lines),
                        container,
                    )
                    inner = f"{container}.{node.name}" if container else node.name
                    yield from _walk(node, inner, lines, in_function=not is_class)
                case ast.Import() | ast.ImportFrom():
                    yield from _imports(node, lines)
                case ast.Assign() | ast.AnnAssign() if not in_function:
                    text = shorten(lines[node.lineno - 1])
                    for name in _assigned(node):
                        yield Definition(name, "variable", node.lineno, text, container)
                case _ if isinstance(node, _TypeAlias):
                    text = shorten(lines[node.lineno - 1])
                    yield Definition(node.name.id, "class", node.lineno, text, container)
                case _:
                    yield from _walk(node, container, lines, in_function=in_function)


def _signature(node: _Function | ast.ClassDef, lines: list[bytes]) -> str:
    """The source from `def` or `class` up to its body."""
    body = node.body[0]
    first, last = node.lineno - 1, body.lineno - 1
    if first == last:
        text = lines[first][node.col_offset : body.col_offset]
    else:
        text = b" ".join([lines[first][node.col_offset :], *lines[first + 1 : last]])
    return shorten(text).rstrip().removesuffix(":")


def _assigned(node: ast.Assign | ast.AnnAssign) -> Iterator[str]:
    targets: list[ast.expr] = [*node.targets] if isinstance(node, ast.Assign) else [node.target]
    while targets:
        match targets.pop():
            case ast.Name(id=name):
                yield name
            case ast.Tuple(elts=inner) | ast.List(elts=inner):
                targets.extend(inner)


def _imports(node: ast.Import | ast.ImportFrom, lines: list[bytes]) -> Iterator[Import]:
    first = node.lineno - 1
    last = min(node.end_lineno or node.lineno, first + MAX_STATEMENT_LINES)
    # parts of lines: thousands of imports can be on a single one
    statement = shorten(b" ".join(line[:MAX_STATEMENT] for line in lines[first:last]))
    if isinstance(node, ast.Import):
        for alias in node.names:
            target = alias.name.replace(".", "/")
            bound = alias.asname or alias.name.partition(".")[0]
            yield Import(target, node.lineno, statement, bound=bound)
        return
    module = (node.module or "").replace(".", "/")
    yield Import(module, node.lineno, statement, node.level)
    for alias in node.names:
        if alias.name != "*":
            target = f"{module}/{alias.name}" if module else alias.name
            bound = alias.asname or alias.name
            yield Import(target, node.lineno, statement, node.level, bound)
