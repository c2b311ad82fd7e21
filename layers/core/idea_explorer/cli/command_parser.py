"""The parser of every command. For a word that it does not know, it suggests the one that was meant."""

import argparse
from collections.abc import Iterable
from typing import Any, NoReturn

NUMBERS: dict[Any, str] = {int: "a whole number", float: "a number"}


class CommandParser(argparse.ArgumentParser):
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
        given = next((word for word in unknown if word.startswith("--")), "").partition("=")[0]
        options = [name for name in self.options if name.startswith("--")]
        self.error(f"unrecognized arguments: {' '.join(unknown)}{suggest(given, options)}")

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
            self.error(f"there is no command {named} See them with: {self.prog} --help")
        self.error(f"{self._name(action)} cannot be {named} Choose one of: {', '.join(choices)}.")

    def _name(self, action: argparse.Action) -> str:
        return "/".join(action.option_strings) or action.metavar or action.dest  # type: ignore[return-value]


def suggest(given: str, known: Iterable[str]) -> str:
    """` Did you mean …?` for a word that is close to a known one, else nothing."""
    from difflib import get_close_matches

    found = get_close_matches(given, [*known], n=1) if given else []
    return f". Did you mean '{found[0]}'?" if found else ""
