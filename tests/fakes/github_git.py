"""Git, driven through its plumbing: what the test server stores is a real repository.

Reads go through one long-lived `git cat-file --batch`; objects are written as files, references by short
processes. References move only by compare-and-set, so two writers cannot both win.
"""

import hashlib
import os
import re
import subprocess
import tempfile
import threading
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.fakes.github_trees import Change, change_tree

MODES = {
    "100644": "blob",
    "100755": "blob",
    "120000": "blob",
    "040000": "tree",
    "160000": "commit",
}
_NOTHING = "0" * 40
_MANY = 500  # so many blobs are better kept in a pack than as files
_SHA = re.compile(r"[0-9a-f]{4,40}")
_UNSAFE_NAME = re.compile(r"[\x00-\x20~^:?*\[\\\x7f]|\.\.|@\{|//|^-|^$")
_ARCHIVE_CHUNK = 64 * 1024
_CONFIG = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = true\n"
_SETTINGS = {
    "core.fsync": "none",
    "core.filesRefLockTimeout": "10000",  # writers queue for a reference instead of failing
    "gc.auto": "0",
}


class GitError(Exception):
    """Git refused; the message is its standard error."""


@dataclass(frozen=True)
class GitObject:
    sha: str
    kind: str
    data: bytes


@dataclass(frozen=True)
class Entry:
    """One row of a tree. The size is known only where it was asked for."""

    path: str
    mode: str
    sha: str
    size: int = 0

    @property
    def kind(self) -> str:
        return MODES[self.mode]

    @property
    def name(self) -> str:
        return self.path.rsplit("/", 1)[-1]


@dataclass(frozen=True)
class Signature:
    name: str
    email: str
    seconds: int

    def __str__(self) -> str:
        return f"{self.name} <{self.email}> {self.seconds} +0000"


