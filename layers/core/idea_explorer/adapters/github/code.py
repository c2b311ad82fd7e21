"""A GitHub repository as code: the commit that a ref names, and its tarball."""

from contextlib import AbstractContextManager
from typing import BinaryIO, cast
from urllib.parse import quote

from idea_explorer.adapters.github.client import GitHubClient
from idea_explorer.adapters.github.responses import Commit, parse
from idea_explorer.domain.errors import (
    AuthFailedError,
    ConfigurationError,
    DocumentMissingError,
    RejectedError,
    UpstreamConflictError,
)

MAX_ARCHIVE_BYTES = 209_715_200  # 200 MB compressed; unpacking has a limit of its own


class GitHubCode:
    def __init__(self, client: GitHubClient) -> None:
        self._client = client

    def commit_of(self, ref: str | None) -> str:
        """The commit that a branch, tag or sha names now; None means the default branch."""
        named = ref or self._default_branch()
        try:
            response = self._client.get(f"/commits/{quote(named)}")
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
            self._default_branch()
        except AuthFailedError as error:
            raise ConfigurationError(error.message, hint=error.hint) from error

    def _default_branch(self) -> str:
        try:
            return self._client.about().default_branch
        except DocumentMissingError as error:
            raise ConfigurationError(error.message, hint=error.hint) from error

    def download(self, sha: str) -> AbstractContextManager[BinaryIO]:
        """The gzipped tarball of a commit. Its content is untrusted."""
        archive = self._client.download(f"/tarball/{quote(sha)}", MAX_ARCHIVE_BYTES)
        return cast("AbstractContextManager[BinaryIO]", archive)
