"""Faults on demand: what a network and a busy service do to a request, at a chosen moment."""

import re
import threading
from dataclasses import dataclass, field
from typing import Literal

from tests.fakes.github_wire import JSON_TYPE, ReceivedRequest, Reply

Delivery = Literal["whole", "dropped", "cut"]


@dataclass
class Fault:
    """Applies to the nth request that matches, and to the following `times - 1`; None: for good.

    `acts` says whether the request still takes effect: a reply that gets lost after the effect is
    another fault than a connection that dies before it.
    """

    path: str = ""
    method: str = ""
    nth: int = 1
    times: int | None = 1
    delay: float = 0.0
    acts: bool = True
    reply: Reply | None = None
    delivery: Delivery = "whole"
    seen: int = field(default=0, init=False)

    def applies(self, request: ReceivedRequest) -> bool:
        """Counts the request if it matches. The pattern is searched in path and query."""
        if not re.fullmatch(self.method or ".*", request.method):
            return False
        if not re.search(self.path, request.target):
            return False
        self.seen += 1
        return self.seen >= self.nth and (self.times is None or self.seen < self.nth + self.times)


class Faults(list[Fault]):
    """The faults in force; the first that applies wins, all of them count."""

    def __init__(self) -> None:
        super().__init__()
        self._counting = threading.Lock()

    def pick(self, request: ReceivedRequest) -> Fault | None:
        with self._counting:
            applying = [fault for fault in list(self) if fault.applies(request)]
        return applying[0] if applying else None

    def fail(
        self,
        status: int,
        path: str = "",
        method: str = "",
        *,
        nth: int = 1,
        times: int | None = 1,
        acts: bool = False,
        body: bytes = b'{"message": "Server Error"}',
        headers: dict[str, str] | None = None,
    ) -> None:
        """Answer with this status; with `acts` the request takes effect all the same."""
        reply = Reply(status, body, {"Content-Type": JSON_TYPE, **(headers or {})})
        self.append(Fault(path, method, nth, times, acts=acts, reply=reply))

    def drop(
        self,
        path: str = "",
        method: str = "",
        *,
        acts: bool,
        nth: int = 1,
        times: int | None = 1,
    ) -> None:
        """Close the connection without a reply: before anything happened, or after it did."""
        self.append(Fault(path, method, nth, times, acts=acts, delivery="dropped"))

    def slow(
        self, seconds: float, path: str = "", method: str = "", *, times: int | None = 1
    ) -> None:
        """Hold the request for a while before it takes effect."""
        self.append(Fault(path, method, 1, times, delay=seconds))

    def garble(self, path: str = "", method: str = "", *, nth: int = 1) -> None:
        """Act, then answer 200 with something that is not JSON."""
        reply = Reply(200, b'{"sha": "', {"Content-Type": JSON_TYPE})
        self.append(Fault(path, method, nth, reply=reply))

    def cut(self, path: str = "", method: str = "", *, nth: int = 1) -> None:
        """Act, then close the connection in the middle of the reply's body."""
        self.append(Fault(path, method, nth, delivery="cut"))
