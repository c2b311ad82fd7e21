"""Explorations that have come to an end and wait to be published, in a real store."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from idea_explorer.adapters.github.client import GitHubClient
from idea_explorer.adapters.github.publisher import GitHubPublisher
from idea_explorer.adapters.sqlite.explorations import SqliteStore
from idea_explorer.adapters.sqlite.leases import SqliteBranchLease
from idea_explorer.domain.errors import ExplorerError
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.ids import ExplorationId, new_id
from idea_explorer.domain.request import ExploreRequest
from idea_explorer.domain.run import Stats, Status
from idea_explorer.observability.logging import SilentLog
from idea_explorer.ports import Clock, Log, Publisher, ResearchIndex, ResearchRepository
from idea_explorer.usecases.deps import Deps
from idea_explorer.usecases.publish import publish, publish_with_retry
from tests.fakes.deps import make_deps
from tests.fakes.github_repository import Commit, Repository
from tests.fakes.github_server import FakeGitHub
from tests.fakes.research import index_of

IDEA = "A subscription box for urban beekeepers"
SLUG = "a-subscription-box-for-urban-beekeepers"
REPORT = "# Boxes for beekeepers\n\nThey want them.\n\n## Verdict\n\n**PIVOT**"
DAY = datetime(2026, 11, 16, 9, 30, tzinfo=UTC)
FOLDER = f"ideas/2026-11-16-{SLUG}"
DOCUMENT = f"{FOLDER}/research.md"
LOG = f"{FOLDER}/exploration-log.json"
WORKFLOW_RETRIES = 100


@dataclass
class Desk:
    store: SqliteStore
    publisher: Publisher
    clock: Clock
    index: ResearchIndex | None = None
    research: ResearchRepository | None = None
    waits: list[str] = field(default_factory=list)
    log: Log = field(default_factory=SilentLog)

    @property
    def deps(self) -> Deps:
        return make_deps(
            None,
            store=self.store,
            clock=self.clock,
            publisher=lambda: self.publisher,
            index=lambda: self.index or index_of(),
            research=lambda: self.research,
            log=self.log,
        )

    def finished(
        self,
        idea: str = IDEA,
        report: str = REPORT,
        outcome: Status = "completed",
        *,
        record: dict[str, Any] | None = None,
        **request: Any,
    ) -> Exploration:
        """An exploration whose run is over, with its report, not yet published."""
        made = new_id(int(datetime.now(UTC).timestamp() * 1_000))
        new = Exploration.new(
            ExploreRequest(idea=idea, **request), "team", at=DAY, exploration_id=made
        )
        over = {
            "status": "running",
            "outcome": outcome,
            "stats": Stats(steps=3, cost_usd=0.12),
            "finished_at": DAY,
        }
        exploration = new.replace(**(over | (record or {})))
        self.store.create(exploration)
        self.store.save_report(made, 0, report)
        return exploration

    def again(self, exploration_id: ExplorationId, report: str) -> Exploration:
        """The next run of an exploration, over as well, with another report."""

        def resumed(exploration: Exploration) -> Exploration:
            update = {
                "number": exploration.run.number + 1,
                "status": "running",
                "outcome": "completed",
                "delivery": exploration.new_delivery,
            }
            return exploration.replace(**update)

        exploration = self.store.take_over(exploration_id, resumed)
        self.store.save_report(exploration_id, exploration.lease, report)
        return exploration

    def publish(
        self, exploration: Exploration, *, give_up: ExplorerError | None = None
    ) -> Exploration:
        return publish(exploration.id, exploration.run.number, self.deps, give_up=give_up)

    def publish_as_the_workflow_does(self, exploration: Exploration) -> Exploration:
        """Started anew for as long as the error says that this helps."""
        failure: ExplorerError | None = None
        for _ in range(WORKFLOW_RETRIES + 1):
            try:
                return self.publish(exploration)
            except ExplorerError as error:
                if not error.retryable:
                    raise
                failure = error
                self.clock.sleep(getattr(error, "retry_after", None) or 5.0)
        return self.publish(exploration, give_up=failure)

    def publish_patiently(self, exploration: Exploration) -> Exploration:
        return publish_with_retry(
            exploration.id, exploration.run.number, self.deps, self.waits.append
        )


def github_publisher(
    github: FakeGitHub,
    leases: Path,
    clock: Clock,
    *,
    repository: str = "acme/ideas",
    branch: str | None = None,
    token: Callable[[], str] = lambda: "t0ken",
    lease_seconds: float = 30.0,
) -> GitHubPublisher:
    client = GitHubClient(repository, token, github.url)
    lease = SqliteBranchLease(leases, clock)
    return GitHubPublisher(client, branch, lease, clock, lease_seconds=lease_seconds)


def commits_of(repository: Repository, exploration_id: str, run: int = 1) -> list[Commit]:
    """The commits that carry the trailers of one run, as git itself reads them."""
    wanted = (exploration_id, str(run))
    return [
        commit
        for commit in repository.log()
        if (commit.trailers.get("Exploration-Id"), commit.trailers.get("Exploration-Run")) == wanted
    ]


def calls_of_a_publication(desk: Desk, github: FakeGitHub) -> int:
    """How many calls it takes where there is research already, the last of which moves the branch."""
    desk.publish(desk.finished(idea="The very first one"))
    before = len(github.requests)
    desk.publish(desk.finished(idea="One to count the calls of"))
    assert github.requests[-1].method == "PATCH"
    return len(github.requests) - before
