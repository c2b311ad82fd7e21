"""When a model call is made again."""

from idea_explorer.domain.errors import ExternalError
from idea_explorer.domain.events import TryingAgain
from idea_explorer.domain.retry import Retry, RetryPolicy

ATTEMPTS = 5
MODEL_CALLS = RetryPolicy(first=1.0, attempts=ATTEMPTS)


def next_try(error: ExternalError, failed: int, *, step: int) -> TryingAgain | None:
    """The event that announces the next attempt, or None where there is none."""
    again = MODEL_CALLS.next(error, failed)
    return announce(again, step=step) if again else None


def announce(again: Retry, *, step: int) -> TryingAgain:
    assert isinstance(again.error, ExternalError)
    return TryingAgain(
        step=step,
        attempt=again.attempt,
        attempts=ATTEMPTS,
        seconds=again.seconds,
        reason=again.error.message,
        error_type=again.error.error_type,
    )
