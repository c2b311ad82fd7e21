"""A folder of notes: any documents, in any folders, with reports beside them."""

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from idea_explorer.adapters.folder import layout as layouts
from idea_explorer.adapters.folder.git import GitFolder
from idea_explorer.adapters.folder.layout import find_layout
from idea_explorer.adapters.folder.publisher import FolderPublisher
from idea_explorer.adapters.folder.research import Folder
from idea_explorer.adapters.folder.writer import FolderRestorer
from idea_explorer.domain.errors import DocumentMissingError, NotTextError
from idea_explorer.domain.ids import ExplorationId, new_id
from idea_explorer.domain.paths import ResearchPath
from idea_explorer.ports import Change, Tree
from idea_explorer.tools.research import CUT, ListResearch, ResearchCalls
from tests.fakes.clock import ManualClock

DOCUMENT = "ideas/2026-11-17-tea/research.md"
ID = ExplorationId(new_id(0))


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    for path in (
        "tea.md",
        "2024/Interviews in May.TXT",
        "2024/prices.markdown",
        "keys.env",
        ".git/config.md",
        ".idea-explorer/state.md",
        "app/node_modules/lib/README.md",
        "2024/.draft.md",
    ):
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"# {path}")
    (tmp_path / "secret.md").write_text("# secret")
    (folder / "link.md").symlink_to(tmp_path / "secret.md")
    (folder / "out").symlink_to(tmp_path)
    return folder


def read(root: Path, *, named: bool = True) -> Folder:
    return Folder(root, find_layout(root, may_be_flat=named))


def searched(folder: Folder) -> set[str]:
    """Every document's text has its name in it, and so has its index."""
    found, _ = folder.search("md txt markdown", 20)
    return {each.path for each in found}


def test_notes_of_any_name_in_any_folder_are_read(notes: Path) -> None:
    folder = read(notes)
    found = ["2024/Interviews in May.TXT", "2024/prices.markdown", "tea.md"]
    assert (folder.has_research, folder.count_documents()) == (True, 3)
    assert searched(folder) == {*found}
    assert [info.path for info in folder.list()] == found


@pytest.mark.parametrize(
    "path",
    ["keys.env", ".git/config.md", "app/node_modules/lib/README.md", "link.md", "out/secret.md"],
)
def test_nothing_but_notes_is_read(notes: Path, path: str) -> None:
    with pytest.raises(Exception, match=r"not a document|is a link") as refused:
        read(notes).read(ResearchPath(path))
    assert refused.type.__name__ in {DocumentMissingError.__name__, "NotADocumentError"}


def test_the_folder_itself_may_be_a_link(notes: Path) -> None:
    link = notes.with_name("link")
    link.symlink_to(notes)
    assert searched(read(link)) == searched(read(notes))


def test_a_folder_that_nobody_named_is_not_read_through(notes: Path) -> None:
    assert not read(notes, named=False).has_research


def test_the_folder_ideas_is_what_counts_where_there_is_one(notes: Path) -> None:
    (notes / "ideas").mkdir()
    assert read(notes).count_documents() == 0
    (notes / "ideas" / "a.md").write_text("# A")
    assert searched(read(notes)) == {"a.md"}


def test_an_empty_folder_gets_its_folder_ideas(tmp_path: Path) -> None:
    assert find_layout(tmp_path, may_be_flat=True).locate(DOCUMENT) == DOCUMENT
    assert read(tmp_path).count_documents() == 0


def test_reports_are_written_beside_the_notes_and_found_and_reverted_there(notes: Path) -> None:
    (notes / ".git" / "config.md").unlink()
    (notes / ".git").rmdir()
    for arguments in (
        ["init", "--quiet"],
        ["config", "user.name", "Ada"],
        ["config", "user.email", "ada@example.org"],
    ):
        subprocess.run(["git", *arguments], cwd=notes, check=True)
    git, lock = GitFolder(notes), notes.parent / "lock"
    layout = find_layout(notes, may_be_flat=True)
    publisher = FolderPublisher(notes, lock, git, layout)
    seen: list[list[str]] = []

    def build(tree: Tree) -> Change:
        seen.append(sorted(tree.names("ideas")))
        assert tree.read_text("ideas/tea.md") == "# tea.md"
        return Change(path=DOCUMENT, message="Add", files={DOCUMENT: "# Tea\n"}, notice=None)

    publisher.check()
    first = publisher.publish(ID, 1, build, since=ManualClock().now())
    again = publisher.publish(ID, 1, build, since=ManualClock().now())
    assert (first.document, again.document) == (DOCUMENT, DOCUMENT)
    assert first.path == again.path == str(notes / "2026-11-17-tea" / "research.md")
    assert Path(first.path).read_text() == "# Tea\n"
    assert "tea.md" in seen[0]
    assert len(seen) == 1
    assert "2026-11-17-tea/research.md" in searched(read(notes))

    undone = FolderRestorer(notes, lock, git, layout).restore(ID, lambda _: {DOCUMENT: None})
    assert undone.commit
    assert not Path(first.path).exists()


@pytest.mark.parametrize("name", ["README.md", "readme.txt", "docs/Readme.md"])
def test_a_lone_readme_makes_no_folder_of_notes(tmp_path: Path, name: str) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("# What this folder is for")
    assert not find_layout(tmp_path, may_be_flat=True).is_flat
    (tmp_path / "tea.md").write_text("# Tea")
    assert find_layout(tmp_path, may_be_flat=True).is_flat


@pytest.mark.parametrize("data", ["# Tea".encode("utf-16"), b"\x89PNG\0\0"])
def test_a_file_that_is_not_text_is_not_read(notes: Path, data: bytes) -> None:
    (notes / "drawing.txt").write_bytes(data)
    folder = read(notes)
    assert "drawing.txt" not in searched(folder)
    with pytest.raises(NotTextError):
        folder.read(ResearchPath("drawing.txt"))


def test_a_file_that_may_not_be_looked_at_is_left_out(
    notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.stat

    def stat(path: Any, **how: Any) -> os.stat_result:
        if path == "prices.markdown":
            raise PermissionError(13, "Permission denied")
        return real(path, **how)

    monkeypatch.setattr(os, "stat", stat)
    assert [i.path for i in read(notes).list()] == ["2024/Interviews in May.TXT", "tea.md"]


def test_a_list_that_was_cut_says_so(notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = ResearchCalls(read(notes))
    assert "note" not in calls.list_research(ListResearch()).payload
    monkeypatch.setattr(layouts, "MAX_VISITED", 2)
    assert calls.list_research(ListResearch()).payload["note"] == CUT
