"""From a run's outcome to its end on one machine: publish it, then tell whoever asked for it."""

from collections.abc import Callable
from dataclasses import dataclass

from idea_explorer.domain.errors import ExplorerError
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.ids import ExplorationId
from idea_explorer.domain.webhook import Target
from idea_explorer.ports import (
    Publisher,
    PullRequests,
    ResearchIndex,
    ResearchRepository,
    Webhooks,
)
from idea_explorer.usecases.engine import Engine
from idea_explorer.usecases.notify import Sender, notify
from idea_explorer.usecases.publish import publish, publish_with_retry


@dataclass(frozen=True)
class Destinations:
    """Where the word of an exploration goes. Without a publisher, reports are stored only.

    `default_webhook` is told of what names no webhook of its own; with `webhooks_retried` somebody will
    try those again whose receiver is down.
    """

    publisher: Publisher | None
    webhooks: Webhooks
    repository: str | None = None
    branch: str | None = None
    default_webhook: Callable[[], Target | None] = lambda: None
    webhooks_retried: bool = False
    index: ResearchIndex | None = None
    research: ResearchRepository | None = None
    pull_requests_for: Callable[[Exploration], PullRequests | None] = lambda _: None

    def sender(self, engine: Engine) -> Sender:
        return Sender(
            explorations=engine.explorations,
            reports=engine.reports,
            webhooks=self.webhooks,
            clock=engine.clock,
            repository=self.repository,
            branch=self.branch,
            default=self.default_webhook,
        )


def finish(
    exploration_id: ExplorationId,
    run: int,
    engine: Engine,
    destinations: Destinations,
    tell: Callable[[str], None],
) -> Exploration:
    """Publish and notify. `tell` hears of waits; what becomes of the webhook changes nothing else."""
    exploration = engine.explorations.load(exploration_id)
    final = publish_with_retry(
        lambda give_up: publish(
            exploration_id,
            run,
            explorations=engine.explorations,
            reports=engine.reports,
            publisher=destinations.publisher,
            clock=engine.clock,
            log=engine.log,
            sinks=engine.sinks_for(exploration),
            index=destinations.index,
            research=destinations.research,
            pull_requests_for=destinations.pull_requests_for,
            give_up=give_up,
        ),
        engine.clock,
        tell,
    )
    return send_webhook(final, engine, destinations)


def send_webhook(final: Exploration, engine: Engine, destinations: Destinations) -> Exploration:
    """Send the webhook of an exploration that has ended, whatever the receiver makes of it."""
    sender, retried = destinations.sender(engine), destinations.webhooks_retried
    try:
        return notify(final.id, final.run.number, sender, retried=retried)
    except ExplorerError as error:
        kind = type(error).__name__
        engine.log.warning("notify_failed", explorationId=final.id, error=kind)
        return engine.explorations.load(final.id)
