"""The pages of `idea help` say what the program does."""

import pytest

from idea_explorer.agent.prompts import framework
from idea_explorer.cli import main
from idea_explorer.cli.help import PAGES
from idea_explorer.cli.output import EXIT, name_status
from idea_explorer.cli.user_parser import TOPICS


def test_every_topic_has_a_page_that_fits_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    assert set(PAGES) == set(TOPICS)
    for topic in TOPICS:
        assert main(["help", topic]) == 0
        page = capsys.readouterr().out
        assert max(map(len, page.splitlines())) <= 100
        assert "{" not in page


def test_every_status_has_its_exit_code_and_every_verdict_its_meaning() -> None:
    for status in EXIT:
        assert name_status(status) in PAGES["statuses"]
    for verdict in framework("business").verdicts:
        assert f"  {verdict}  " in PAGES["verdicts"]


def test_a_command_is_explained_by_its_own_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help", "report"]) == 0
    assert capsys.readouterr().out.startswith("usage: idea report")


def test_a_topic_that_there_is_not_gets_a_suggestion(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help", "exit-code"]) == 2
    assert "Did you mean 'exit-codes'?" in capsys.readouterr().err
