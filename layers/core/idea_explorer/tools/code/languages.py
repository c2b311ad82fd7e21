"""The language of a file and the parser for it, from its name."""

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

# TSX is a grammar of its own; JSX is part of JavaScript's
_GRAMMARS = {"c", "go", "java", "javascript", "python", "rust", "typescript"}


def language_of(path: str) -> str:
    name = path.rpartition("/")[2].lower()
    return _BY_NAME.get(name) or LANGUAGES.get(_ending(name), "text")


def grammar_of(path: str) -> str | None:
    """The parser for a file; None if there is none."""
    ending = _ending(path)
    if ending == "tsx":
        return "tsx"
    language = LANGUAGES.get(ending)
    return language if language in _GRAMMARS else None


def _ending(name: str) -> str:
    return name.rpartition(".")[2].lower() if "." in name else ""
