"""Publishes one exploration to a GitHub, as a process of its own that can be killed.

`python -m tests.fakes.publish_once FOLDER URL ID RUN LEASE_SECONDS`
"""

import sys
from pathlib import Path

from idea_explorer.adapters.clock import SystemClock
from idea_explorer.adapters.github.client import GitHubClient
from idea_explorer.adapters.github.publisher import GitHubPublisher
from idea_explorer.adapters.sqlite.explorations import SqliteStore
from idea_explorer.adapters.sqlite.leases import SqliteBranchLease
from idea_explorer.domain.ids import ExplorationId
from idea_explorer.usecases.publish import publish
from tests.fakes.deps import make_deps


def main(folder: Path, url: str, exploration_id: str, run: int, lease_seconds: float) -> None:
    clock = SystemClock()
    store = SqliteStore(folder / "explorations.db")
    client = GitHubClient("acme/ideas", lambda: "t0ken", url)
    lease = SqliteBranchLease(folder / "leases.db", clock)
    publisher = GitHubPublisher(client, "main", lease, clock, lease_seconds=lease_seconds)
    publish(
        ExplorationId(exploration_id),
        run,
        make_deps(folder, store=store, clock=clock, publisher=lambda: publisher),
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4]), float(sys.argv[5]))
