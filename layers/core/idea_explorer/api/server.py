"""The API on this machine: Uvicorn with our limits, in front of the handler that Lambda runs too."""

import asyncio
import errno
import socket
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Self, cast

import uvicorn

from idea_explorer.api.connections import Connection, ConnectionLimits, Connections
from idea_explorer.api.hosts import HostRules
from idea_explorer.api.local_app import LocalApp, RedeemCode, StoreFile
from idea_explorer.domain.errors import ConfigurationError

if TYPE_CHECKING:
    from idea_explorer.api.app import Handler

# before those that were accepted are read: fewer than one peer may have open
ACCEPTED_AT_ONCE = 128
# by the kernel: a connection beyond that is tried again by its peer only after a second
QUEUED = 1_024
TICK_SECONDS = 1.0  # the Date header is renewed this often


class ApiServer:
    """Serves from `serve_forever` until `shutdown`. One event loop has all connections, so that idle and
    slow ones cost little; each call of the handler has a thread, so that it may wait."""

    def __init__(
        self,
        address: tuple[str, int],
        handle: "Handler",
        tokens: Callable[[], str],
        store: StoreFile | None = None,
        *,
        names: Iterable[str] = (),
        proxies: Iterable[str] = (),
        limits: ConnectionLimits | None = None,
        sign_in: RedeemCode | None = None,
    ) -> None:
        """`names` are hosts besides those of this machine; `proxies` are peers that speak for many.
        `sign_in` gives the token for the code of a sign-in link."""
        self._host = address[0]
        rules = HostRules(self._host, names)
        self._socket = _listen(address)
        self._ended = threading.Event()
        self.connections = Connections(limits or ConnectionLimits(), frozenset(proxies))
        app = LocalApp(handle, tokens, store, rules, self.connections.limits, sign_in)
        self._server = _Server(_configure(app, self.connections))

    @property
    def url(self) -> str:
        port = self._socket.getsockname()[1]
        return (
            f"http://[{self._host}]:{port}" if ":" in self._host else f"http://{self._host}:{port}"
        )

    def serve_forever(self) -> None:
        try:
            asyncio.run(self._server.serve(sockets=[self._socket]))
        finally:
            self._ended.set()

    def shutdown(self) -> None:
        """End `serve_forever`, which runs in another thread, and wait until it has ended."""
        self._server.stop()
        self._ended.wait()

    def server_close(self) -> None:
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.server_close()


class _Server(uvicorn.Server):
    """Ends at once when it is told to, whatever calls are waiting. Leaves signals to the command line."""

    _wake: Callable[[], object] | None = None

    def stop(self) -> None:
        """Callable from any thread."""
        self.should_exit = True
        if self._wake is not None:
            with suppress(RuntimeError):  # the loop has ended
                self._wake()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for listener in sockets or ():
            listener.listen(QUEUED)  # asyncio set it to the number that it accepts at once

    async def main_loop(self) -> None:
        woken = asyncio.Event()
        self._wake = partial(asyncio.get_running_loop().call_soon_threadsafe, woken.set)
        while not await self.on_tick(0):
            with suppress(TimeoutError):
                async with asyncio.timeout(TICK_SECONDS):
                    await woken.wait()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for server in self.servers:
            server.close()
        for connection in list(self.server_state.connections):
            cast("Connection", connection).transport.abort()
        await asyncio.sleep(0)  # they notice before their calls are cancelled


def _configure(app: LocalApp, connections: Connections) -> uvicorn.Config:
    return uvicorn.Config(
        cast("Any", app),
        http=cast("Any", partial(Connection, connections=connections)),
        ws="none",
        loop="none",
        lifespan="off",
        interface="asgi3",
        proxy_headers=False,  # nothing here depends on X-Forwarded-*, which anybody can send
        server_header=False,
        headers=[("Server", "idea-explorer")],
        log_config=None,
        log_level="error",
        access_log=False,  # the handler logs each request
        backlog=ACCEPTED_AT_ONCE,
        timeout_keep_alive=connections.limits.idle_seconds,
        h11_max_incomplete_event_size=2 * connections.limits.head_bytes,
    )


def _listen(address: tuple[str, int]) -> socket.socket:
    family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
    # asyncio switches Nagle's algorithm off only where TCP is named
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(QUEUED)
    except OSError as error:
        listener.close()
        port_is_taken = error.errno in {errno.EADDRINUSE, errno.EACCES}
        raise ConfigurationError(
            f"Cannot listen on {address[0]}:{address[1]}: {error.strerror or error}.",
            hint="Choose another port with --port."
            if port_is_taken
            else "Choose an address of this machine with --host.",
        ) from error
    return listener
