"""The pages of `idea help` say what the program does."""

import re
from pathlib import Path

import pytest

from idea_explorer.agent.prompts import framework
from idea_explorer.cli import main
from idea_explorer.cli.failures import BAD_USAGE
from idea_explorer.cli.help import PAGES
from idea_explorer.cli.output import EXIT, name_status
from idea_explorer.cli.parser import HEADINGS, build_parser
from idea_explorer.cli.user_parser import TOPICS

COMMANDS = (Path(__file__).parents[3] / "docs" / "commands.md").read_text("utf-8")


def test_every_topic_has_a_page_that_fits_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    assert set(PAGES) == set(TOPICS)
    for topic in TOPICS:
        assert main(["help", topic]) == 0
        page = capsys.readouterr().out
        assert max(map(len, page.splitlines())) <= 80
        assert "{" not in page


def test_every_status_has_its_exit_code_and_every_verdict_its_meaning() -> None:
    for status in EXIT:
        assert name_status(status) in PAGES["statuses"]
    for verdict in framework("business").verdicts:
        assert f"  {verdict}  " in PAGES["verdicts"]


def test_the_commands_fit_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["help"]) == 0
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 80


def test_every_command_stands_below_one_heading(capsys: pytest.CaptureFixture[str]) -> None:
    headed = [name for names in HEADINGS.values() for name in names]

    assert sorted(headed) == sorted(build_parser().commands)
    assert main(["help"]) == 0
    shown = capsys.readouterr().out
    assert all(f"\n{heading}:\n  {names[0]} " in shown for heading, names in HEADINGS.items())


@pytest.mark.parametrize("command", ["explore", "submit"])
def test_every_option_of_a_request_is_shown_with_its_kind(
    command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")

    assert main(["help", command]) == 0

    usage, *lines = capsys.readouterr().out.splitlines()
    assert usage == f"Usage: idea {command} [options] [idea]"
    assert max(map(len, lines)) <= 80
    headings = [line for line in lines if line.endswith(":") and not line.startswith(" ")]
    assert headings[0] == "Arguments:"
    assert {"What to do:", "What to build on:", "Where to look:", "Limits:"} <= {*headings}
    listed = {line.split()[0] for line in lines if line.startswith("  --")}
    assert listed == {*build_parser().commands[command].options} - {"-h", "--help"}


def test_the_documentation_has_every_exit_code_and_verdict() -> None:
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in COMMANDS.splitlines()
        if line.startswith("| `")
    ]
    codes = {status: code for names, code, *_ in rows for status in re.findall(r"`(\w+)`", names)}

    for status, code in EXIT.items():
        assert codes[status] == str(code)
    assert f"Exit code {BAD_USAGE} means that the command was used incorrectly" in COMMANDS
    for verdict in framework("business").verdicts:
        meaning = next(row[1] for row in rows if row[0] == f"`{verdict}`")
        shown = " ".join(PAGES["verdicts"].split())
        assert f"{verdict} {meaning}" in shown


def test_a_command_is_explained_by_its_own_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help", "report"]) == 0
    assert capsys.readouterr().out.startswith("Usage: idea report [options] id\n")


def test_a_topic_that_there_is_not_gets_a_suggestion(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help", "exit-code"]) == 2
    assert "Did you mean 'exit-codes'?" in capsys.readouterr().err


def test_a_file_is_called_the_same_in_the_help_and_in_the_documentation() -> None:
    assert "--content FILE" in COMMANDS
    assert " --content FILE   " in PAGES["approvals"]
