"""The commands in the documentation exist and work, and every command is documented."""

import argparse
import re
import shlex
import shutil
from collections.abc import Iterator
from contextlib import redirect_stderr
from functools import cache
from io import StringIO
from pathlib import Path

import pytest

from idea_explorer.cli.parser import build_parser
from scripts import record_terminal
from tests.fakes.command import idea

ROOT = Path(__file__).parents[3]
PAGES = ["README.md", "examples/README.md", "examples/music/README.md", *(
    f"docs/{page.name}" for page in sorted((ROOT / "docs").glob("*.md"))
)]  # fmt: skip
README = (ROOT / "README.md").read_text("utf-8")
MAX_PICTURE_BYTES = 200_000
_PLACEHOLDER = re.compile(r"\b(ID|IDEA|NAME|FILE)\b|~")
_FENCE = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)
_SPAN = re.compile(r"`(idea [^`]+)`")
_IN_LINE = re.compile(r"(?:^|\| |\s)(idea [a-z].*)$")
parser = cache(build_parser)  # which takes longer than a command


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
            return parser().parse_args(shlex.split(command)[1:])
    except SystemExit:
        named_only = len(command.split()) <= 3 and "arguments are required" in said.getvalue()
        return argparse.Namespace() if named_only else None


@pytest.mark.parametrize("page", PAGES)
def test_every_command_of_a_page_is_one_that_there_is(page: str) -> None:
    wrong = [command for command in commands_of(page) if understood(command) is None]
    assert wrong == []


def test_the_page_of_commands_names_every_command() -> None:
    commands = " ".join(commands_of("docs/commands.md"))
    known = next(
        action.choices
        for action in parser()._actions
        if isinstance(action, argparse._SubParsersAction)
    )
    assert [name for name in known if f"idea {name}" not in commands] == []


@pytest.fixture
def demo_folder(tmp_path: Path) -> Path:
    """What `make demo` leaves behind: the sample research in demo/."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    shutil.copytree(ROOT / "examples" / "ideas", tmp_path / "demo" / "ideas")
    return tmp_path


@pytest.mark.long
def test_the_examples_work_without_a_key_and_write_only_to_the_demo(demo_folder: Path) -> None:
    runs = [
        command
        for page in ("README.md", "docs/commands.md")
        for command in commands_of(page)
        if command.startswith(("idea explore", "idea tool ", "idea index"))
        and not _PLACEHOLDER.search(command)
        and len(command.split()) > 2  # a name alone is no call
    ]
    toolsets = {understood(command).toolset for command in runs if "explore" in command}  # type: ignore[union-attr]
    assert toolsets == {None, "assistant", "code", "discover"}  # None is research, the default

    for command in runs:
        done = idea(*shlex.split(command)[1:], env={}, folder=demo_folder)
        assert done.returncode == 0, f"{command}: {done.stderr}"
    assert "No indexed track" not in done.stdout
    assert {entry.name for entry in demo_folder.iterdir()} == {"demo", "examples", ".idea-explorer"}


def test_the_demo_prints_what_the_readme_shows(demo_folder: Path) -> None:
    """Line by line but for numbers, such as those of tokens. `make screens` draws it again."""
    recipe = (ROOT / "Makefile").read_text("utf-8")
    command = re.search(r"^\t@\$\(BIN\)/idea (explore .*)", recipe, re.MULTILINE)
    picture = (ROOT / "docs" / "images" / "terminal.svg").read_text("utf-8")
    assert command
    assert shlex.split(command[1]) == record_terminal.COMMAND
    assert "docs/images/terminal.svg" in README

    drawn = record_terminal.draw(record_terminal.record())

    assert _without_numbers(drawn) == _without_numbers(picture), "Run 'make screens'."
    assert idea(*record_terminal.COMMAND, env={}, folder=demo_folder).returncode == 0
    for command_after in re.findall(r"^idea ((?:list|report) .*)", README, re.MULTILINE):
        seen = idea(*shlex.split(command_after), env={}, folder=demo_folder)
        assert (seen.returncode, "urban beekeepers" in seen.stdout) == (0, True), command_after


def _without_numbers(text: str) -> str:
    return re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4,12}){4}|[0-9][0-9,.]*", "N", text)


def test_the_pictures_of_the_readme_are_small_and_there() -> None:
    drawn = re.findall(r"!\[[^]]+\]\((.*?)\)", README)
    pictures = {*drawn, *re.findall(r'(?:src|srcset)="(.*?)"', README)}

    assert {"docs/images/console.png", "docs/images/console-dark.png"} <= pictures
    for picture in pictures:
        assert 0 < (ROOT / picture).stat().st_size < MAX_PICTURE_BYTES
