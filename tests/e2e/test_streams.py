"""Events of a deployed run, streamed by the function that the template declares, through API Gateway."""

import json
import statistics
import threading
import time
from collections.abc import Iterator
from dataclasses import replace

import httpx
import pytest

from idea_explorer.domain.events import StatusChanged, TextDelta
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.request import ExploreRequest
from idea_explorer.usecases.run_events import RecordingSink
from tests.e2e.conftest import client_of
from tests.e2e.harness.stack import Machine, Options, Stack

pytestmark = pytest.mark.slow
WORDS = 20
PAUSE_SECONDS = 0.3


@pytest.fixture(scope="module")
def stack(machine: Machine, options: Options) -> Iterator[Stack]:
    """With one stream at a time, in an account with ten executions."""
    parameters = {**options.parameters, "MaxStreams": 1}
    with machine.stack(replace(options, parameters=parameters, warm=("ApiFunction",))) as stack:
        yield stack


@pytest.fixture
def ada(stack: Stack) -> Iterator[httpx.Client]:
    with client_of(stack, "ada") as client:
        yield client


@pytest.fixture
def running(stack: Stack) -> Exploration:
    """As if a worker had it."""
    at = stack.stores.clock.now()
    request = ExploreRequest(idea="Bees, streamed")
    new = Exploration.new(request, "ada", at=at)
    assert stack.stores.explorations.create(new)
    new = stack.stores.explorations.take_over(new.id, lambda e: e.started(at=at))
    stack.stores.events.append(new.id, None, StatusChanged(from_="queued", to="running"))
    return new


def write(stack: Stack, exploration: Exploration) -> None:
    """What a model writes: the time at which it writes it."""
    stores = replace(stack.stores, text_seconds=0.0)
    transcript = stores.transcripts.open(exploration.id, exploration.lease)
    with RecordingSink(transcript, [], stores) as sink:
        for _ in range(WORDS):
            time.sleep(PAUSE_SECONDS)
            sink.emit(TextDelta(content=f"{time.time()} "))
    done = exploration.finished("completed", at=stack.stores.clock.now())
    stack.stores.explorations.save(done, [StatusChanged(from_="running", to="completed")])


def read(
    api: httpx.Client, exploration: Exploration, after: int = 0
) -> Iterator[tuple[int, str, float]]:
    """Number and data of each event, and when it was there."""
    headers = {"Accept": "text/event-stream", "Last-Event-ID": str(after)}
    with api.stream("GET", f"/explorations/{exploration.id}/events", headers=headers) as reply:
        assert reply.status_code == 200
        assert reply.headers["content-type"].startswith("text/event-stream")
        assert reply.headers["x-content-type-options"] == "nosniff"
        number = 0
        for line in reply.iter_lines():
            if line.startswith("id: "):
                number = int(line.removeprefix("id: "))
            if line.startswith("data: "):
                yield number, line.removeprefix("data: "), time.time()


def test_text_is_read_while_it_is_written_and_the_stream_ends_with_the_run(
    stack: Stack, ada: httpx.Client, running: Exploration
) -> None:
    writer = threading.Thread(target=write, args=(stack, running))
    address = f"/explorations/{running.id}/events"
    ada.get(address, headers={"Accept": "application/json"})  # the function has started
    writer.start()
    came = list(read(ada, running))
    writer.join()

    assert [number for number, _, _ in came] == list(range(1, len(came) + 1))
    delays = [
        at - float(word)
        for _, data, at in came
        for word in str(json.loads(data).get("content", "")).split()
    ]
    assert len(delays) == WORDS
    print(
        f"from the model to the client: p50 {statistics.median(delays):.2f} s, most {max(delays):.2f} s"
    )
    assert statistics.median(delays) < 0.6
    assert json.loads(came[-1][1])["to"] == "completed"
    over = ada.get(address, headers={"Last-Event-ID": str(came[-1][0])})
    assert over.status_code == 204


def test_beyond_the_limit_the_answer_comes_at_once_and_with_the_same_events(
    stack: Stack, ada: httpx.Client, running: Exploration
) -> None:
    stack.stores.events.append(running.id, None, TextDelta(content="a"))
    address = f"/explorations/{running.id}/events"
    with ada.stream("GET", address, headers={"Accept": "text/event-stream"}) as first:
        lines = first.iter_lines()
        assert next(lines) == "id: 1"
        began = time.monotonic()
        second = ada.get(address, headers={"Accept": "text/event-stream"})
        third = ada.get(address, headers={"Accept": "application/json"})

        assert (
            time.monotonic() - began < 45
        )  # cold starts of a busy machine, and no stream of a minute
        assert "retry: 1000" in second.text
        assert "id: 2\nevent: text_delta" in second.text
        assert [event["id"] for event in third.json()["events"]] == [1, 2]
        assert ada.get(f"/explorations/{running.id}").status_code == 200
    done = running.finished("completed", at=stack.stores.clock.now())
    stack.stores.explorations.save(done, [StatusChanged(from_="running", to="completed")])


def test_what_is_not_ones_own_is_not_streamed(stack: Stack, running: Exploration) -> None:
    with client_of(stack, "bob") as bob:
        assert bob.get(f"/explorations/{running.id}/events").status_code == 404
    nobody = httpx.get(f"{stack.gateway.url}/explorations/{running.id}/events", timeout=60)
    assert nobody.status_code == 401


def test_the_streams_have_a_log_like_all_functions(stack: Stack, ada: httpx.Client) -> None:
    lines = stack.functions.log_lines(stack.named("FollowFunction"))

    routes = {line.get("route") for line in lines}
    assert "GET /explorations/<exploration_id>/events" in routes
    assert {line["function_name"] for line in lines} == {stack.named("FollowFunction")}
