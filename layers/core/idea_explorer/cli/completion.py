"""`idea completion`: scripts for shells, which ask this program what may follow the words so far."""

import argparse
from collections.abc import Iterator, Sequence
from typing import get_args

from idea_explorer.cli.command_parser import CommandParser
from idea_explorer.cli.parser import build_parser
from idea_explorer.cli.user_parser import TOPICS
from idea_explorer.domain.run import Status
from idea_explorer.domain.toolsets import TOOLSETS

MAX_IDS = 20
SCRIPTS = {
    "bash": """\
_idea() {
    local IFS=$'\\n'
    COMPREPLY=($(idea completion bash -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _idea idea
""",
    "zsh": """\
#compdef idea
_idea() {
    local -a found
    found=("${(@f)$(idea completion zsh -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
    if [[ -n "$found" ]]; then
        compadd -a found
    else
        _files
    fi
}
compdef _idea idea
""",
    "fish": """\
function __idea_complete
    set -l words (commandline -opc)
    set -l begun (commandline -ct)
    idea completion fish -- $words[2..] "$begun" 2>/dev/null
end
complete --command idea --arguments '(__idea_complete)'
""",
}
# What the options and arguments take that argparse does not know.
VALUES = {
    "toolset": [*TOOLSETS],
    "depth": ["quick", "standard", "deep"],
    "model": ["sonnet", "opus", "haiku"],
    "effort": ["low", "medium", "high"],
    "if_exists": ["run", "reuse"],
    "status": [*get_args(Status)],
}


def run(arguments: argparse.Namespace) -> int:
    if not arguments.words:
        print(SCRIPTS[arguments.shell], end="")
        return 0
    words = arguments.words[1:] if arguments.words[0] == "--" else arguments.words
    for candidate in list_candidates(words or [""]):
        print(candidate)
    return 0


def list_candidates(words: Sequence[str]) -> Iterator[str]:
    """What may stand where the last of the words is, which is only its beginning."""
    *before, begun = words
    parser, arguments = _find_command(build_parser(), before)
    for candidate in _list_all(parser, arguments, begun):
        if candidate.startswith(begun):
            yield candidate


def _find_command(parser: CommandParser, words: Sequence[str]) -> tuple[CommandParser, list[str]]:
    """The innermost command that the words name, and the words after it."""
    rest = [*words]
    while rest and rest[0] in parser.commands:
        parser = parser.commands[rest.pop(0)]
    return parser, rest


def _list_all(parser: CommandParser, words: list[str], begun: str) -> Iterator[str]:
    option = parser.options.get(words[-1]) if words else None
    if option is not None and option.nargs != 0:
        yield from _list_values(option, begun)
    elif begun.startswith("-"):
        yield from (name for name in parser.options if name.startswith("--"))
    elif parser.commands:
        yield from () if words else parser.commands
    elif not words:
        yield from (
            value for action in parser.positionals[:1] for value in _list_values(action, begun)
        )


def _list_values(action: argparse.Action, begun: str) -> Iterator[str]:
    if action.dest in {"id", "continue_from"}:
        yield from _list_ids(begun)
    elif action.dest == "topic":
        yield from (*TOPICS, *build_parser().commands)
    else:
        yield from map(str, action.choices or VALUES.get(action.dest) or ())


def _list_ids(begun: str) -> Iterator[str]:
    """As `idea list` shows them, and whole where somebody begins to type one. Of this machine only: a key of
    the keyboard must not wait for a network."""
    from contextlib import suppress

    from idea_explorer.cli.targets.ids import LAST, shorten_ids
    from idea_explorer.cli.targets.local import LocalTarget
    from idea_explorer.domain.errors import ExplorerError

    yield LAST
    with suppress(ExplorerError):
        rows = LocalTarget.in_folder(None).list_explorations(limit=MAX_IDS)["explorations"]
        assert isinstance(rows, list)
        ids = [str(row["id"]) for row in rows if isinstance(row, dict)]
        yield from shorten_ids(ids).values()
        yield from ids if begun else ()
