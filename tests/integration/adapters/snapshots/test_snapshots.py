"""Snapshots: what is taken from tarballs and folders, what is refused, and what is kept."""

import gzip
import io
import os
import resource
import subprocess
import tarfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from idea_explorer.adapters.snapshots.cache import Snapshots
from idea_explorer.adapters.snapshots.packs import Pack
from idea_explorer.domain.blobs import blob_sha
from idea_explorer.domain.errors import (
    ConfigurationError,
    InvalidRequestError,
    RejectedError,
    UnavailableError,
)
from idea_explorer.domain.limits import CodeLimits
from tests.fakes.code_repository import SHA, TOP, Files, HardLink, Link, fill, tarball


def from_tarball(cache: Path, packed: bytes, limits: CodeLimits | None = None) -> Pack:
    return Snapshots(cache, limits).of_commit("acme/tea", SHA, lambda: io.BytesIO(packed))


def from_folder(cache: Path, root: Path, limits: CodeLimits | None = None) -> Pack:
    return Snapshots(cache, limits).of_folder(root)


def contents(pack: Pack) -> dict[str, str]:
    """What each path holds: its text, or what stands for it."""
    return {
        entry.path: bytes(pack.text[entry.start : entry.start + entry.size]).decode()
        if entry.content == "text"
        else f"<{entry.content} {entry.target or entry.size}>"
        for entry in pack.entries
    }


