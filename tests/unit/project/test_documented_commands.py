"""Every command that the pages name is there, and every command that is there stands in the README."""

import argparse
import re
import shlex
from collections.abc import Iterator
from contextlib import redirect_stderr
from io import StringIO
from pathlib import Path

import pytest

from idea_explorer.cli.parser import build_parser
from tests.fakes.command import idea

ROOT = Path(__file__).parents[3]
PAGES = ["README.md", "examples/README.md", "examples/music/README.md", *(
    f"docs/{page.name}" for page in sorted((ROOT / "docs").glob("*.md"))
)]  # fmt: skip
_FENCE = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)
_SPAN = re.compile(r"`(idea [^`]+)`")
_IN_LINE = re.compile(r"(?:^|\| |\s)(idea [a-z].*)$")


def commands_of(page: str) -> Iterator[str]:
    """The `idea` commands of a page: whole lines of its scripts, and what is quoted in its text."""
    text = (ROOT / page).read_text("utf-8")
    for script in _FENCE.findall(text):
        for line in script.replace("\\\n", " ").splitlines():
            if found := _IN_LINE.search(line.partition("  #")[0]):
                yield found.group(1)
    yield from _SPAN.findall(_FENCE.sub("", text))


def understood(command: str) -> argparse.Namespace | None:
    """The command as it would be run, or None where it would be refused. A name alone is no call."""
    said = StringIO()
    try:
        with redirect_stderr(said):
            return build_parser().parse_args(shlex.split(command)[1:])
    except SystemExit:
        named_only = len(command.split()) <= 3 and "arguments are required" in said.getvalue()
        return argparse.Namespace() if named_only else None


@pytest.mark.parametrize("page", PAGES)
def test_every_command_of_a_page_is_one_that_there_is(page: str) -> None:
    wrong = [command for command in commands_of(page) if understood(command) is None]
    assert wrong == []


def test_the_readme_names_every_command() -> None:
    commands = " ".join(commands_of("README.md"))
    known = next(
        action.choices
        for action in build_parser()._actions
        if isinstance(action, argparse._SubParsersAction)
    )
    assert [name for name in known if f"idea {name}" not in commands] == []


def test_what_the_readme_shows_without_a_key_works(tmp_path: Path) -> None:
    """With the offline model: the examples of the toolsets, the question and the tool by hand."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    shown = [
        command
        for command in commands_of("README.md")
        if command.startswith(("idea explore", "idea tool")) and "IDEA" not in command
    ]
    runs = [command for command in shown if "~" not in command and "NAME" not in command]
    assert len(runs) >= 6

    for command in runs:
        done = idea(*shlex.split(command)[1:], env={}, folder=tmp_path)
        assert done.returncode == 0, f"{command}: {done.stderr}"
