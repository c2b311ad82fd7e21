"""A GitHub repository as the place of a team's research: reading below `ideas/`."""

import base64
import binascii
import tarfile
import zlib
from collections.abc import Sequence
from typing import IO, Any
from urllib.parse import quote

from idea_explorer.adapters.github.client import GitHubClient
from idea_explorer.adapters.github.document_cache import DocumentCache
from idea_explorer.adapters.github.responses import Reference, read
from idea_explorer.domain import limits
from idea_explorer.domain.code import blob_sha
from idea_explorer.domain.errors import (
    ContentMismatchError,
    DocumentMissingError,
    DocumentTooLargeError,
    ExternalError,
    NotADocumentError,
    SizeUnknownError,
    UpstreamConflictError,
)
from idea_explorer.domain.paths import RESEARCH_ROOT, ResearchPath
from idea_explorer.ports import Document, DocumentInfo

MAX_ARCHIVE_BYTES = (
    200_000_000  # a repository of research is far smaller; a function's disk is not much larger
)
SEARCHABLE = (".md", ".markdown", ".txt")


class GitHub:
    def __init__(
        self, client: GitHubClient, branch: str | None, cache: DocumentCache | None = None
    ) -> None:
        self._client = client
        self._branch = branch
        self._cache = cache

    def read(self, path: ResearchPath, *, limit: int = limits.MAX_DOCUMENT_BYTES) -> Document:
        """Checks GitHub's answer before believing it: a link and a cut body both show in the sha."""
        reference = {"ref": self._branch} if self._branch else {}
        answer = self._client.get(f"/contents/{RESEARCH_ROOT}/{quote(path)}", **reference)
        if not isinstance(answer, dict) or answer.get("type") != "file":
            raise NotADocumentError(f"{path} is not a file.")
        size = answer.get("size")
        if not isinstance(size, int):
            raise SizeUnknownError(f"GitHub gave no size for {path}.")
        if size > limit:
            raise DocumentTooLargeError(f"{path} has {size} bytes.")
        data = _decoded(answer)
        # GitHub answers `type: file` for a link too, with the content it points to
        if len(data) != size or blob_sha(data) != answer.get("sha"):
            raise ContentMismatchError(f"{path} is not what its sha says.")
        return Document(content=data.decode("utf-8", "replace"), size=size)

    def list(self) -> Sequence[DocumentInfo]:
        try:
            root = self._client.get(f"/git/trees/{quote(self._head())}")
            ideas = [e for e in root["tree"] if e["path"] == RESEARCH_ROOT and e["type"] == "tree"]
            if not ideas:
                return []
            tree = self._client.get(f"/git/trees/{ideas[0]['sha']}", recursive=1)
        except UpstreamConflictError:
            return []  # an empty repository
        except (KeyError, TypeError) as error:
            raise ExternalError("GitHub's answer could not be read.") from error
        return [
            DocumentInfo(entry["path"], entry.get("size", 0))
            for entry in tree["tree"]
            if entry["type"] == "blob" and entry["mode"] != "120000"
        ]

    def read_all(self) -> Sequence[tuple[str, str]]:
        """One tarball instead of a request per document, and none while the branch stands still."""
        try:
            reference = self._client.get(f"/git/ref/heads/{quote(self._head())}")
            sha = read(Reference, reference).object.sha
            name = f"{self._client.repository}@{sha}"
            known = self._cache.get(name) if self._cache else None
            if known is not None:
                return known
            with self._client.download(f"/tarball/{sha}", MAX_ARCHIVE_BYTES) as archive:
                documents = _documents(archive)
        except (UpstreamConflictError, DocumentMissingError):
            return []
        if self._cache:
            self._cache.put(name, documents)
        return documents

    def _head(self) -> str:
        if self._branch is None:
            self._branch = self._client.about().default_branch
        return self._branch


def _decoded(answer: dict[str, Any]) -> bytes:
    if answer.get("encoding") != "base64":
        return b""
    try:
        return base64.b64decode(str(answer.get("content")), validate=False)
    except binascii.Error:
        return b""


def _documents(compressed: IO[bytes]) -> list[tuple[str, str]]:
    """The texts below `ideas/`. Read as a stream: the rest of the repository is passed over."""
    found: list[tuple[str, str]] = []
    try:
        with tarfile.open(fileobj=compressed, mode="r|gz") as archive:
            for member in archive:
                _, _, path = member.name.partition("/")
                inside = path.removeprefix(f"{RESEARCH_ROOT}/")
                wanted = member.isreg() and inside != path and path.endswith(SEARCHABLE)
                if wanted and member.size <= limits.MAX_DOCUMENT_BYTES:
                    file = archive.extractfile(member)
                    assert file is not None
                    found.append((inside, file.read().decode("utf-8", "replace")))
    except (tarfile.TarError, OSError, EOFError, zlib.error) as error:
        raise ExternalError("GitHub's archive could not be read.") from error
    return sorted(found)
