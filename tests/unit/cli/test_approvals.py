"""The question at the terminal about a change that a run proposes."""

import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from idea_explorer.api.approvals import ApprovalPreview, ApprovalView
from idea_explorer.cli import decisions
from idea_explorer.cli.streams import print_coloured
from idea_explorer.domain.checks import CheckResult
from idea_explorer.domain.diffs import unified_diff
from idea_explorer.usecases.approvals.decide import DecisionRequest, EditRequest

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


def preview(edit: EditRequest) -> ApprovalPreview:
    return ApprovalPreview(diff=f"-old\n+{edit.content or edit.hunks}\n", content_hash="shown")


def ask_for_decision(approval: ApprovalView) -> DecisionRequest | None:
    return decisions.ask_for_decision(approval, preview)


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
    _type(monkeypatch, "e", "a", "no", "a", "yes")

    decision = ask_for_decision(_change(DANGER))

    assert decision is not None
    assert (decision.content, decision.confirm_danger) == ("new\n", True)


def test_an_edit_is_shown_as_a_diff_before_it_is_approved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\necho mine > "$1"\n')
    editor.chmod(0o755)
    monkeypatch.setenv("VISUAL", str(editor))
    _type(monkeypatch, "e")
    assert ask_for_decision(_change(None)) is None  # they went away at the second question
    assert "+mine" in capsys.readouterr().err

    _type(monkeypatch, "e", "a")
    decision = ask_for_decision(_change(None))

    assert decision is not None
    assert (decision.content, decision.content_hash) == ("mine\n", "shown")


TWO_HUNKS = unified_diff("notes.md", "a\n" + "x\n" * 20 + "b\n", "A\n" + "x\n" * 20 + "B\n")


def test_hunks_are_chosen_one_by_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    change = _change(None).model_copy(update={"diff": TWO_HUNKS})
    _type(monkeypatch, "h", "n", "y", "a")

    decision = ask_for_decision(change)

    assert decision is not None
    assert (decision.hunks, decision.content_hash) == ([2], "shown")
    said = capsys.readouterr().err
    assert "hunk 1 of 2" in said
    assert "Take hunk 2 of 2? [y/N, or all that you take: 1,2] " in said


def test_hunks_are_chosen_by_their_numbers_and_what_is_not_understood_is_asked_again(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    change = _change(None).model_copy(update={"diff": TWO_HUNKS})
    _type(monkeypatch, "h", "maybe", "3", "-", "1,2", "a")

    decision = ask_for_decision(change)

    assert decision is not None
    assert decision.hunks == [1, 2]
    assert capsys.readouterr().err.count("Answer y or n, or with numbers from 1 to 2.") == 3


def test_an_edit_begins_with_the_hunks_that_were_chosen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\necho c >> "$1"\n')
    editor.chmod(0o755)
    monkeypatch.setenv("VISUAL", str(editor))
    proposed = "A\n" + "x\n" * 20 + "B\n"
    change = _change(None).model_copy(update={"diff": TWO_HUNKS, "content": proposed})
    _type(monkeypatch, "h", "2", "e", "a")

    decision = ask_for_decision(change)

    assert decision is not None
    assert (decision.content, decision.hunks) == ("a\n" + "x\n" * 20 + "B\nc\n", None)


def test_without_a_choice_of_hunks_the_whole_change_is_asked_for_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    change = _change(None).model_copy(update={"diff": TWO_HUNKS})
    _type(monkeypatch, "h", "n", "n", "a")

    decision = ask_for_decision(change)

    assert decision is not None
    assert (decision.hunks, decision.content) == (None, None)


HIDING = ["\u2028", "\u2029", "\u0085", "\f", "\v", "\r", "\u202e", "\u2066", "\x1b[2K", "\u200b"]


@pytest.mark.parametrize("hiding", HIDING, ids=ascii)
@pytest.mark.parametrize("before", ["", " ", "\n "])
def test_no_character_makes_a_new_line_look_like_another_or_hides_it(
    hiding: str, before: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The attack: what follows the separator would look like a line of context."""
    new = f"safe(){hiding}{before}run_attack()\n"
    change = _change(None).model_copy(update={"diff": unified_diff("a.py", "safe()\n", new)})

    print_coloured(decisions.format_change(change), sys.stdout)

    shown = capsys.readouterr().out
    lines = shown.split("\n")
    assert [line for line in shown.splitlines() if "run_attack" in line] == [
        line for line in lines if "run_attack" in line
    ]
    assert all(line.startswith("+") for line in lines if "run_attack" in line)
    assert hiding not in shown
    assert f"{ord(hiding[0]):x}" in next(line for line in lines if line.startswith("+safe()"))


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
    assert "check test: failed. Exit code 2.\n  … 31 more lines before these\n  line 32\n" in said
    assert "\x1b[2J" not in said
    assert said.index("check test") < said.index("+new")


def test_one_line_of_a_check_that_is_left_out_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _type(monkeypatch, "l")
    check = CheckResult(name="test", outcome="failed", detail="Exit code 2.", output="x\n" * 21)

    ask_for_decision(_change(None).model_copy(update={"checks": [check]}))

    assert "\n  … 1 more line before these\n" in capsys.readouterr().err


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
