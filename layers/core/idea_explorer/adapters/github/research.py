"""A GitHub repository as the research repository: the documents below its `ideas/`."""

import base64
import binascii
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from idea_explorer.adapters.github.client import GitHubClient
from idea_explorer.adapters.github.code import GitHubCode
from idea_explorer.adapters.github.responses import GitRef, TreeEntry, TreeListing, parse
from idea_explorer.adapters.research_index.index import DocumentIndex
from idea_explorer.adapters.research_index.sources import Changes, FileChange
from idea_explorer.domain import limits
from idea_explorer.domain.blobs import blob_sha
from idea_explorer.domain.errors import (
    ContentMismatchError,
    DocumentMissingError,
    DocumentTooLargeError,
    NotADocumentError,
    SizeUnknownError,
    UpstreamConflictError,
)
from idea_explorer.domain.paths import READABLE, RESEARCH_ROOT, ResearchPath
from idea_explorer.ports import Document, DocumentInfo, FoundDocument

LINK = "120000"
MAX_BLOBS = 20  # more documents than this come faster in one archive
ARCHIVE_LIMITS = limits.CodeLimits(max_file_bytes=limits.MAX_DOCUMENT_BYTES)


class GitHub:
    """The documents of a commit never change, so the index is current for as long as the branch is."""

    reads_any_name = False
    is_remote = True
    is_cut = False

    def __init__(
        self, client: GitHubClient, branch: str | None, index_file: Path | None = None
    ) -> None:
        self._client = client
        self._branch = self._given_branch = branch
        self.identity = f"GitHub {client.repository} {branch or ''}"
        self.index = DocumentIndex(self, index_file)

    def read(self, path: ResearchPath, *, limit: int = limits.MAX_DOCUMENT_BYTES) -> Document:
        """Verifies the response before trusting it: a link and a truncated body both change the sha."""
        reference = {"ref": self._branch} if self._branch else {}
        response = self._client.get("contents", RESEARCH_ROOT, *path.split("/"), **reference)
        if not isinstance(response, dict) or response.get("type") != "file":
            raise NotADocumentError(f"{path} is not a file.")
        size = response.get("size")
        if not isinstance(size, int):
            raise SizeUnknownError(f"GitHub gave no size for {path}.")
        if size > limit:
            raise DocumentTooLargeError(f"{path} has {size} bytes.")
        data = _decode(response)
        # GitHub says `type: file` for a link too, and returns the content it points to
        if len(data) != size or blob_sha(data) != response.get("sha"):
            raise ContentMismatchError(f"The content of {path} does not match its sha.")
        return Document(content=data.decode("utf-8", "replace"), size=size)

    def list(self) -> Sequence[DocumentInfo]:
        try:
            files, _ = self._list_files(self._head())
        except UpstreamConflictError:
            return []  # an empty repository
        return [DocumentInfo(entry.path, entry.size) for entry in files]

    def search(self, query: str, limit: int) -> tuple[Sequence[FoundDocument], int]:
        return self.index.search(query, limit)

    def find_changes(self, state: str, versions: Callable[[], Mapping[str, str]]) -> Changes | None:
        """Reads the documents that changed; where those are many, all of them in one archive."""
        try:
            sha = self._find_commit()
        except UpstreamConflictError:
            sha = ""  # an empty repository
        except DocumentMissingError:
            self._client.about()  # raises where the token cannot see the repository: it may not be empty
            sha = ""  # it is without the branch
        if not sha:
            self._branch = self._given_branch  # the default branch may have another name by now
        if sha == state:
            return None
        known = versions()
        changed = self._compare(sha, known) if sha and known else None
        if not sha:
            files: Iterator[FileChange] = (FileChange(name, None) for name in known)
        elif changed is not None and len(changed) <= MAX_BLOBS:
            files = map(self._read_change, changed)
        else:
            files = self._read_archive(sha, known)
        return Changes(files, sha)

    def _find_commit(self) -> str:
        reference = self._client.get("git", "ref", "heads", *self._head().split("/"))
        return parse(GitRef, reference).sha

    def _compare(self, sha: str, known: Mapping[str, str]) -> Sequence[FileChange] | None:
        """The changes without their texts; None if GitHub does not list all files."""
        files, is_cut = self._list_files(sha)
        if is_cut:
            return None
        found = {
            entry.path: FileChange(entry.path, entry.sha, entry.size)
            for entry in files
            if _is_searched(entry.path, entry.size)
        }
        gone = [FileChange(name, None) for name in known if name not in found]
        return [*gone, *(c for name, c in found.items() if known.get(name) != c.version)]

    def _list_files(self, commit: str) -> tuple[Sequence[TreeEntry], bool]:
        """The files below `ideas/`, and whether there are more than GitHub lists."""
        root = parse(TreeListing, self._client.get("git", "trees", commit))
        ideas = next((e for e in root.tree if e.path == RESEARCH_ROOT and e.type == "tree"), None)
        if ideas is None:
            return [], False
        listing = parse(TreeListing, self._client.get("git", "trees", ideas.sha, recursive=1))
        files = [e for e in listing.tree if e.type == "blob" and e.mode != LINK]
        return files, listing.truncated

    def _read_change(self, change: FileChange) -> FileChange:
        if change.version is None:
            return change
        data = _decode(self._client.get("git", "blobs", change.version))
        if blob_sha(data) != change.version:
            raise ContentMismatchError(f"The content of {change.name} does not match its sha.")
        return _with_text(change.name, data)

    def _read_archive(self, sha: str, known: Mapping[str, str]) -> Iterator[FileChange]:
        root = f"{RESEARCH_ROOT}/".encode()
        gone = set(known)
        from idea_explorer.adapters.snapshots.tarballs import read_tarball

        with GitHubCode(self._client).download(sha) as archive:
            for item in read_tarball(archive, sha, ARCHIVE_LIMITS):
                name = item.name.removeprefix(root).decode("utf-8", "surrogateescape")
                is_below = item.name.startswith(root)
                if item.data is not None and is_below and _is_searched(name, len(item.data)):
                    gone.discard(name)
                    yield _with_text(name, item.data)
        yield from (FileChange(name, None) for name in gone)

    def _head(self) -> str:
        if self._branch is None:
            self._branch = self._client.about().default_branch
        return self._branch


def _decode(response: dict[str, Any]) -> bytes:
    if response.get("encoding") != "base64":
        return b""
    try:
        return base64.b64decode(str(response.get("content")), validate=False)
    except binascii.Error:
        return b""


def _is_searched(name: str, size: int) -> bool:
    return name.lower().endswith(READABLE) and size <= limits.MAX_DOCUMENT_BYTES


def _with_text(name: str, data: bytes) -> FileChange:
    return FileChange(name, blob_sha(data), len(data), data.decode("utf-8", "replace"))
