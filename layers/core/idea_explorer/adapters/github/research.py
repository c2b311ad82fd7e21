"""A GitHub repository as the research repository: the documents below its `ideas/`."""

import base64
import binascii
import hashlib
import json
import os
import stat
import tempfile
import zlib
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

from idea_explorer import __version__
from idea_explorer.adapters.files import DiskCache
from idea_explorer.adapters.github.client import GitHubClient
from idea_explorer.adapters.github.code import GitHubCode
from idea_explorer.adapters.github.responses import GitRef, parse, unreadable
from idea_explorer.adapters.snapshots.tarballs import read_tarball
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
from idea_explorer.domain.paths import RESEARCH_ROOT, ResearchPath, encode_name
from idea_explorer.ports import Document, DocumentInfo

MAX_COMMITS = 8  # only the head of a repository is asked for, so older ones are rarely needed again
MAX_BYTES = 20_000_000  # of one commit, compressed; a function has 512 MB of disk


class DocumentCache:
    """What cannot be read or written counts as missing. The documents of a commit never change."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder or Path(tempfile.gettempdir()) / f"idea-explorer-{_user()}"
        self._files = DiskCache(
            self._folder, ".json.z", max_files=MAX_COMMITS, max_bytes=MAX_COMMITS * MAX_BYTES
        )

    def get(self, name: str) -> list[tuple[str, str]] | None:
        try:
            if not self._is_private():
                return None
            rows = json.loads(zlib.decompress(self._files.path(_hash(name)).read_bytes()))
        except (OSError, ValueError, zlib.error):
            return None
        return [(path, text) for path, text in rows]

    def put(self, name: str, documents: Sequence[tuple[str, str]]) -> None:
        data = zlib.compress(json.dumps(documents).encode("utf-8", "surrogatepass"), 1)
        if len(data) > MAX_BYTES:
            return
        with suppress(OSError):
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not self._is_private():
                return
            with self._files.new_file() as (part, file):
                file.write(data)
                file.flush()
                self._files.add(part, _hash(name))

    def _is_private(self) -> bool:
        """Whether only we can have written to the folder: its default name is easy to guess."""
        info = self._folder.lstat()
        if not stat.S_ISDIR(info.st_mode):
            return False
        return os.name == "nt" or (info.st_uid == os.getuid() and not info.st_mode & 0o022)


def _hash(name: str) -> str:
    return hashlib.sha256(f"{__version__}\n{name}".encode()).hexdigest()[:40]


def _user() -> str:
    return str(os.getuid()) if hasattr(os, "getuid") else os.environ.get("USERNAME", "user")


SEARCHABLE = (b".md", b".markdown", b".txt")
ARCHIVE_LIMITS = limits.CodeLimits(max_file_bytes=limits.MAX_DOCUMENT_BYTES)


class GitHub:
    reads_any_name = False
    is_cut = False

    def __init__(
        self, client: GitHubClient, branch: str | None, cache: DocumentCache | None = None
    ) -> None:
        self._client = client
        self._branch = branch
        self._cache = cache

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
            root = self._client.get("git", "trees", self._head())
            ideas = [e for e in root["tree"] if e["path"] == RESEARCH_ROOT and e["type"] == "tree"]
            if not ideas:
                return []
            tree = self._client.get("git", "trees", str(ideas[0]["sha"]), recursive=1)
            return [
                DocumentInfo(entry["path"], entry.get("size", 0))
                for entry in tree["tree"]
                if entry["type"] == "blob" and entry["mode"] != "120000"
            ]
        except UpstreamConflictError:
            return []  # an empty repository
        except (KeyError, TypeError) as error:
            raise unreadable() from error

    def read_all(self) -> Sequence[tuple[str, str]]:
        """Downloads one tarball instead of each document, and nothing while the branch is unchanged."""
        try:
            reference = self._client.get("git", "ref", "heads", *self._head().split("/"))
            sha = parse(GitRef, reference).sha
            name = f"{self._client.repository}@{sha}"
            cached = self._cache.get(name) if self._cache else None
            if cached is not None:
                return cached
            with GitHubCode(self._client).download(sha) as archive:
                documents = _read_documents(archive, sha)
        except (UpstreamConflictError, DocumentMissingError):
            return []
        if self._cache:
            self._cache.put(name, documents)
        return documents

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


def _read_documents(archive: BinaryIO, sha: str) -> list[tuple[str, str]]:
    """The searchable documents below `ideas/`, sorted by path."""
    root = f"{RESEARCH_ROOT}/".encode()
    documents = [
        (
            encode_name(item.name.removeprefix(root))[0],
            item.data.decode("utf-8", "replace"),
        )
        for item in read_tarball(archive, sha, ARCHIVE_LIMITS)
        if item.data is not None and item.name.startswith(root) and item.name.endswith(SEARCHABLE)
    ]
    return sorted(documents)
