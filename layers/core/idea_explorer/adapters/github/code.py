"""A GitHub repository as code at one commit: which commit a ref names, and its tarball."""

from contextlib import AbstractContextManager
from typing import BinaryIO, cast
from urllib.parse import quote

from idea_explorer.adapters.github.client import GitHubClient
from idea_explorer.adapters.github.responses import Commit, read
from idea_explorer.domain.errors import (
    AuthFailedError,
    ConfigurationError,
    DocumentMissingError,
    RejectedError,
    UpstreamConflictError,
)

MAX_ARCHIVE_BYTES = 209_715_200  # 200 MB zipped; what it unpacks to has its own limit


class GitHubCode:
    def __init__(self, client: GitHubClient) -> None:
        self._client = client

    def commit_of(self, ref: str | None) -> str:
        """The commit that a branch, tag or sha names now; without one, the default branch's."""
        named = ref or self._default_branch()
        try:
            answer = self._client.get(f"/commits/{quote(named)}")
        except (DocumentMissingError, RejectedError) as error:
            where = f"no ref '{ref}'" if ref else "no commits that the token may see"
            raise ConfigurationError(
                f"The repository {self._client.repository} has {where}.",
                hint="Name another ref, or check the repositories that the token covers.",
            ) from error
        except UpstreamConflictError as error:
            raise ConfigurationError(
                f"The repository {self._client.repository} is empty.", hint="Add a first commit."
            ) from error
        return read(Commit, answer).sha

    def check(self) -> None:
        """Raise what keeps the repository from being read; ConfigurationError where it will last."""
        try:
            self._default_branch()
        except AuthFailedError as error:
            raise ConfigurationError(error.message, hint=error.hint) from error

    def _default_branch(self) -> str:
        try:
            return self._client.about().default_branch
        except DocumentMissingError as error:
            raise ConfigurationError(error.message, hint=error.hint) from error

    def download(self, sha: str) -> AbstractContextManager[BinaryIO]:
        """The gzipped tarball of a commit. What is in it is untrusted."""
        archive = self._client.download(f"/tarball/{quote(sha)}", MAX_ARCHIVE_BYTES)
        return cast("AbstractContextManager[BinaryIO]", archive)
