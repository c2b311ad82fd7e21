"""Hand a stored exploration to the workers."""

from idea_explorer.domain.errors import ExternalError
from idea_explorer.domain.exploration import Exploration
from idea_explorer.ports import Log, WorkQueue


def enqueue(exploration: Exploration, queue: WorkQueue, log: Log) -> None:
    """Send the run to the queue. A queue that fails loses nothing: the sweep sends it later."""
    try:
        queue.send(exploration.id, exploration.run)
    except ExternalError as error:
        log.warning("enqueue_failed", explorationId=exploration.id, error=type(error).__name__)