def git(root: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.com"]
    subprocess.run(["git", *identity, *arguments], cwd=root, check=True, capture_output=True)


FILES: Files = {
    "README.md": "# Project\n",
    "src/app.py": "print('é')",
    "src/empty.py": "",
    "logo.png": b"\x89PNG\x00\x01",
    "link": Link("src/app.py"),
    "big.txt": b"x" * 1_048_577,
    "fits.txt": b"x" * 1_048_576,
}
SEEN = {
    "README.md": "# Project\n",
    "src/app.py": "print('é')",
    "src/empty.py": "",
    "logo.png": "<binary 6>",
    "link": "<link src/app.py>",
    "big.txt": "<large 1048577>",
    "fits.txt": "x" * 1_048_576,
}


def test_a_tarball_and_a_folder_of_the_same_files_are_seen_alike(tmp_path: Path) -> None:
    packed = from_tarball(tmp_path / "cache", tarball(FILES))
    scanned = from_folder(tmp_path / "cache", fill(tmp_path / "project", FILES))
    assert contents(packed) == contents(scanned) == SEEN
    assert {e.path: e.blob for e in packed.entries} == {e.path: e.blob for e in scanned.entries}


def test_blobs_have_the_names_that_git_gives_them(tmp_path: Path) -> None:
    pack = from_tarball(tmp_path / "cache", tarball(FILES))
    blobs = {entry.path: entry.blob for entry in pack.entries}
    assert blobs["src/empty.py"] == "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
    assert blobs["README.md"] == blob_sha(b"# Project\n")
    assert blobs["big.txt"] == ""


def test_a_real_archive_of_git_is_read(tmp_path: Path) -> None:
    root = fill(tmp_path / "project", {"a.py": "x = 1\n", "l": Link("a.py")})
    git(root, "init", "-q")
    git(root, "add", ".")
    git(root, "commit", "-qm", "first")
    head = subprocess.check_output(["git", "rev-parse", "HEAD"], cwd=root, text=True).strip()
    command = ["git", "archive", "--format=tar.gz", f"--prefix={TOP}/", "HEAD"]
    packed = subprocess.check_output(command, cwd=root)
    snapshots = Snapshots(tmp_path / "cache")
    pack = snapshots.of_commit("acme/tea", head, lambda: io.BytesIO(packed))
    assert (pack.sha, contents(pack)) == (head, {"a.py": "x = 1\n", "l": "<link a.py>"})
    with pytest.raises(RejectedError, match="another commit"):
        snapshots.of_commit("acme/tea", SHA, lambda: io.BytesIO(packed))


def test_a_commit_is_downloaded_once(tmp_path: Path) -> None:
    downloads = []

    def download() -> io.BytesIO:
        downloads.append(1)
        return io.BytesIO(tarball({"a.py": "x"}))

    for _ in range(2):
        assert contents(Snapshots(tmp_path).of_commit("acme/tea", SHA, download)) == {"a.py": "x"}
    assert len(downloads) == 1


@pytest.mark.parametrize("damage", [b"", b"short", b"x" * 4_000])
def test_a_damaged_pack_is_made_anew(tmp_path: Path, damage: bytes) -> None:
    from_tarball(tmp_path, tarball({"a.py": "x"}))
    (kept,) = tmp_path.glob("*.pack")
    kept.write_bytes(damage)
    assert contents(from_tarball(tmp_path, tarball({"a.py": "x"}))) == {"a.py": "x"}


def test_only_the_last_used_snapshots_are_kept_and_open_ones_stay_readable(tmp_path: Path) -> None:
    snapshots = Snapshots(tmp_path / "cache", CodeLimits(kept_snapshots=2))
    packs = []
    for number in range(4):
        packed = tarball({"a.py": f"x = {number}"})
        sha = f"{number:040x}"
        packs.append(snapshots.of_commit("acme/tea", sha, lambda packed=packed: io.BytesIO(packed)))  # type: ignore[misc]
    assert len([*(tmp_path / "cache").iterdir()]) == 2
    assert contents(packs[0]) == {"a.py": "x = 0"}


def test_what_is_kept_is_limited_by_its_size_too(tmp_path: Path) -> None:
    snapshots = Snapshots(tmp_path / "cache", CodeLimits(max_kept_bytes=2_500))
    for number in range(4):
        packed = tarball({"a.py": f"{number}" * 1_000})
        snapshots.of_commit("acme/tea", f"{number:040x}", lambda packed=packed: io.BytesIO(packed))  # type: ignore[misc]
    kept = [*(tmp_path / "cache").iterdir()]
    assert len(kept) == 2

    for file in kept:
        os.utime(file, (1, 1))
    snapshots.of_commit("acme/tea", "f" * 40, lambda: io.BytesIO(tarball({"a.py": "x" * 5_000})))
    assert [file.name[0] for file in (tmp_path / "cache").iterdir()] == ["f"]


@contextmanager
def largest_file(size: int) -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_disk_without_room_is_said_in_a_sentence_and_leaves_nothing(tmp_path: Path) -> None:
    packed = tarball({"a.py": "x" * 1_000_000})

    with largest_file(100_000), pytest.raises(RejectedError, match="no room left on disk"):
        from_tarball(tmp_path / "cache", packed)

    assert [*(tmp_path / "cache").iterdir()] == []


@pytest.mark.parametrize("sha", ["", "main", "../../etc/passwd", "A" * 40, SHA + "\n"])
def test_what_is_no_sha_is_refused(tmp_path: Path, sha: str) -> None:
    with pytest.raises(InvalidRequestError):
        Snapshots(tmp_path).of_commit("acme/tea", sha, lambda: io.BytesIO(b""))


@pytest.mark.parametrize(
    "name", ["/etc/passwd", "../evil", f"{TOP}/../../evil", f"{TOP}/a/../../b", "//x/y"]
)
@pytest.mark.parametrize("kind", [tarfile.REGTYPE, tarfile.SYMTYPE, tarfile.DIRTYPE])
def test_an_archive_with_a_path_out_of_itself_is_refused(
    tmp_path: Path, name: str, kind: bytes
) -> None:
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, "x"
    with pytest.raises(RejectedError, match="outside"):
        from_tarball(tmp_path, tarball({"a.py": "x"}, extra=[member]))
    assert [*tmp_path.iterdir()] == []


def test_an_archive_with_a_hard_link_out_of_itself_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RejectedError, match="outside"):
        from_tarball(tmp_path, tarball({"a": HardLink("/etc/passwd")}))


def test_a_hard_link_within_an_archive_is_a_second_file(tmp_path: Path) -> None:
    files: Files = {
        "a.py": "x = 1",
        "b.py": HardLink(f"{TOP}/a.py"),
        "c.py": HardLink(f"{TOP}/missing"),
        "d.py": "y = 2",
    }
    pack = from_tarball(tmp_path, tarball(files))
    assert contents(pack) == {"a.py": "x = 1", "b.py": "x = 1", "d.py": "y = 2"}


