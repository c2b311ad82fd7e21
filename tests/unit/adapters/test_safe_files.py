"""Files that others may exchange while we use them, and files that are for this user alone."""

import os
import socket
import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from idea_explorer.adapters.safe_files import (
    PRIVATE_FILE,
    PRIVATE_FOLDER,
    FileTooLargeError,
    LinkError,
    NotAFileError,
    list_folder,
    make_private_file,
    make_private_folder,
    make_private_tree,
    read_file,
    read_given,
    remove_file,
    write_file,
)

LIMIT = 100
TRIES = 800
OURS, SECRET = b"ours", b"secret"


@contextmanager
def umask(mask: int) -> Iterator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def a_pipe(path: Path) -> None:
    os.mkfifo(path)


def a_socket(path: Path) -> None:
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(path))
    server.close()


def a_device(path: Path) -> None:
    try:
        os.mknod(path, stat.S_IFCHR | 0o600, os.makedev(1, 5))
    except PermissionError:
        pytest.skip("only root makes devices")


def a_folder(path: Path) -> None:
    path.mkdir()


@pytest.mark.parametrize("make", [a_pipe, a_socket, a_device, a_folder])
@pytest.mark.parametrize(
    "use",
    [
        lambda root: read_file(root, "d/x", LIMIT),
        lambda root: read_given(root / "d" / "x", LIMIT),
        lambda root: write_file(root, "d/x", b"new"),
        lambda root: remove_file(root, "d/x"),
    ],
    ids=["read", "read what a person named", "write", "remove"],
)
def test_what_is_no_file_is_refused_at_once(
    tmp_path: Path, make: Callable[[Path], None], use: Callable[[Path], object]
) -> None:
    (tmp_path / "d").mkdir()
    with inside(tmp_path / "d"):
        make(Path("x"))  # a socket's path may not be long

    with pytest.raises(NotAFileError):
        use(tmp_path)

    assert not stat.S_ISREG((tmp_path / "d" / "x").lstat().st_mode)