class GitStore:
    """A bare repository. Safe to use from many threads."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._environment = _environment(folder)
        self._reader: subprocess.Popen[bytes] | None = None
        self._reading = threading.Lock()

    @classmethod
    def create(cls, folder: Path, branch: str) -> "GitStore":
        """What `git init --bare --template=` leaves."""
        for inside in ("objects/info", "objects/pack", "refs/heads", "refs/tags"):
            (folder / inside).mkdir(parents=True)
        (folder / "HEAD").write_text(f"ref: refs/heads/{branch}\n")
        (folder / "config").write_text(_CONFIG)
        return cls(folder)

    def close(self) -> None:
        with self._reading:
            if self._reader is not None:
                self._reader.communicate()
                self._reader = None

    def run(self, *arguments: str, stdin: bytes = b"", index: Path | None = None) -> bytes:
        extra = {"GIT_INDEX_FILE": str(index)} if index else {}
        done = subprocess.run(
            ["git", *arguments],
            input=stdin,
            capture_output=True,
            env={**self._environment, **extra},
            check=False,
        )
        if done.returncode:
            raise GitError(done.stderr.decode(errors="replace").strip())
        return done.stdout

    def read(self, name: str) -> GitObject | None:
        """The object an expression such as `main:README.md` names, if there is one."""
        if "\n" in name:
            return None  # one request to the reader is one line
        with self._reading:
            if self._reader is None:
                self._reader = subprocess.Popen(
                    ["git", "cat-file", "--batch"],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    env=self._environment,
                )
            stdin, stdout = self._reader.stdin, self._reader.stdout
            assert stdin is not None
            assert stdout is not None
            stdin.write(name.encode() + b"\n")
            stdin.flush()
            head = stdout.readline().decode().split()
            if len(head) != 3 or not head[2].isdigit():
                return None
            data = stdout.read(int(head[2]))
            stdout.read(1)
            return GitObject(head[0], head[1], data)

    def find(self, sha: str, kind: str) -> GitObject | None:
        """The object with exactly this sha, if it is of this kind."""
        found = self.read(sha) if _SHA.fullmatch(sha) and len(sha) == 40 else None
        return found if found and found.kind == kind else None

    def has_blob(self, sha: str) -> bool:
        return self._path_of(sha).exists() or self.find(sha, "blob") is not None

    def resolve(self, name: str) -> str | None:
        """The commit a branch, a tag or a (short) sha stands for."""
        if _UNSAFE_NAME.search(name):
            return None
        candidates = [f"refs/heads/{name}", f"refs/tags/{name}"]
        if name.startswith("refs/"):
            candidates = [name]
        elif _SHA.fullmatch(name):
            candidates.append(name)
        for candidate in candidates:
            found = self.read(f"{candidate}^{{commit}}")
            if found:
                return found.sha
        return None

    def has_refs(self) -> bool:
        return bool(self.run("for-each-ref", "--count=1"))

    def entry_at(self, tree: str, path: str) -> Entry | None:
        """The row at a path, found the way git does: no link is followed."""
        here = Entry(path="", mode="040000", sha=tree)
        for name in path.split("/") if path else []:
            if here.mode != "040000":
                return None
            row = self.rows_of(here.sha).get(name)
            if row is None:
                return None
            here = Entry(f"{here.path}/{name}".lstrip("/"), *row)
        return here

    def list_tree(self, tree: str, *, recursive: bool, folders: bool = True) -> list[Entry]:
        flags = ["-r", *(["-t"] if folders else [])] if recursive else []
        listed = self.run("ls-tree", "-l", "-z", "--full-tree", *flags, tree)
        return [_entry(row) for row in listed.decode().split("\0") if row]

    def write_blobs(self, contents: Sequence[bytes]) -> list[str]:
        if len(contents) < _MANY:
            return [self.write_object("blob", content) for content in contents]
        rows = (
            b"blob\nmark :%d\ndata %d\n%b\n" % (number, len(content), content)
            for number, content in enumerate(contents, 1)
        )
        with tempfile.TemporaryDirectory() as folder:
            marks = Path(folder, "marks")
            self.run("fast-import", "--quiet", f"--export-marks={marks}", stdin=b"".join(rows))
            shas = dict(line.split() for line in marks.read_text().splitlines())
        return [shas[f":{number}"] for number in range(1, len(contents) + 1)]

    def write_tree(self, base: str | None, changes: Sequence[Change]) -> str:
        return change_tree(self, base, changes) or self.write_tree_by_git(base, changes)

    def write_tree_by_git(self, base: str | None, changes: Sequence[Change]) -> str:
        rows = (
            f"{change.mode} {change.sha}\t{change.path}\0"
            if change.sha
            else f"0 {_NOTHING}\t{change.path}\0"
            for change in changes
        )
        with tempfile.TemporaryDirectory() as folder:
            index = Path(folder, "index")
            if base:
                self.run("read-tree", base, index=index)
            stdin = "".join(rows).encode()
            self.run("update-index", "-z", "--index-info", stdin=stdin, index=index)
            return self.run("write-tree", index=index).decode().strip()

    def write_commit(
        self,
        tree: str,
        parents: Sequence[str],
        message: str,
        author: Signature,
        committer: Signature,
    ) -> str:
        """Written by hand because `commit-tree` would change the message's last line."""
        lines = [f"tree {tree}", *(f"parent {parent}" for parent in parents)]
        lines += [f"author {author}", f"committer {committer}", "", message]
        return self.write_object("commit", "\n".join(lines).encode())

    def update_ref(self, ref: str, new: str, old: str | None) -> bool:
        """Move a reference if it still is where the caller saw it; None: if it is still absent."""
        try:
            self.run("update-ref", ref, new, old or _NOTHING)
        except GitError:
            if self.resolve(ref) == old:
                raise
            return False
        return True

    def delete_ref(self, ref: str) -> None:
        self.run("update-ref", "-d", ref)

    def is_ancestor(self, ancestor: str, descendant: str) -> bool:
        outside = self.run("rev-list", "--count", ancestor, f"^{descendant}")
        return outside.strip() == b"0"

    def archive(self, commit: str, prefix: str) -> Iterator[bytes]:
        command = ["git", "archive", "--format=tar.gz", f"--prefix={prefix}/", commit]
        with subprocess.Popen(command, stdout=subprocess.PIPE, env=self._environment) as process:
            assert process.stdout is not None
            while chunk := process.stdout.read(_ARCHIVE_CHUNK):
                yield chunk

    def write_object(self, kind: str, data: bytes) -> str:
        """An object in a file of its own, as `hash-object -w` leaves it, without a process for it."""
        whole = f"{kind} {len(data)}\0".encode() + data
        sha = hashlib.sha1(whole, usedforsecurity=False).hexdigest()
        path = self._path_of(sha)
        if not path.exists():
            path.parent.mkdir(exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
                file.write(zlib.compress(whole, 1))
            Path(file.name).rename(path)
        return sha

    def _path_of(self, sha: str) -> Path:
        return self.folder / "objects" / sha[:2] / sha[2:]

    def rows_of(self, tree: str) -> dict[str, tuple[str, str]]:
        found = self.read(tree)
        data, rows, at = found.data if found else b"", {}, 0
        while at < len(data):
            end = data.index(b"\0", at)
            mode, _, name = data[at:end].partition(b" ")
            rows[name.decode()] = (mode.decode().rjust(6, "0"), data[end + 1 : end + 21].hex())
            at = end + 21
        return rows


def _entry(row: str) -> Entry:
    facts, _, path = row.partition("\t")
    mode, _, sha, size = facts.split()
    return Entry(path, mode, sha, int(size) if size.isdigit() else 0)


def _environment(folder: Path) -> Mapping[str, str]:
    """Only what is said here steers git: no hook, no user's and no system's configuration."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    environment |= {
        "GIT_DIR": str(folder),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_COUNT": str(len(_SETTINGS)),
    }
    for number, (key, value) in enumerate(_SETTINGS.items()):
        environment[f"GIT_CONFIG_KEY_{number}"] = key
        environment[f"GIT_CONFIG_VALUE_{number}"] = value
    return environment
