"""`idea serve` over loopback: the API, its workers, and what they survive."""

import json
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from idea_explorer.settings import Settings
from idea_explorer.wiring.local import local_queue
from tests.fakes.anthropic_faults import hang
from tests.fakes.anthropic_scripts import ByConversation
from tests.fakes.anthropic_server import FakeAnthropic
from tests.fakes.anthropic_turns import answer, text, tool_use
from tests.fakes.command import idea
from tests.fakes.raw_http import RawConnection
from tests.fakes.reports import business
from tests.fakes.served import Served

REPORT = text(business("Urban bees", verdict="PIVOT"))


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    env = {"IDEA_ALLOWED_HOSTS": "ideas.example.org, ideas.lan"}
    with Served(tmp_path_factory.mktemp("served"), env) as server:
        yield server


@pytest.fixture
def api(served: Served) -> Iterator[httpx.Client]:
    with served.client() as client:
        yield client


def followed(api: httpx.Client, exploration_id: str, after: int = 0) -> list[tuple[int, Any]]:
    """Every event to the last, with a new request for each answer."""
    seen: list[tuple[int, Any]] = []
    while True:
        path = f"/explorations/{exploration_id}/events"
        reply = api.get(path, headers={"Last-Event-ID": str(after)})
        if reply.status_code == 204:
            return seen
        assert reply.status_code == 200, reply.text
        for frame in reply.text.split("\n\n"):
            lines = dict(line.split(": ", 1) for line in frame.split("\n") if line)
            if "data" in lines:
                after = int(lines["id"])
                seen.append((after, json.loads(lines["data"])))


def submitted(api: httpx.Client, **fields: object) -> str:
    reply = api.post("/explorations", json={"idea": "Urban bees", **fields})
    assert reply.status_code == 202, reply.text
    return str(reply.json()["id"])


def test_an_idea_becomes_a_report(api: httpx.Client, served: Served) -> None:
    exploration_id = submitted(api)

    seen = followed(api, exploration_id)

    assert [number for number, _ in seen] == list(range(1, len(seen) + 1))
    assert seen[-1][1] == {"type": "status_changed", "from": "running", "to": "completed"}
    shown = api.get(f"/explorations/{exploration_id}").json()
    report = api.get(f"/explorations/{exploration_id}/report").text
    assert shown["status"] == "completed"
    assert "# Urban bees" in report
    assert report.strip() in Path(shown["path"]).read_text("utf-8")


def test_one_call_follows_a_run_to_its_end(api: httpx.Client) -> None:
    path = f"/explorations/{submitted(api)}/events"

    with api.stream("GET", path, params={"format": "data"}) as reply:
        seen = [json.loads(line.removeprefix("data: ")) for line in reply.iter_lines() if line]

    assert seen[0]["type"] == "status_changed"
    assert seen[-1] == {"type": "status_changed", "from": "running", "to": "completed"}
    assert api.get(path, headers={"Last-Event-ID": str(len(seen))}).status_code == 204


def test_the_wrong_token_sees_nothing(served: Served) -> None:
    with served.client("wrong") as stranger:
        assert stranger.get("/explorations").status_code == 401
        assert stranger.post("/explorations", json={"idea": "bees"}).status_code == 401
        assert stranger.get("/health").status_code == 200