@contextmanager
def inside(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


@pytest.mark.parametrize(
    "path", ["link", "folder/x", "up/d/x", "../outside/x", "/etc/passwd", "d/.."]
)
def test_no_path_leads_out_of_the_root(tmp_path: Path, path: str) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    (root / "d").mkdir(parents=True)
    outside.mkdir()
    (outside / "x").write_bytes(SECRET)
    (root / "link").symlink_to(outside / "x")
    (root / "folder").symlink_to(outside)
    (root / "up").symlink_to("..")

    for use in (
        lambda: read_file(root, path, LIMIT),
        lambda: write_file(root, path, b"new"),
        lambda: remove_file(root, path),
    ):
        with pytest.raises((LinkError, NotAFileError, FileNotFoundError)):
            use()

    assert (outside / "x").read_bytes() == SECRET
    assert [entry.name for entry in outside.iterdir()] == ["x"]


def test_links_are_told_from_other_things_that_are_no_files(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("elsewhere")
    (tmp_path / "file").touch()
    with pytest.raises(LinkError):
        read_file(tmp_path, "link", LIMIT)
    with pytest.raises(LinkError):
        read_file(tmp_path, "link/x", LIMIT)
    with pytest.raises(LinkError):
        list_folder(tmp_path, "link")
    with pytest.raises(NotADirectoryError):
        read_file(tmp_path, "file/x", LIMIT)
    with pytest.raises(FileNotFoundError):
        read_file(tmp_path, "missing/x", LIMIT)


def test_a_person_may_name_a_link_and_a_link_to_the_root(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "x").write_bytes(OURS)
    (tmp_path / "root").symlink_to("real")
    (tmp_path / "given").symlink_to("real/x")
    assert read_given(tmp_path / "given", LIMIT) == OURS
    assert read_file(tmp_path / "root", "x", LIMIT) == OURS
    with pytest.raises(NotAFileError):
        read_given(Path(os.devnull), LIMIT)


def test_a_file_is_read_up_to_its_limit_and_no_larger_one(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"1" * LIMIT)
    assert read_file(tmp_path, "x", LIMIT) == b"1" * LIMIT
    with pytest.raises(FileTooLargeError) as caught:
        read_file(tmp_path, "x", LIMIT - 1)
    assert caught.value.size == LIMIT


@pytest.mark.long
@pytest.mark.parametrize("swapped", ["d", "d/x"], ids=["a folder", "the file"])
def test_what_is_exchanged_for_a_link_meanwhile_is_never_followed(
    tmp_path: Path, swapped: str
) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    (root / "d").mkdir(parents=True)
    (root / "d" / "x").write_bytes(OURS)
    outside.mkdir()
    (outside / "x").write_bytes(SECRET)
    place, aside = root / swapped, root / "aside"
    target = outside if swapped == "d" else outside / "x"
    done = threading.Event()

    def swap() -> None:
        while not done.is_set():
            with suppress(OSError):
                place.rename(aside)
                place.symlink_to(target)
                place.unlink()
                aside.rename(place)

    thread = threading.Thread(target=swap, daemon=True)
    thread.start()
    seen: set[bytes] = set()
    try:
        for _ in range(TRIES):
            with suppress(OSError):
                seen.add(read_file(root, "d/x", LIMIT))
            with suppress(OSError):
                write_file(root, "d/y", OURS)
            with suppress(OSError):
                remove_file(root, "d/y")
    finally:
        done.set()
        thread.join()

    assert SECRET not in seen
    assert {entry.name: entry.read_bytes() for entry in outside.iterdir()} == {"x": SECRET}


def test_a_written_file_keeps_its_permissions_and_a_new_one_follows_the_umask(
    tmp_path: Path,
) -> None:
    (tmp_path / "hook").touch()
    (tmp_path / "hook").chmod(0o755)
    with umask(0o027):
        write_file(tmp_path, "hook", b"new")
        write_file(tmp_path, "new/file", b"new")
    assert mode(tmp_path / "hook") == 0o755
    assert mode(tmp_path / "new" / "file") == 0o640
    assert [entry.name for entry in (tmp_path / "new").iterdir()] == ["file"]


def test_the_folders_that_are_empty_without_a_file_go_with_it(tmp_path: Path) -> None:
    write_file(tmp_path, "a/b/c/x", b"")
    write_file(tmp_path, "a/y", b"")
    remove_file(tmp_path, "a/b/c/x")
    remove_file(tmp_path, "a/b/c/x")
    assert list_folder(tmp_path, "a") == ["y"]
    assert list_folder(tmp_path, "a/b") == []


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o077])
def test_private_files_are_closed_whatever_the_umask(tmp_path: Path, mask: int) -> None:
    with umask(mask):
        make_private_folder(tmp_path / "a" / "b")
        make_private_file(tmp_path / "a" / "b" / "x")
        write_file(tmp_path, "c/y", b"", mode=PRIVATE_FILE, folder_mode=PRIVATE_FOLDER)
    assert {mode(tmp_path / path) for path in ("a", "a/b", "c")} == {PRIVATE_FOLDER}
    assert {mode(tmp_path / path) for path in ("a/b/x", "c/y")} == {PRIVATE_FILE}


def test_an_open_folder_is_closed_with_all_that_is_in_it_and_nothing_else(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    with umask(0):
        (root / "d").mkdir(parents=True)
        (root / "d" / "x").touch()
        outside.touch()
        (root / "link").symlink_to(outside)
        os.mkfifo(root / "pipe")

    make_private_tree(root)

    assert (mode(root), mode(root / "d")) == (PRIVATE_FOLDER, PRIVATE_FOLDER)
    assert mode(root / "d" / "x") == PRIVATE_FILE
    assert mode(outside) == 0o666
    make_private_tree(tmp_path / "missing")
