"""What the main thread of a tab does, by the browser's own trace: the CPU time of each task, whatever else
the machine has to do."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
from websocket import WebSocket, create_connection

from tests.browser.driver import Browser

CATEGORIES = "toplevel,devtools.timeline,__metadata"
TASKS = {"ThreadControllerImpl::RunTask", "RunTask"}
SECONDS = 60


@contextmanager
def trace(tab: Browser) -> Iterator[list[dict[str, Any]]]:
    """The events of the trace, once it is over."""
    address = tab.chrome.capabilities["goog:chromeOptions"]["debuggerAddress"]
    about = httpx.get(f"http://{address}/json/version", trust_env=False).json()
    found: list[dict[str, Any]] = []
    socket = create_connection(
        about["webSocketDebuggerUrl"], timeout=SECONDS, suppress_origin=True, http_no_proxy=["*"]
    )
    try:
        config = {
            "includedCategories": CATEGORIES.split(","),
            "recordMode": "recordAsMuchAsPossible",
        }
        _send(socket, 1, "Tracing.start", {"traceConfig": config})
        _wait(socket, "id", 1, found)
        yield found
        _send(socket, 2, "Tracing.end", {})
        _wait(socket, "method", "Tracing.tracingComplete", found)
    finally:
        socket.close()


def list_tasks(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The tasks of all main threads of pages, each with its CPU time in milliseconds as `cpu`."""
    named = [e for e in events if e.get("name") == "thread_name"]
    main = {(e["pid"], e["tid"]) for e in named if e["args"]["name"] == "CrRendererMain"}
    return [
        {**event, "cpu": event.get("tdur", 0) / 1_000}
        for event in events
        if event.get("name") in TASKS and (event["pid"], event["tid"]) in main
    ]


def _send(socket: WebSocket, number: int, method: str, params: dict[str, Any]) -> None:
    socket.send(json.dumps({"id": number, "method": method, "params": params}))


def _wait(socket: WebSocket, key: str, value: object, found: list[dict[str, Any]]) -> None:
    while True:
        said = json.loads(socket.recv())
        if said.get("method") == "Tracing.dataCollected":
            found += said["params"]["value"]
        if said.get(key) == value:
            assert "error" not in said, said
            return
