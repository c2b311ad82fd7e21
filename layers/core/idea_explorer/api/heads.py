"""A stricter reading of a request's head than h11's, which takes bare line feeds, continued lines and a
repeated Content-Length: a proxy in front of this server may read those in another way."""

import re

from idea_explorer.api.http import RequestError

# A line that ends without CR, a CR alone, a header that continues on the next line, a NUL.
_AMBIGUOUS = re.compile(rb"(?<!\r)\n|\r(?!\n|\Z)|\n[ \t]|\0")
_LINE_END = b"\r\n"
_LENGTH = b"content-length:"
_VERSIONS = (b" HTTP/1.1", b" HTTP/1.0")


class HeadCheck:
    """Checks one head after the other, each byte once: a peer may send them one by one."""

    def __init__(self, max_bytes: int, max_headers: int) -> None:
        self._max_bytes = max_bytes
        self._max_lines = max_headers + 1  # with the request line
        self._checked = 0
        self._lines = 0

    def check(self, received: bytes) -> None:
        """Raises RequestError. `received` is all that has arrived of a head, which may be unfinished."""
        end = received.find(2 * _LINE_END, max(self._checked - 3, 0))
        length = len(received) if end < 0 else end
        since = max(self._checked - 1, 0)  # a line end may be half checked
        until = length + len(_LINE_END)
        self._lines += received.count(_LINE_END, since, until)
        if length > self._max_bytes or self._lines > self._max_lines:
            raise RequestError(431, "The request's headers are too long.")
        if _AMBIGUOUS.search(received, since, until):
            raise RequestError(400, "The request is not valid HTTP.")
        self._checked = length
        if end >= 0:
            self._checked = self._lines = 0
            _check_lines(received[:end])


def _check_lines(head: bytes) -> None:
    first, *lines = head.split(_LINE_END)
    if not first.endswith(_VERSIONS):
        raise RequestError(400, "The request is not HTTP 1.1.")
    lengths = [line[len(_LENGTH) :].strip() for line in lines if line.lower().startswith(_LENGTH)]
    if len(lengths) > 1:
        raise RequestError(400, "The request has more than one Content-Length.")
    if not all(length.isdigit() for length in lengths):
        raise RequestError(400, "Content-Length is not a number.")