def test_callers_at_the_same_time_do_not_meet(served: Served) -> None:
    """A resolver that is shared between threads would answer one with the other's call."""
    wrong: list[str] = []

    def ask(number: int) -> None:
        with served.client() as client:
            for n in range(15):
                name = f"field-{number}-{n}"
                reply = client.post("/explorations", json={"idea": "bees", name: 1})
                if reply.json()["error"]["details"][0]["field"] != name:
                    wrong.append(reply.text)

    threads = [threading.Thread(target=ask, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert wrong == []


@pytest.mark.parametrize(
    ("first_line", "headers", "status"),
    [
        ("POST /explorations HTTP/1.1", "Content-Length: abc", 400),
        ("POST /explorations HTTP/1.1", "Content-Length: 99999999", 413),
        ("POST /explorations HTTP/1.1", "Transfer-Encoding: chunked", 411),
        ("BREW /explorations HTTP/1.1", "A: b", 404),
        ("nonsense", "A: b", 400),
        ("GET http://[x/ HTTP/1.1", "A: b", 400),
        ("GET /explorations?a=%zz&%00 HTTP/1.1", "A: b", 401),
    ],
)
def test_strange_http_is_answered_in_our_shape(
    served: Served, first_line: str, headers: str, status: int
) -> None:
    with RawConnection(served.url) as connection:
        connection.send(f"{first_line}\r\nHost: {connection.host}\r\n{headers}\r\n\r\n")
        connection.socket.shutdown(socket.SHUT_WR)
        answer = connection.answer()

    assert answer.status == status
    assert "nosniff" in answer.head
    assert answer.error.keys() >= {"type", "message"}


@pytest.mark.parametrize(
    ("host", "status"), [("ideas.example.org", 200), ("ideas.lan:80", 200), ("other.example", 403)]
)
def test_it_answers_to_the_names_that_it_was_given(served: Served, host: str, status: int) -> None:
    with RawConnection(served.url) as connection:
        connection.request("GET", "/health", host=host)
        assert connection.answer().status == status


def test_a_file_is_put_where_it_was_announced(served: Served, api: httpx.Client) -> None:
    room = api.post("/files", json={"name": "notes.txt", "size": 5}).json()
    address = room["upload"]["url"]

    with served.client("wrong") as stranger:
        assert stranger.put(address, content=b"bees!").status_code == 401
    assert api.put(address, content=b"too long").status_code == 422
    assert api.put("/files/file-" + "0" * 32, content=b"bees!").status_code == 404
    assert api.put("/files/../../etc/passwd", content=b"bees!").status_code == 404
    assert api.put(address, content=b"bees!").status_code == 204
    submitted(api, toolset="assistant", files=[room["file_id"]])


def test_a_run_that_dies_with_the_server_is_taken_up_by_the_next(tmp_path: Path) -> None:
    steps = [
        answer(tool_use("list_research", {})),
        answer(REPORT, fault=hang(times=1)),
    ]
    with FakeAnthropic(ByConversation(steps)) as model:
        served = Served(tmp_path, {"ANTHROPIC_API_KEY": "key", "ANTHROPIC_BASE_URL": model.url})
        with served, served.client() as api:
            running = submitted(api)
            before = seen_when(api, running, lambda: len(model.requests) == 2)
            served.end(signal.SIGKILL)
        with served, served.client() as api:
            seen = followed(api, running, before)
            assert [number for number, _ in seen] == list(range(before + 1, seen[-1][0] + 1))
            assert api.get(f"/explorations/{running}").json()["status"] == "completed"

    assert len(model.requests) == 3  # the tool's step, the one that died, and its repetition


@pytest.mark.long
def test_a_run_whose_worker_is_killed_is_taken_up_once_by_the_next(tmp_path: Path) -> None:
    steps = [
        answer(tool_use("list_research", {})),
        answer(REPORT, fault=hang(times=1)),
    ]
    with FakeAnthropic(ByConversation(steps)) as model:
        env = {"ANTHROPIC_API_KEY": "key", "ANTHROPIC_BASE_URL": model.url}
        with Served(tmp_path, env) as served, served.client() as api:
            running = submitted(api)
            before = seen_when(api, running, lambda: len(model.requests) == 2)
            for pid in served.workers():
                os.kill(pid, signal.SIGKILL)
            seen = followed(api, running, before)
            shown = api.get(f"/explorations/{running}").json()

    assert seen[-1][1]["to"] == shown["status"] == "completed"
    assert len(model.requests) == 3  # the tool's step, the one that died, and its repetition


def seen_when(api: httpx.Client, exploration_id: str, reached: Callable[[], bool]) -> int:
    """Follow until something has happened; the number of the last event seen by then."""
    after = 0
    while not reached():
        path = f"/explorations/{exploration_id}/events"
        headers = {"Last-Event-ID": str(after), "Accept": "application/json"}
        after = api.get(path, headers=headers).json()["last_event_id"]
    return after


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_it_ends_when_asked_to(tmp_path: Path, number: signal.Signals) -> None:
    served = Served(tmp_path).start()

    assert served.end(number) == 0


@pytest.mark.long
def test_a_terminal_that_closes_costs_a_run_no_attempt(tmp_path: Path) -> None:
    with FakeAnthropic(ByConversation([answer(REPORT, fault=hang(times=1))])) as model:
        env = {"ANTHROPIC_API_KEY": "key", "ANTHROPIC_BASE_URL": model.url}
        with Served(tmp_path, env) as served, served.client() as api:
            running = submitted(api)
            seen_when(api, running, lambda: len(model.requests) == 1)
            for pid in served.workers():
                os.kill(pid, signal.SIGHUP)
            assert served.end(signal.SIGHUP) == 0

    queue = local_queue(Settings.from_environment(served.env))
    queue.release_lost()
    job = queue.take()
    assert job is not None
    assert job.attempts == 1  # this one


def test_a_port_that_is_taken_is_said_in_one_sentence(tmp_path: Path) -> None:
    with Served(tmp_path) as served:
        port = served.url.rpartition(":")[2]
        done = idea("serve", "--port", port, env=served.env, folder=tmp_path)

    assert done.returncode == 2
    assert done.stderr.startswith("idea: Cannot listen on 127.0.0.1:")
    assert len(done.stderr.splitlines()) == 1
