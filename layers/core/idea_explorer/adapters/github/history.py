"""The commits of a branch on GitHub, back to the start of an exploration."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from idea_explorer.adapters.github.client import GitHubClient
from idea_explorer.adapters.github.responses import Commit, parse
from idea_explorer.domain.errors import ConfigurationError

PER_PAGE = 100
MAX_PAGES = 50  # 5,000 commits since an exploration began; with more, we give up
CLOCK_SLACK = timedelta(days=1)  # a laptop's clock may be wrong by hours, hardly by more


def list_commits(
    client: GitHubClient, head: str, since: datetime, *, unknown: str, hint: str
) -> Iterator[Commit]:
    """Newest first. The whole first page is included, whatever its dates.

    Raises ConfigurationError, with what is `unknown` then, if there are too many to go through.
    """
    for page in range(1, MAX_PAGES + 1):
        response = client.get("/commits", sha=head, per_page=PER_PAGE, page=page)
        commits = parse(list[Commit], response)
        yield from commits
        oldest = min((commit.commit.committer.date for commit in commits), default=since)
        if len(commits) < PER_PAGE or oldest < since - CLOCK_SLACK:
            return
    raise ConfigurationError(
        f"More than {MAX_PAGES * PER_PAGE:,} commits were made since the exploration began, so"
        f" {unknown}.",
        hint=hint,
    )
