"""Without a key, the offline model proposes the change that an idea spells out."""

import json
from pathlib import Path

import pytest

from tests.fakes.in_process import Idea


@pytest.fixture
def idea(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Idea:
    for name in ("IDEA_API_URL", "ANTHROPIC_API_KEY", "GITHUB_TOKEN", "GITHUB_REPOSITORY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("IDEA_RESEARCH_DIR", str(tmp_path))
    (tmp_path / "notes.md").write_text("The colour is green.\n")
    return Idea(capsys)


def explore(idea: Idea, sentence: str) -> str:
    code, out, _ = idea("explore", "--toolset", "code", sentence, "--json", "--quiet")
    outcome = json.loads(out)
    assert (code, outcome["status"]) == (3, "awaiting_approval")
    return str(outcome["id"])


def test_an_edit_is_proposed_approved_and_written(idea: Idea, tmp_path: Path) -> None:
    explore(idea, 'Replace "colour" with "color" in notes.md')
    listed = idea("approve", "last", "--list")[1]
    assert "-The colour is green.\n+The color is green." in listed

    code, out, err = idea("approve", "last", "--json")
    (approved,) = json.loads(out)
    assert (code, err, approved["status"]) == (0, "", "approved")
    assert (tmp_path / "notes.md").read_text() == "The color is green.\n"

    code, out, err = idea("resume", "last")
    assert code == 0
    assert err.startswith('Continuing: Replace "colour"')
    assert "\nso far: 2 steps, $0.0000\n" in err
    assert "estimate:" not in err
    assert "`notes.md`: approved and written" in out
    assert "2 tool calls · " in out


def test_every_place_is_changed_in_as_many_hunks_as_they_are_apart(
    idea: Idea, tmp_path: Path
) -> None:
    before = (
        "The colour.\nThe colour.\n" + "\n" * 9 + "Colours: colour, gray.\r\n" + "\n" * 9 + "gray"
    )
    (tmp_path / "app.py").write_text(before, newline="")
    explore(idea, 'Replace "colour" with "color" in app.py. Replace "gray" with "grey" in app.py.')

    assert "@@ hunk 3 of 3\n" in idea("approve", "last", "--list")[1]
    assert idea("approve", "last")[0] == 0
    after = before.replace("colour", "color").replace("gray", "grey")
    assert (tmp_path / "app.py").read_bytes().decode() == after


def test_two_sentences_about_two_files_are_two_changes(idea: Idea, tmp_path: Path) -> None:
    explore(idea, 'Replace "green" with "red" in notes.md. Create todo.md with "Feed the bees".')
    assert idea("approve", "last")[0] == 0
    assert (tmp_path / "notes.md").read_text() == "The colour is red.\n"
    assert (tmp_path / "todo.md").read_text() == "Feed the bees\n"


def test_what_is_not_in_the_file_is_said(idea: Idea) -> None:
    sentence = 'Replace "colour" with "color" in notes.md. Replace "purple" with "blue" in notes.md'
    code, out, _ = idea("explore", "--toolset", "code", sentence)
    assert code == 0
    assert "replacement 2" in out.lower()


def test_a_new_file_can_be_rejected_and_that_is_no_failure(idea: Idea, tmp_path: Path) -> None:
    explore(idea, 'Create todo.md with "Feed the bees"')
    assert idea("reject", "last", "--reason", "Not today")[0] == 0

    code, out, _ = idea("resume", "last", "--quiet")

    assert code == 0
    assert "rejected changes: Not today" in out
    assert "1 tool call (1 rejected)" in out
    assert not (tmp_path / "todo.md").exists()


def test_a_version_that_was_edited_is_what_the_list_shows_later(idea: Idea, tmp_path: Path) -> None:
    explore(idea, 'Replace "colour" with "color" in notes.md')
    (tmp_path / "mine.md").write_text("The hue is green.\n")
    assert idea("approve", "last", "--content", str(tmp_path / "mine.md"))[0] == 0

    listed = idea("approve", "last", "--list")[1]

    assert "in notes.md (edited)\n" in listed
    assert "+The hue is green." in listed
    assert "+The color" not in listed


def test_a_tool_by_hand_says_that_nothing_is_changed(idea: Idea, tmp_path: Path) -> None:
    given = {
        "path": "notes.md",
        "description": "x",
        "replacements": [{"old": "colour", "new": "color"}],
    }
    code, out, err = idea("tool", "--toolset", "code", "edit_file", json.dumps(given))
    assert (code, json.loads(out)["ok"]) == (0, True)
    assert err.startswith("idea: Nothing is changed, and nobody is asked")

    code, out, _ = idea("tool", "--toolset", "code", "read_file", '{"path": "none.md"}')
    assert (code, json.loads(out)["ok"]) == (1, False)
    assert (tmp_path / "notes.md").read_text() == "The colour is green.\n"