@pytest.mark.parametrize(
    "kind", [tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE, tarfile.CONTTYPE, b"Z"]
)
def test_devices_and_pipes_are_left_out(tmp_path: Path, kind: bytes) -> None:
    member = tarfile.TarInfo(f"{TOP}/device")
    member.type = kind
    pack = from_tarball(tmp_path, tarball({"a.py": "x"}, extra=[member]))
    assert {entry.path for entry in pack.entries if entry.size} == {"a.py"}


def test_what_an_archive_puts_below_a_link_or_a_file_is_left_out(tmp_path: Path) -> None:
    files: Files = {
        "link": Link("/etc"),
        "link/passwd": "planted",
        "a.py": "x",
        "a.py/b.py": "planted",
        ".git/config": "planted",
    }
    assert contents(from_tarball(tmp_path, tarball(files))) == {"link": "<link /etc>", "a.py": "x"}


def test_an_archive_that_unpacks_to_too_much_is_refused(tmp_path: Path) -> None:
    packed = tarball({"zeros": b"\x00" * 4_000_000})
    assert len(packed) < 40_000
    with pytest.raises(RejectedError, match="1,000,000 bytes"):
        from_tarball(tmp_path, packed, CodeLimits(max_unpacked_bytes=1_000_000))
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize(
    "spoil",
    [
        lambda packed: packed[: len(packed) // 2],
        lambda packed: b"<html>not found</html>",
        lambda packed: b"",
        lambda packed: gzip.compress(b"no tar at all" * 100),
        lambda packed: packed[:-8] + b"\x00" * 8,
    ],
    ids=["cut", "html", "empty", "no tar", "checksum"],
)
def test_a_damaged_archive_may_be_tried_again(
    tmp_path: Path, spoil: Callable[[bytes], bytes]
) -> None:
    packed = spoil(tarball({f"{n}.py": os.urandom(9_000) for n in range(20)}))
    with pytest.raises(UnavailableError, match="damaged"):
        from_tarball(tmp_path, packed)
    assert [*tmp_path.iterdir()] == []


def test_the_number_of_files_is_limited(tmp_path: Path) -> None:
    files: Files = {f"{n}.txt": "" for n in range(11)}
    limits = CodeLimits(max_files=10)
    root = fill(tmp_path / "project", files)
    with pytest.raises(RejectedError, match="more than 10 files"):
        from_tarball(tmp_path / "cache", tarball(files), limits)
    with pytest.raises(RejectedError, match="more than 10 files"):
        from_folder(tmp_path / "cache", root, limits)
    (root / "0.txt").unlink()
    assert len(from_folder(tmp_path / "cache", root, limits).entries) == 10


def test_the_text_of_a_folder_is_limited(tmp_path: Path) -> None:
    root = fill(tmp_path / "project", {f"{n}.txt": "x" * 600 for n in range(2)})
    with pytest.raises(RejectedError, match="more than 1,000 bytes"):
        from_folder(tmp_path / "cache", root, CodeLimits(max_unpacked_bytes=1_000))


def test_what_a_process_that_died_left_behind_is_removed(tmp_path: Path) -> None:
    for name, modified in (("old.part", 1_000), ("new.part", None)):
        (tmp_path / name).write_bytes(b"half")
        if modified:
            os.utime(tmp_path / name, (modified, modified))
    from_tarball(tmp_path, tarball({"a.py": "x"}))
    assert {file.name for file in tmp_path.glob("*.part")} == {"new.part"}


def test_an_empty_repository_is_empty(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    assert from_folder(tmp_path / "cache", tmp_path / "project").entries == ()
    assert from_tarball(tmp_path / "cache", tarball({})).entries == ()


def test_a_folder_that_is_not_there_is_a_configuration_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="does not exist"):
        from_folder(tmp_path / "cache", tmp_path / "nowhere")


STRANGE: Files = {
    os.fsdecode(b"caf\xe9.txt"): "latin",
    "a\\b.txt": "backslash",
    "new\nline.txt": "newline",
    " edge .txt ": "spaces",
    "日本.txt": "japanese",
}
SPELLED = {
    "caf%E9.txt": "latin",
    "a%5Cb.txt": "backslash",
    "new%0Aline.txt": "newline",
    "%20edge .txt%20": "spaces",
    "日本.txt": "japanese",
}


@pytest.mark.parametrize("source", ["folder", "tarball"])
def test_names_that_no_path_may_hold_are_spelled_out(tmp_path: Path, source: str) -> None:
    if source == "folder":
        pack = from_folder(tmp_path / "cache", fill(tmp_path / "project", STRANGE))
    else:
        pack = from_tarball(tmp_path / "cache", tarball(STRANGE))
    assert contents(pack) == SPELLED
    assert {entry.path for entry in pack.entries if entry.exact} == {"日本.txt"}


def test_git_s_ignored_files_are_not_part_of_a_folder(tmp_path: Path) -> None:
    files: Files = {
        ".gitignore": ".env\nbuild/\n",
        ".env": "SECRET=1",
        "build/out.js": "x",
        "tracked.py": "old",
        "gone.py": "x",
        "new.py": "x",
        ".idea-explorer/explorations.db": "x",
        "node_modules/kept/index.js": "x",
    }
    root = fill(tmp_path / "project", files)
    git(root, "init", "-q")
    git(root, "add", "tracked.py", "gone.py")
    (root / "tracked.py").write_text("changed")
    (root / "gone.py").unlink()
    pack = from_folder(tmp_path / "cache", root)
    assert contents(pack) == {
        ".gitignore": ".env\nbuild/\n",
        "tracked.py": "changed",
        "new.py": "x",
        "node_modules/kept/index.js": "x",
    }
    assert contents(from_folder(tmp_path / "cache", root / "build")) == {"out.js": "x"}


def test_a_folder_without_git_leaves_out_what_tools_keep_there(tmp_path: Path) -> None:
    files: Files = {
        "app.js": "x",
        "node_modules/a/index.js": "x",
        ".venv/lib/a.py": "x",
        "pkg/__pycache__/a.pyc": "x",
        ".hg/store": "x",
        ".github/ci.yml": "x",
    }
    pack = from_folder(tmp_path / "cache", fill(tmp_path / "project", files))
    assert {entry.path for entry in pack.entries} == {"app.js", ".github/ci.yml"}


def test_a_repository_s_own_configuration_runs_nothing(tmp_path: Path) -> None:
    root = fill(tmp_path / "project", {"a.py": "x"})
    git(root, "init", "-q")
    trap = tmp_path / "trap.sh"
    trap.write_text(f"#!/bin/sh\ntouch {tmp_path}/sprung\n")
    trap.chmod(0o755)
    git(root, "config", "core.fsmonitor", str(trap))
    assert contents(from_folder(tmp_path / "cache", root)) == {"a.py": "x"}
    assert not (tmp_path / "sprung").exists()


def test_where_git_refuses_nothing_is_read(tmp_path: Path) -> None:
    root = fill(tmp_path / "project", {".gitignore": ".env\n", ".env": "SECRET=1"})
    (root / ".git").mkdir()
    with pytest.raises(ConfigurationError, match="git cannot list"):
        from_folder(tmp_path / "cache", root)


def test_a_pipe_in_a_folder_does_not_stop_the_scan(tmp_path: Path) -> None:
    root = fill(tmp_path / "project", {"a.py": "x"})
    os.mkfifo(root / "pipe")
    assert contents(from_folder(tmp_path / "cache", root)) == {"a.py": "x"}


def test_a_folder_named_by_a_link_is_read(tmp_path: Path) -> None:
    root = fill(tmp_path / "project", {"a.py": "x"})
    (tmp_path / "alias").symlink_to(root)
    assert contents(from_folder(tmp_path / "cache", tmp_path / "alias")) == {"a.py": "x"}


def test_a_pack_with_a_broken_list_is_no_pack(tmp_path: Path) -> None:
    from_tarball(tmp_path, tarball({"a.py": "x"}))
    (kept,) = tmp_path.glob("*.pack")
    data = bytearray(kept.read_bytes())
    data[4] ^= 0xFF
    kept.write_bytes(data)
    with pytest.raises((ValueError, zlib.error)):
        Pack(kept, SHA)
