"""Pieces of source, short enough to be shown."""

MAX_CHARS = 200


def shortened(source: bytes) -> str:
    """On one line, and cut where it is long."""
    text = " ".join(source[: MAX_CHARS * 8].decode("utf-8", "replace").split())
    return text if len(text) <= MAX_CHARS else f"{text[:MAX_CHARS]}…"
