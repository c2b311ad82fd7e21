"""Servers that serve from a thread of their own, for as long as they are entered."""

import socketserver
import threading
from typing import Self, TypeAlias

from idea_explorer.api.server import ApiServer

POLL_SECONDS = 0.02  # how soon one of Python's servers notices that it shall stop
Server: TypeAlias = socketserver.BaseServer | ApiServer


class Serving:
    _server: Server

    def __enter__(self) -> Self:
        threading.Thread(target=self.serve, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self.close()

    def serve(self) -> None:
        """Serve in this thread, until interrupted."""
        if isinstance(self._server, ApiServer):
            self._server.serve_forever()
        else:
            self._server.serve_forever(POLL_SECONDS)

    def close(self) -> None:
        self._server.server_close()


class Listening(Serving):
    """Any server, for the time of a `with`."""

    def __init__(self, server: Server) -> None:
        self._server = server
