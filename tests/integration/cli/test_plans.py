"""A plan that is reviewed by command and at the terminal, on this machine."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from idea_explorer.adapters.folder import layout
from tests.fakes.in_process import Idea

IDEA = "A subscription box for urban beekeepers"
PLANNING = ("explore", "--depth", "standard", "--review-plan", "--if-exists", "run")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    notes = tmp_path / "notes"
    notes.mkdir()
    note = "# Urban beekeepers\n\nUrban beekeepers buy a subscription box in spring.\n"
    (notes / "Bees in town.md").write_text(note)
    return notes


@pytest.fixture
def idea(capsys: pytest.CaptureFixture[str]) -> Idea:
    return Idea(capsys)


def test_a_plan_is_shown_edited_and_followed(idea: Idea, folder: Path) -> None:
    here = ("--research", str(folder))
    code, out, err = idea(*PLANNING, *here, "--json", IDEA)
    assert code == 3, err
    exploration = json.loads(out)["id"]
    assert "needed on the plan. Read it with `idea approve" in err
    assert "needed on the plan. Read it with `idea approve" in idea("status", "last", *here)[1]

    listed = idea("approve", exploration, "--list", *here)[1]
    assert "plan.md: Plan with 4 questions" in listed
    assert "1. Problem: what does earlier research say?\n   - Tool: search_research" in listed
    edited = folder.parent / "edited.md"
    edited.write_text("# Later")
    code, _, err = idea("approve", exploration, "--content", str(edited), *here)
    assert (code, "The plan has no question." in err) == (2, True)
    edited.write_text("## Questions\n- Who buys in spring?")
    assert "plan.md: approved" in idea("approve", exploration, "--content", str(edited), *here)[1]

    code, out, err = idea("resume", exploration, *here)
    assert code == 0
    assert "    1. Who buys in spring?" in err
    (report,) = folder.glob("*/research.md")  # beside the note
    assert "subscription box" in report.read_text()


def test_a_plan_is_decided_at_the_terminal_and_a_bad_edit_is_corrected(
    idea: Idea, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    editor = folder.parent / "editor"
    editor.write_text(
        f'#!/bin/sh\nif [ -e {folder.parent}/once ]; then printf "## Questions\\n- Who buys?\\n" > "$1"; else'
        f' touch {folder.parent}/once; echo "# Later" > "$1"; fi\n'
    )
    editor.chmod(0o755)
    answers: Iterator[str] = iter(["e", "a", "e", "a"])
    monkeypatch.setenv("VISUAL", str(editor))
    monkeypatch.setattr("builtins.input", lambda: next(answers))
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    code, _, err = idea(*PLANNING, "--research", str(folder), IDEA)
    assert code == 0, err
    assert err.count("[a]pprove, [e]dit, [r]eject") == 4
    assert "What you wrote cannot be approved" in err
    assert "- Who buys?\n\n[a]pprove" in err  # shown before it is approved
    assert "was interrupted" not in err
    assert "The plan has no question." in err
    assert "1. Who buys?" in err


def test_similar_notes_are_named_by_the_paths_that_open_them(idea: Idea, tmp_path: Path) -> None:
    (tmp_path / "bakery.md").write_text(f"# {IDEA}\n\nBread for everybody in town.\n")
    err = idea("explore", "--research", str(tmp_path), IDEA)[2]
    assert "Similar research already exists" in err
    assert f"     {tmp_path}/bakery.md\n" in err


def test_a_cut_list_of_notes_says_how_many_more_there_are(idea: Idea, tmp_path: Path) -> None:
    for number in range(4):
        (tmp_path / f"bakery-{number}.md").write_text(f"# {IDEA}\n\nBread, part {number}.\n")
    err = idea("explore", "--research", str(tmp_path), IDEA)[2]
    assert f"{tmp_path}/bakery-2.md\n     … and 1 more\n" in err


def test_a_folder_without_documents_says_so(idea: Idea, tmp_path: Path) -> None:
    (tmp_path / "photo.jpg").write_bytes(b"\xff")
    err = idea("explore", "--research", str(tmp_path), IDEA)[2]
    assert f"{tmp_path} has no documents that can be read (.md, .markdown or .txt)" in err
    assert [path.name for path in (tmp_path / "ideas").iterdir()]


@pytest.mark.parametrize("names", [("a.md", "b.md", "c.md"), ("a.jpg", "b.jpg", "c.md")])
def test_a_folder_with_more_files_than_are_looked_at_says_so(
    idea: Idea, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, names: tuple[str, ...]
) -> None:
    for name in names:
        (tmp_path / name).write_text("# Tea")
    monkeypatch.setattr(layout, "MAX_VISITED", 2)
    err = idea("explore", "--research", str(tmp_path), IDEA)[2]
    assert f"{tmp_path} has more than 2 files, and no more are looked at" in err
    monkeypatch.setattr(layout, "MAX_VISITED", 200)
    assert "looked at" not in idea("explore", "--research", str(tmp_path), IDEA)[2]
