"""The question at the terminal about a change that a run proposes."""

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from idea_explorer.api.approvals import ApprovalView
from idea_explorer.cli.approvals import ask_for_decision
from idea_explorer.domain.checks import CheckResult

DANGER = "runs when somebody builds or installs"


def _change(danger: str | None) -> ApprovalView:
    return ApprovalView(
        id="a",
        status="pending",
        path="Makefile" if danger else "notes.md",
        kind="edit",
        danger=danger,
        description="Renew it",
        diff="-old\n+new\n",
        base_sha=None,
        content_hash="0",
        content="new\n",
        edited=False,
        reason=None,
        requested_at=datetime(2026, 11, 17, tzinfo=UTC),
        decided_at=None,
        decided_by=None,
    )


def _type(monkeypatch: pytest.MonkeyPatch, *words: str) -> Iterator[str]:
    """What the person types, line by line; then they go away."""
    typed = iter(words)

    def read() -> str:
        try:
            return next(typed)
        except StopIteration:
            raise EOFError from None

    monkeypatch.setattr("builtins.input", read)
    return typed


def test_an_ordinary_change_is_approved_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    _type(monkeypatch, "a")

    decision = ask_for_decision(_change(None))

    assert decision is not None
    assert (decision.decision, decision.confirm_danger) == ("approve", False)


@pytest.mark.parametrize("word", ["yes", "YES", " yes "])
def test_a_dangerous_change_is_approved_by_a_second_word(
    word: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _type(monkeypatch, "a", word)

    decision = ask_for_decision(_change(DANGER))

    assert decision is not None
    assert (decision.decision, decision.confirm_danger) == ("approve", True)
    said = capsys.readouterr().err
    assert f"Careful! Makefile {DANGER}. Type yes to approve it: " in said


@pytest.mark.parametrize("word", ["", "a", "y", "ye", "yes!", "no"])
def test_any_other_word_approves_nothing_and_asks_again(
    word: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    left = _type(monkeypatch, "a", word, "r", "Not this way.")

    decision = ask_for_decision(_change(DANGER))

    assert decision is not None
    assert (decision.decision, decision.reason) == ("reject", "Not this way.")
    assert [*left] == []


def test_an_edited_dangerous_change_takes_the_second_word_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("VISUAL", "true")  # an editor that changes nothing
    _type(monkeypatch, "e", "no", "e", "yes")

    decision = ask_for_decision(_change(DANGER))

    assert decision is not None
    assert (decision.content, decision.confirm_danger) == ("new\n", True)


def test_whoever_goes_away_at_the_second_question_has_decided_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _type(monkeypatch, "a")

    assert ask_for_decision(_change(DANGER)) is None


def test_what_the_checks_said_stands_beside_the_change(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _type(monkeypatch, "l")
    printed = "".join(f"line {number}\n" for number in range(1, 51)) + "\x1b[2Jwiped\n"
    checks = [
        CheckResult(name="lint", outcome="passed", detail="Exit code 0.", output="fine\n"),
        CheckResult(name="test", outcome="failed", detail="Exit code 2.", output=printed),
    ]

    ask_for_decision(_change(None).model_copy(update={"checks": checks}))

    said = capsys.readouterr().err
    assert "check lint: passed. Exit code 0." in said
    assert "fine" not in said
    assert "check test: failed. Exit code 2.\n  line 32\n" in said
    assert "\x1b[2J" not in said
    assert said.index("check test") < said.index("+new")


def test_commands_are_shown_and_cannot_be_edited(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _type(monkeypatch, "e", "a", "yes")
    danger = "names commands that run on people's machines"
    commands = {"kind": "checks", "diff": "", "content": "test: make test\nlint: make lint\n"}

    decision = ask_for_decision(_change(danger).model_copy(update=commands))

    assert decision is not None
    assert (decision.decision, decision.content) == ("approve", None)
    assert decision.confirm_danger
    assert "test: make test\nlint: make lint\n" in capsys.readouterr().err
