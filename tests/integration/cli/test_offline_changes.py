"""Without a key, the offline model proposes the change that an idea spells out."""

import json
import re
import subprocess
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
    assert "- `notes.md`: nothing changed. 'old' of replacement 2 is not in the file." in out
    assert "Look at the file, then ask again using words that it contains: `idea explore" in out


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


def test_a_part_that_was_approved_is_called_that(idea: Idea, tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("The colour.\n" + "\n" * 9 + "The colour.\n")
    explore(idea, 'Replace "colour" with "color" in notes.md')
    assert "notes.md: approved in part and written\n" in idea("approve", "last", "--hunks", "2")[1]
    assert "`notes.md`: approved in part and written" in idea("resume", "last")[1]


def test_a_change_that_is_committed_is_told_in_one_list(idea: Idea, tmp_path: Path) -> None:
    git = ["git", "-c", "user.name=A", "-c", "user.email=a@b.c"]
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "Begin"]):
        subprocess.run([*git, *command], cwd=tmp_path, check=True)
    explore(idea, 'Replace "colour" with "color" in notes.md')
    out = idea("approve", "last")[1]
    assert re.match(r"notes.md: approved, written and committed as \w{7}\n", out)


def test_the_status_of_a_run_that_waits_says_for_what_and_how_to_go_on(idea: Idea) -> None:
    own = explore(idea, 'Replace "colour" with "color" in notes.md')
    *_, last = idea("status", "last")[1].splitlines()
    assert last.startswith(
        f"Your decision is needed on notes.md. See the changes with `idea approve {own} --list`,"
    )
    assert idea("approve", "last")[0] == 0
    *_, last = idea("status", "last")[1].splitlines()
    assert last == f"Everything is decided. Continue with: idea resume {own}"
    assert idea("status", "last", "--quiet")[1] == "awaiting_approval\n"
