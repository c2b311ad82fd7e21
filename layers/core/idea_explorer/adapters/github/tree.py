"""A GitHub repository at one commit, read from its git database and fetched on demand."""

import base64
import binascii
from collections.abc import Sequence

from idea_explorer.adapters.github.client import GitHubClient
from idea_explorer.adapters.github.responses import Blob, TreeEntry, TreeListing, parse, unreadable
from idea_explorer.domain.errors import (
    ContentMismatchError,
    DocumentTooLargeError,
    NotADocumentError,
    RejectedError,
)
from idea_explorer.domain.publication import MAX_REWRITTEN_BYTES

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
        try:
            return self._blob(entry.sha).decode("utf-8")
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

    def _blob(self, sha: str) -> bytes:
        blob = parse(Blob, self._client.get(f"/git/blobs/{sha}"))
        try:
            return base64.b64decode(blob.content)
        except binascii.Error as error:
            raise unreadable() from error

    def _list(self, sha: str) -> dict[str, TreeEntry]:
        if sha not in self._listed:
            listing = parse(TreeListing, self._client.get(f"/git/trees/{sha}"))
            if listing.truncated:
                raise RejectedError("A folder has too many files for GitHub to list.")
            self._listed[sha] = {entry.path: entry for entry in listing.tree}
        return self._listed[sha]
