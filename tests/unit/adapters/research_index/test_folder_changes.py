"""What an index notices of a folder in which people and programs work."""

import errno
import itertools
import os
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from idea_explorer.adapters.folder import layout, scan
from idea_explorer.adapters.folder.research import Folder
from idea_explorer.adapters.folder.scan import Scan
from idea_explorer.adapters.research_index import file as index_file
from idea_explorer.adapters.research_index.sources import FileChange
from idea_explorer.ports import Document


@pytest.fixture
def ideas(tmp_path: Path) -> Path:
    ideas = tmp_path / "ideas"
    (ideas / "2026-01-01-tea").mkdir(parents=True)
    (ideas / "2026-01-01-tea" / "research.md").write_text("# Tea rooms")
    (ideas / "2026-01-01-tea" / "exploration-log.json").write_text("[]")
    (ideas / "notes.md").write_text("# Bees")
    return ideas


@pytest.fixture
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if every file had been written long ago."""
    monkeypatch.setattr(scan, "TICK_NS", -(10**18))


class CountedFolder(Folder):
    reads: list[str]

    def _read(self, name: str, limit: int) -> Document:
        self.reads.append(name)
        return super()._read(name, limit)


def open_folder(ideas: Path) -> CountedFolder:
    folder = CountedFolder(ideas.parent)
    folder.reads = []
    folder.list()
    return folder


def paths(folder: Folder) -> list[str]:
    return [info.path for info in folder.list()]


def titles(folder: Folder) -> set[str]:
    return {found.title for found in folder.search("tea bees md research", 20)[0]}


@pytest.mark.usefixtures("settled")
def test_what_did_not_change_is_neither_listed_nor_read_again(
    ideas: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = open_folder(ideas)
    folder.reads.clear()
    listed: list[int] = []
    real = os.scandir

    def list_folder(folder: int) -> object:
        listed.append(folder)
        return real(folder)

    monkeypatch.setattr(os, "scandir", list_folder)

    assert titles(folder) == {"Tea rooms", "Bees"}
    assert (folder.reads, listed) == ([], [])
    (ideas / "notes.md").write_text("# Bees on roofs")
    assert titles(folder) == {"Tea rooms", "Bees on roofs"}
    assert (folder.reads, listed) == (["notes.md"], [])


@pytest.mark.usefixtures("settled")
def test_files_that_come_go_and_move_are_noticed(ideas: Path) -> None:
    folder = open_folder(ideas)
    (ideas / "new" / "deep").mkdir(parents=True)
    (ideas / "new" / "deep" / "more.md").write_text("# More bees")
    assert "new/deep/more.md" in paths(folder)
    (ideas / "2026-01-01-tea").rename(ideas / "2026-01-02-tea")
    assert "2026-01-02-tea/research.md" in paths(folder)
    assert "2026-01-01-tea/research.md" not in paths(folder)
    (ideas / "new" / "deep" / "more.md").unlink()
    assert titles(folder) == {"Tea rooms", "Bees"}


@pytest.mark.usefixtures("settled")
def test_a_folder_that_is_exchanged_for_a_link_is_left_out(ideas: Path, tmp_path: Path) -> None:
    folder = open_folder(ideas)
    outside = tmp_path / "outside"
    (ideas / "2026-01-01-tea").rename(outside)
    (ideas / "2026-01-01-tea").symlink_to(outside)
    assert paths(folder) == ["notes.md"]
    assert titles(folder) == {"Bees"}


def test_a_change_that_keeps_time_and_size_is_noticed_while_the_file_is_new(ideas: Path) -> None:
    """A clock that ticks slowly gives two writes the same time."""
    folder = open_folder(ideas)
    info = (ideas / "notes.md").stat()
    (ideas / "notes.md").write_text("# Tees")
    os.utime(ideas / "notes.md", ns=(info.st_atime_ns, info.st_mtime_ns))
    assert titles(folder) == {"Tea rooms", "Tees"}


@pytest.mark.parametrize(
    ("fraction_ns", "seconds"), [(4_000_000, 0.1), (0, 2.0)], ids=["ticks", "whole seconds"]
)
def test_a_time_counts_once_the_clock_of_its_file_system_has_ticked(
    fraction_ns: int, seconds: float
) -> None:
    changed_ns = 1_700_000_000 * 10**9 + fraction_ns
    assert scan.counts_from(changed_ns) - changed_ns == seconds * 10**9


@pytest.mark.parametrize(("age_ns", "is_known"), [(99 * 10**6, False), (10**8, True)])
def test_a_file_that_may_still_change_unnoticed_has_no_version(
    ideas: Path, age_ns: int, is_known: bool
) -> None:
    changed_ns = max((ideas / name).stat().st_ctime_ns for name in (".", "notes.md"))
    look = Scan(str(ideas), changed_ns + age_ns, lambda name: True)
    look.look({})
    assert bool(look.found["notes.md"][0]) == is_known


@pytest.mark.usefixtures("settled")
def test_a_change_whose_time_was_set_back_is_noticed(ideas: Path) -> None:
    folder = open_folder(ideas)
    info = (ideas / "notes.md").stat()
    time.sleep(0.02)  # the kernel's clock ticks
    (ideas / "notes.md").write_text("# Tees")
    os.utime(ideas / "notes.md", ns=(info.st_atime_ns, info.st_mtime_ns))
    assert titles(folder) == {"Tea rooms", "Tees"}


def test_a_folder_without_research_may_get_some(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    assert paths(folder) == []
    (tmp_path / "ideas").mkdir()
    (tmp_path / "ideas" / "bees.md").write_text("# Bees")
    assert paths(folder) == ["bees.md"]
    (tmp_path / "ideas").rename(tmp_path / "elsewhere")
    assert paths(folder) == []


@pytest.mark.usefixtures("settled")
@pytest.mark.parametrize("is_indexed", [False, True])
@pytest.mark.parametrize("call", ["open", "stat", "lstat"])
@pytest.mark.parametrize("name", ["notes.md", "2026-01-01-tea", "research.md", "ideas"])
def test_an_error_of_the_file_system_hides_no_document_for_good(
    ideas: Path, monkeypatch: pytest.MonkeyPatch, name: str, call: str, is_indexed: bool
) -> None:
    folder = Folder(ideas.parent)
    expected = paths(Folder(ideas.parent))
    if is_indexed:
        folder.list()
        (ideas / "notes.md").write_text("# Bees on roofs")
    real = getattr(os, call)

    def fail(path: object, *arguments: object, **named: object) -> object:
        if str(path).endswith(name):
            raise OSError(errno.EIO, "Input/output error")
        return real(path, *arguments, **named)

    with monkeypatch.context() as patch, suppress(OSError):
        patch.setattr(os, call, fail)
        folder.list()

    assert paths(folder) == expected
    assert titles(folder) == {"Tea rooms", "Bees on roofs" if is_indexed else "Bees"}


class CrashingFolder(Folder):
    """Crashes after so many changes."""

    changes_left: int

    def _read_changes(
        self, changed: Iterable[str], scan: Scan, gone: Iterable[str]
    ) -> Iterator[FileChange]:
        yield from itertools.islice(super()._read_changes(changed, scan, gone), self.changes_left)
        raise KeyboardInterrupt


@pytest.mark.usefixtures("settled")
@pytest.mark.parametrize("visited", [50_000, 5])
def test_a_crash_at_any_moment_loses_no_document(
    ideas: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, visited: int
) -> None:
    """After it the next process finds what is there, also where not all files are looked at at first."""
    monkeypatch.setattr(index_file, "BATCH", 1)
    for name in ("-a/b/c/deep.md", "-a/bees.md", "z/last.md", "z/y/x/w.md"):
        (ideas / name).parent.mkdir(parents=True, exist_ok=True)
        (ideas / name).write_text("# Bees")
    expected = paths(Folder(tmp_path))
    total = len(expected) + len([*ideas.rglob("*/")]) + 2  # the log and the top folder

    for after in range(total + 1):
        path = tmp_path / f"{after}.db"
        folder = CrashingFolder(tmp_path, index_file=path)
        folder.changes_left = after
        monkeypatch.setattr(layout, "MAX_VISITED", visited)
        with pytest.raises(KeyboardInterrupt):
            folder.list()
        monkeypatch.setattr(layout, "MAX_VISITED", 50_000)
        assert paths(Folder(tmp_path, index_file=path)) == expected


@pytest.mark.usefixtures("settled")
def test_the_folder_of_the_index_is_made_only_beside_research(ideas: Path, tmp_path: Path) -> None:
    data, other = tmp_path / ".idea-explorer", tmp_path / "other"
    other.mkdir()
    Folder(other, index_file=other / ".idea-explorer" / "index.db").list()
    folder = Folder(tmp_path, index_file=data / "index.db")
    assert [*other.iterdir()] == []
    assert not data.exists()
    folder.list()

    assert data.stat().st_mode & 0o777 == 0o700
    assert (data / ".gitignore").read_text() == "*\n"
    next_process = CountedFolder(tmp_path, index_file=data / "index.db")
    next_process.reads = []
    assert titles(next_process) == {"Tea rooms", "Bees"}
    assert next_process.reads == []


def test_where_no_folder_can_be_made_the_index_is_kept_in_memory(ideas: Path) -> None:
    taken = ideas.parent / ".idea-explorer"
    taken.symlink_to("nowhere")
    folder = Folder(ideas.parent, index_file=taken / "index.db")
    assert titles(folder) == {"Tea rooms", "Bees"}
    assert not (ideas.parent / "nowhere").exists()
