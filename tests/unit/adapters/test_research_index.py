"""The index that is computed from the documents of a folder."""

from pathlib import Path

from idea_explorer.adapters.folder.research import Folder
from idea_explorer.adapters.research_index import ComputedIndex


def test_what_was_computed_counts_until_the_text_changes(tmp_path: Path) -> None:
    ideas = tmp_path / "ideas"
    ideas.mkdir()
    (ideas / "bees.md").write_text("# Bees\n")
    (ideas / "tea.md").write_text("# Tea\n")
    index = ComputedIndex(Folder(tmp_path))
    before = {entry.path: entry for entry in index.load().entries}

    (ideas / "tea.md").write_text("# Tea rooms\n")
    (ideas / "new.md").write_text("# New\n")
    after = {entry.path: entry for entry in index.load().entries}

    assert after["ideas/bees.md"] is before["ideas/bees.md"]
    assert after["ideas/tea.md"].title == "Tea rooms"
    assert [*after] == ["ideas/bees.md", "ideas/new.md", "ideas/tea.md"]

    (ideas / "tea.md").unlink()
    assert [entry.path for entry in index.load().entries] == ["ideas/bees.md", "ideas/new.md"]


def test_a_folder_without_research_may_get_some(tmp_path: Path) -> None:
    index = ComputedIndex(Folder(tmp_path))
    assert index.load().entries == ()

    (tmp_path / "ideas").mkdir()
    (tmp_path / "ideas" / "bees.md").write_text("# Bees\n")

    assert [entry.title for entry in index.load().entries] == ["Bees"]
