"""The commits of a branch on GitHub, from its head back to when an exploration began."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from idea_explorer.adapters.github.client import GitHubClient
from idea_explorer.adapters.github.responses import Commit, read
from idea_explorer.domain.errors import ConfigurationError

PER_PAGE = 100
MAX_PAGES = 50  # 5,000 commits since an exploration began; beyond that nothing is certain
CLOCK_SLACK = timedelta(days=1)  # a laptop's clock may be wrong by hours, hardly by more


def history(
    client: GitHubClient, head: str, since: datetime, *, unknown: str, hint: str
) -> Iterator[Commit]:
    """Newest first. The first page is given whole, whatever its dates say.

    Raises ConfigurationError, saying what is unknown then, where there are too many to look at.
    """
    for page in range(1, MAX_PAGES + 1):
        answer = client.get("/commits", sha=head, per_page=PER_PAGE, page=page)
        commits = read(list[Commit], answer)
        yield from commits
        oldest = min((commit.commit.committer.date for commit in commits), default=since)
        if len(commits) < PER_PAGE or oldest < since - CLOCK_SLACK:
            return
    raise ConfigurationError(
        f"More than {MAX_PAGES * PER_PAGE:,} commits were made since the exploration began, so"
        f" {unknown}.",
        hint=hint,
    )
