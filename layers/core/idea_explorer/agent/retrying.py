"""When a model call is tried again, and after how long."""

from idea_explorer.domain.errors import ExternalError
from idea_explorer.domain.events import RetryScheduled

RETRY_DELAYS = (1.0, 2.0, 4.0, 8.0)  # between attempts at one model call
ATTEMPTS = len(RETRY_DELAYS) + 1


def next_try(error: ExternalError, failed: int, *, step: int) -> RetryScheduled | None:
    """The next attempt after so many that failed, or None where none would help."""
    if not error.retryable or failed >= ATTEMPTS:
        return None
    asked = error.retry_after
    return RetryScheduled(
        step=step,
        attempt=failed + 1,
        attempts=ATTEMPTS,
        seconds=RETRY_DELAYS[failed - 1] if asked is None else max(asked, 0.0),
        reason=error.message,
        error_type=error.error_type,
    )
