"""One hosted repository: its git store, its rules, and the truth a test compares with."""

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

from tests.fakes.github_git import GitError, GitStore, Signature
from tests.fakes.github_trees import Change
from tests.fakes.github_wire import JsonObject

Rule = Literal["pull_request", "restricted", "ruleset"]


@dataclass(frozen=True)
class Symlink:
    target: str


@dataclass(frozen=True)
class Executable:
    content: bytes


@dataclass(frozen=True)
class Submodule:
    commit: str


File: TypeAlias = str | bytes | Symlink | Executable | Submodule | None  # None: delete
Files: TypeAlias = Mapping[str, File]


@dataclass(frozen=True)
class Commit:
    sha: str
    parents: tuple[str, ...]
    tree: str
    message: str
    trailers: Mapping[str, str]


@dataclass
class PullRequest:
    number: int
    title: str
    body: str | None
    head: str
    base: str
    draft: bool
    created_at: float
    state: str = "open"
    comments: list[JsonObject] = field(default_factory=list)


@dataclass
class CheckRun:
    """A check of GitHub Actions or of an app; `conclusion` is None until it has ended."""

    name: str
    status: str = "completed"
    conclusion: str | None = "success"
    title: str | None = None
    summary: str | None = None
    text: str | None = None
    log: str | None = None  # of a job of GitHub Actions; None: the token may not read it


@dataclass
class Status:
    """What a service without an app says of a commit."""

    context: str
    state: str
    description: str | None = None


class Repository:
    """Readable and writable by hand while the server serves it to others."""

    def __init__(
        self,
        full_name: str,
        git: GitStore,
        *,
        branch: str = "main",
        private: bool = True,
        clock: Callable[[], float] = time.time,
        number: int = 1,
    ) -> None:
        self.number = number
        self.archived = False
        self.full_name = full_name
        self.owner, self.name = full_name.split("/")
        self.git = git
        self.default_branch = branch
        self.private = private
        self.protected: dict[str, Rule] = {}
        self.pulls: list[PullRequest] = []
        self.check_runs: dict[str, list[CheckRun]] = {}  # by commit
        self.statuses: dict[str, list[Status]] = {}
        self.clock = clock
        self.archive_tickets: set[str] = set()
        self.lock = threading.Lock()

    def protect(self, branch: str, rule: Rule = "pull_request") -> None:
        """Refuse updates of this branch through the API; `commit` still gets through."""
        self.protected[branch] = rule

    def is_empty(self) -> bool:
        usual = self.git.resolve(f"refs/heads/{self.default_branch}")
        return usual is None and not self.git.has_refs()

    def head(self, branch: str | None = None) -> str:
        return self._commit_of(f"refs/heads/{branch or self.default_branch}")

    def branches(self) -> list[str]:
        listed = self.git.run("for-each-ref", "--format=%(refname:lstrip=2)", "refs/heads")
        return listed.decode().split()

    def log(self, branch: str | None = None) -> list[Commit]:
        """The history, newest first, as git tells it."""
        layout = "%H%x00%P%x00%T%x00%B%x00%(trailers:only,unfold)%x01"
        listed = self.git.run("log", f"--format={layout}", self.head(branch), "--")
        return [_commit(row.strip("\n")) for row in listed.decode().split("\x01") if row.strip()]

    def read(self, path: str, ref: str | None = None) -> bytes:
        """What git holds at a path. A link's content is its target."""
        found = self.git.read(f"{self._commit_of(ref)}:{path}")
        if found is None or found.kind != "blob":
            raise FileNotFoundError(path)
        return found.data

    def read_text(self, path: str, ref: str | None = None) -> str:
        return self.read(path, ref).decode()

    def files(self, ref: str | None = None) -> dict[str, bytes]:
        """Every file at a reference, with its content."""
        commit = self._commit_of(ref)
        rows = self.git.list_tree(commit, recursive=True, folders=False)
        found = {row.path: self.git.read(row.sha) for row in rows if row.kind == "blob"}
        return {path: blob.data for path, blob in found.items() if blob}

    def commit(
        self, files: Files, message: str = "Change by hand", branch: str | None = None
    ) -> str:
        """Push a commit, as somebody else would. A branch that is missing starts anew."""
        ref = f"refs/heads/{branch or self.default_branch}"
        changes = self._changes(files)
        while True:
            parent = self.git.resolve(ref)
            tree = self.git.write_tree(parent, changes)
            author = Signature("Somebody Else", "else@example.com", int(self.clock()))
            parents = [parent] if parent else []
            sha = self.git.write_commit(tree, parents, message, author, author)
            if self.git.update_ref(ref, sha, parent):
                return sha

    def create_branch(self, branch: str, ref: str | None = None) -> str:
        """Let a new branch point to an existing commit."""
        sha = self._commit_of(ref)
        if not self.git.update_ref(f"refs/heads/{branch}", sha, None):
            raise GitError(f"branch {branch} exists")
        return sha

    def _commit_of(self, ref: str | None) -> str:
        name = ref or f"refs/heads/{self.default_branch}"
        sha = self.git.resolve(name)
        if sha is None:
            raise LookupError(f"{self.full_name} has no {name}")
        return sha

    def _changes(self, files: Files) -> list[Change]:
        kept = [(path, *_stored(file)) for path, file in files.items() if file is not None]
        blobs = iter(self.git.write_blobs([data for _, mode, data in kept if mode != "160000"]))
        changes = [
            Change(path, mode, data.decode() if mode == "160000" else next(blobs))
            for path, mode, data in kept
        ]
        return changes + [Change(path, "0", None) for path, file in files.items() if file is None]


def folder_files(folder: Path) -> dict[str, File]:
    """A folder's files as they would be committed: links as links, `.git` left out."""
    files: dict[str, File] = {}
    for path in sorted(folder.rglob("*")):
        inside = path.relative_to(folder)
        if ".git" in inside.parts:
            continue
        if path.is_symlink():
            files[inside.as_posix()] = Symlink(str(path.readlink()))
        elif path.is_file():
            content = path.read_bytes()
            runs = path.stat().st_mode & 0o100
            files[inside.as_posix()] = Executable(content) if runs else content
    return files


def _stored(file: str | bytes | Symlink | Executable | Submodule) -> tuple[str, bytes]:
    match file:
        case str():
            return "100644", file.encode()
        case bytes():
            return "100644", file
        case Executable(content):
            return "100755", content
        case Symlink(target):
            return "120000", target.encode()
        case Submodule(commit):
            return "160000", commit.encode()


def _commit(row: str) -> Commit:
    sha, parents, tree, message, trailers = row.split("\0")
    pairs = (line.partition(": ") for line in trailers.splitlines())
    found = {key: value for key, _, value in pairs if key}
    return Commit(sha, tuple(parents.split()), tree, message.rstrip("\n"), found)
