"""The parser of every command: its help, and for a word that it does not know, the one that was meant."""

import argparse
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NoReturn

from idea_explorer.cli.columns import DEFAULT_COLUMNS, columns_of, fit_page, read_columns

NUMBERS: dict[Any, str] = {int: "a whole number", float: "a number"}
PLAIN_WORDS = {
    ": expected one argument": " needs a value.",
    ": not allowed with argument ": " cannot be used with ",
}
MARGIN = 2  # columns that argparse leaves free
HELP_COLUMN = 31  # columns: the longest option and its value fit before what is said about it


class CommandParser(argparse.ArgumentParser):
    def __init__(self, **options: Any) -> None:
        super().__init__(**options, add_help=False)
        self._positionals.title = "arguments"
        self.add_argument("-h", "--help", action="help", help="show this help")

    def add_commands(
        self, asked: str | None, headings: Mapping[str, Sequence[str]]
    ) -> "argparse._SubParsersAction[CommandParser]":
        """The commands below this one. All are listed, each below its heading, but only the one that is asked
        for has flags; without `asked`, all have."""
        # a name of the program is given, because argparse loads a lot to find it
        commands = self.add_subparsers(
            title="commands", metavar="COMMAND", prog=self.prog, action=_Commands
        )
        commands.asked = asked  # type: ignore[attr-defined]
        commands.headings = headings  # type: ignore[attr-defined]
        return commands

    def format_usage(self) -> str:
        """On one line: the help lists the options, with what each does."""
        formatter = self._get_formatter(f"{self.prog} [options]")
        formatter.add_usage(None, self.positionals, [], prefix="Usage: ")
        return formatter.format_help()

    def format_help(self) -> str:
        """The usage, the commands or arguments, and the options, the common ones last."""
        formatter = self._get_formatter()
        formatter.add_text(self._fit(self.description))
        groups = [group for group in self._action_groups if group is not self._optionals]
        for group in (*groups, self._optionals):
            for title, actions in _split_group(group):
                formatter.start_section(title)
                formatter.add_arguments(actions)
                formatter.end_section()
        formatter.add_text(self._fit(self.epilog))
        return f"{self.format_usage()}\n{formatter.format_help()}"

    def error(self, message: str) -> NoReturn:
        from idea_explorer.cli.failures import BAD_USAGE
        from idea_explorer.cli.streams import warn

        message = message.removeprefix("argument ")
        for theirs, ours in PLAIN_WORDS.items():
            message = message.replace(theirs, ours)
        # a command at the end is copied, so no full stop may follow it
        end = "" if message.endswith((".", "?")) or " with: " in message else "."
        warn(f"{message[:1].upper()}{message[1:]}{end}")
        self.print_usage(sys.stderr)
        self.exit(BAD_USAGE)

    def _get_formatter(self, prog: str = "") -> argparse.HelpFormatter:
        return self.formatter_class(  # type: ignore[call-arg]
            prog=prog or self.prog, width=_find_width() - MARGIN, max_help_position=HELP_COLUMN
        )

    def _fit(self, text: str | None) -> str | None:
        return fit_page(text, _find_width()) if text else text

    @property
    def commands(self) -> "dict[str, CommandParser]":
        """The commands below this one, by name."""
        below = (one for one in self._actions if isinstance(one, argparse._SubParsersAction))  # noqa: SLF001
        return {name: command for action in below for name, command in action.choices.items()}

    @property
    def options(self) -> "dict[str, argparse.Action]":
        return self._option_string_actions

    @property
    def positionals(self) -> "list[argparse.Action]":
        return self._get_positional_actions()

    def refuse_unknown(self, unknown: list[str]) -> NoReturn:
        """End with what was not understood, and the option that was probably meant."""
        given = next((word for word in unknown if word.startswith("-")), "").partition("=")[0]
        if not given:
            self.error(
                f"There are more arguments than expected: {' '.join(unknown)}. Put a text with spaces into"
                " quotation marks."
            )
        options = [name for name in self.options if name.startswith("--")]
        meant = suggest(given, options) or "."
        self.error(f"There is no option '{given}'{meant} See them with: {self.prog} --help")

    def _get_value(self, action: argparse.Action, arg_string: str) -> Any:
        try:
            return super()._get_value(action, arg_string)
        except argparse.ArgumentError:
            if action.type not in NUMBERS:
                raise
            self.error(f"{self._name(action)} takes {NUMBERS[action.type]}, not '{arg_string}'.")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is None or value in action.choices:
            return
        choices = [str(choice) for choice in action.choices]
        named = f"'{value}'{suggest(str(value), choices) or '.'}"
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001  it has no public name
            self.error(f"There is no command {named} See them with: {self.prog} --help")
        self.error(f"{self._name(action)} cannot be {named} Choose one of: {', '.join(choices)}.")

    def _name(self, action: argparse.Action) -> str:
        return "/".join(action.option_strings) or action.metavar or action.dest  # type: ignore[return-value]


def _find_width() -> int:
    return read_columns() or columns_of(sys.__stdout__) or DEFAULT_COLUMNS


def suggest(given: str, known: Iterable[str]) -> str:
    """` Did you mean …?` for a word that is close to a known one, else nothing."""
    from difflib import get_close_matches

    found = get_close_matches(given, [*known], n=1) if given else []
    return f". Did you mean '{found[0]}'?" if found else ""


class _Commands(argparse._SubParsersAction):  # type: ignore[type-arg]  # noqa: SLF001
    """To build the parsers of thirty commands takes longer than all else that printing help does."""

    asked: str | None = None
    headings: Mapping[str, Sequence[str]] = {}

    def add_parser(self, name: str, **options: Any) -> Any:
        if self.asked is None or name == self.asked:
            return super().add_parser(name, **options)
        named = self._ChoicesPseudoAction(name, (), options["help"])
        self._choices_actions.append(named)
        unused: Any = _UnusedParser()
        self.choices[name] = unused
        return unused


def _split_group(
    group: "argparse._ArgumentGroup",
) -> Iterator[tuple[str, list[argparse.Action]]]:
    """The sections of a group in the help. Commands are listed by themselves, without the word for them."""
    actions = group._group_actions  # noqa: SLF001  it has no public name
    commands = next((one for one in actions if isinstance(one, argparse._SubParsersAction)), None)  # noqa: SLF001
    title = str(group.title).capitalize()
    if commands is None:
        yield title, actions
        return
    listed = {action.dest: action for action in commands._choices_actions}  # noqa: SLF001
    headings = commands.headings if isinstance(commands, _Commands) else {title: tuple(listed)}
    for heading, names in headings.items():
        yield heading, [listed[name] for name in names]


class _UnusedParser:
    """The parser of a command that is not asked for: it takes every definition, and keeps none."""

    def __getattr__(self, _: str) -> Any:
        return self

    def __getitem__(self, _: str) -> Any:
        return self

    def __call__(self, *_: object, **__: object) -> Any:
        return self
