"""From a run's outcome to its end on one machine: publish the report, then send the webhook."""

from collections.abc import Callable

from idea_explorer.domain.errors import ExplorerError
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.ids import ExplorationId
from idea_explorer.usecases.deps import Deps
from idea_explorer.usecases.notify import notify
from idea_explorer.usecases.publish import publish_with_retry


def finish(
    exploration_id: ExplorationId, run: int, deps: Deps, on_wait: Callable[[str], None]
) -> Exploration:
    """Publish and notify. `on_wait` is given a sentence before each wait."""
    return send_webhook(publish_with_retry(exploration_id, run, deps, on_wait), deps)


def send_webhook(final: Exploration, deps: Deps) -> Exploration:
    """Send the webhook of an exploration that has ended. A failure is logged, not raised."""
    try:
        return notify(final.id, final.run.number, deps)
    except ExplorerError as error:
        kind = type(error).__name__
        deps.log.warning("notify_failed", explorationId=final.id, error=kind)
        return deps.explorations.load(final.id)
