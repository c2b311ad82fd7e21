"""A GitHub repository as code: the commit that a ref names, its tarball and its files."""

import base64
import binascii
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import BinaryIO, cast

from idea_explorer.adapters.github.branches import GitHubBranches
from idea_explorer.adapters.github.client import GitHubClient
from idea_explorer.adapters.github.responses import (
    Blob,
    Commit,
    TreeEntry,
    TreeListing,
    parse,
    unreadable,
)
from idea_explorer.domain.errors import (
    AuthFailedError,
    ConfigurationError,
    ContentMismatchError,
    DocumentMissingError,
    DocumentTooLargeError,
    NotADocumentError,
    RejectedError,
    UpstreamConflictError,
)
from idea_explorer.domain.publication import MAX_REWRITTEN_BYTES

MAX_ARCHIVE_BYTES = 209_715_200  # 200 MB compressed; unpacking has a limit of its own


class GitHubCode:
    def __init__(self, client: GitHubClient) -> None:
        self._client = client

    def commit_of(self, ref: str | None) -> str:
        """The commit that a branch, tag or sha names now; None means the default branch."""
        named = ref or GitHubBranches(self._client).default_branch()
        try:
            response = self._client.get("commits", *named.split("/"))
        except (DocumentMissingError, RejectedError) as error:
            lacks = f"no ref '{ref}'" if ref else "no commits that the token may see"
            raise ConfigurationError(
                f"The repository {self._client.repository} has {lacks}.",
                hint="Name another ref, or check the repositories that the token covers.",
            ) from error
        except UpstreamConflictError as error:
            raise ConfigurationError(
                f"The repository {self._client.repository} is empty.", hint="Add a first commit."
            ) from error
        return parse(Commit, response).sha

    def check(self) -> None:
        """Raise whatever prevents reading the repository; ConfigurationError if retrying will not help."""
        try:
            GitHubBranches(self._client).default_branch()
        except AuthFailedError as error:
            raise ConfigurationError(error.message, hint=error.hint) from error

    def download(self, sha: str) -> AbstractContextManager[BinaryIO]:
        """The gzipped tarball of a commit. Its content is untrusted."""
        archive = self._client.download("tarball", sha, max_bytes=MAX_ARCHIVE_BYTES)
        return cast("AbstractContextManager[BinaryIO]", archive)


FILE_MODES = frozenset({"100644", "100755"})


class GitHubTree:
    """Follows no links: only plain files are ever read, so only they are overwritten."""

    def __init__(self, client: GitHubClient, sha: str) -> None:
        self._client = client
        self._root = TreeEntry(path="", mode="040000", type="tree", sha=sha)
        self._listed: dict[str, dict[str, TreeEntry]] = {}

    def read_text(self, path: str) -> str | None:
        entry = self.find(path)
        if entry is None:
            return None
        if entry.type != "blob" or entry.mode not in FILE_MODES:
            raise NotADocumentError(f"{path} is not a file, so nothing was written.")
        if entry.size > MAX_REWRITTEN_BYTES:
            raise DocumentTooLargeError(
                f"{path} has {entry.size:,} bytes, too many to append to; it was left unchanged."
            )
        blob = parse(Blob, self._client.get("git", "blobs", entry.sha))
        try:
            return base64.b64decode(blob.content).decode("utf-8")
        except binascii.Error as error:
            raise unreadable() from error
        except UnicodeDecodeError as error:
            raise ContentMismatchError(
                f"{path} is not UTF-8 text; it was left unchanged."
            ) from error

    def names(self, path: str) -> Sequence[str]:
        entry = self.find(path)
        if entry is None:
            return []
        if entry.type != "tree":
            raise NotADocumentError(f"{path} is not a folder, so nothing was written.")
        return list(self._list(entry.sha))

    def find(self, path: str) -> TreeEntry | None:
        """The entry at a path, or None."""
        here = self._root
        for name in path.split("/"):
            found = self._list(here.sha).get(name) if here.type == "tree" else None
            if found is None:
                return None
            here = found
        return here

    def _list(self, sha: str) -> dict[str, TreeEntry]:
        if sha not in self._listed:
            listing = parse(TreeListing, self._client.get("git", "trees", sha))
            if listing.truncated:
                raise RejectedError("A folder has too many files for GitHub to list.")
            self._listed[sha] = {entry.path: entry for entry in listing.tree}
        return self._listed[sha]
