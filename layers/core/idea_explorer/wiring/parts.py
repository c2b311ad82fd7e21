"""Parts that everything else is put together from."""

from typing import TextIO

from idea_explorer.ports import Clock, Log

LOCAL_OWNER = "local"


def system_clock() -> Clock:
    from idea_explorer.adapters.clock import SystemClock

    return SystemClock()


def cli_log(stream: TextIO | None) -> Log:
    """Structured lines on a stream, or none at all."""
    from idea_explorer.observability.logging import SilentLog, stream_log

    return stream_log(stream) if stream else SilentLog()
