"""Rate limits the way GitHub applies them: an hourly quota, and secondary limits on top of it."""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tests.fakes.github_wire import ApiError, JsonObject, ReceivedRequest

_DOCS = "https://docs.github.com/rest/overview/rate-limits-for-the-rest-api"
_SECONDARY_DOCS = "https://docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api#about-secondary-rate-limits"
_SUPPORT = (
    "If you reach out to GitHub Support for help, please include the request ID C0DE:1:2:3:4."
)
_HOUR = 3600


class Limits:
    """Counts requests. Nothing is limited below the quota until a test sets a lower bound."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self.limit = 5000
        self.remaining = 5000
        self.status_when_exceeded = 403
        self.reset_at = int(clock()) + _HOUR
        self.max_content_requests: int | None = None
        self.window_seconds = 60.0
        self.max_concurrent: int | None = None
        self.retry_after: int | str | None = 60  # seconds, a date, or no word of it
        self._clock = clock
        self._created: deque[float] = deque()
        self._running = 0
        self._counting = threading.Lock()

    def exhaust(self, *, seconds: int = _HOUR, status: int = 403) -> None:
        """Use up the quota: every request fails until it starts anew, so many seconds from now."""
        with self._counting:
            self.remaining = 0
            self.reset_at = int(self._clock()) + seconds
            self.status_when_exceeded = status

    @contextmanager
    def in_flight(self) -> Iterator[None]:
        with self._counting:
            self._running += 1
        try:
            yield
        finally:
            with self._counting:
                self._running -= 1

    def check(self, request: ReceivedRequest) -> None:
        """Charge for the request, or refuse it; a refused one is not charged."""
        with self._counting:
            now = self._clock()
            if now >= self.reset_at:
                self.remaining, self.reset_at = self.limit, int(now) + _HOUR
            if self.remaining <= 0:
                message = f"API rate limit exceeded for user ID 1. {_SUPPORT}"
                raise ApiError(self.status_when_exceeded, message, docs=_DOCS)
            if self.max_concurrent is not None and self._running > self.max_concurrent:
                raise self._secondary("Please wait a few minutes before you try again.")
            if request.writes:
                self._count_content(now)
            self.remaining -= 1

    def headers(self) -> dict[str, str]:
        return {
            "X-RateLimit-Limit": str(self.limit),
            "X-RateLimit-Remaining": str(self.remaining),
            "X-RateLimit-Used": str(self.limit - self.remaining),
            "X-RateLimit-Reset": str(self.reset_at),
            "X-RateLimit-Resource": "core",
        }

    def summary(self) -> JsonObject:
        core = {
            "limit": self.limit,
            "used": self.limit - self.remaining,
            "remaining": self.remaining,
            "reset": self.reset_at,
        }
        return {"resources": {"core": core}, "rate": core}

    def _count_content(self, now: float) -> None:
        while self._created and self._created[0] <= now - self.window_seconds:
            self._created.popleft()
        most = self.max_content_requests
        if most is not None and len(self._created) >= most:
            raise self._secondary(
                "and have been temporarily blocked from content creation. "
                "Please retry your request again later.",
                joint=" ",
            )
        self._created.append(now)

    def _secondary(self, rest: str, joint: str = ". ") -> ApiError:
        message = f"You have exceeded a secondary rate limit{joint}{rest} {_SUPPORT}"
        headers = {} if self.retry_after is None else {"Retry-After": str(self.retry_after)}
        return ApiError(403, message, docs=_SECONDARY_DOCS, headers=headers)
