"""The live view: nothing is missed, nothing comes twice, and it ends."""

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from idea_explorer.api.app import build_handler
from idea_explorer.api.gateway import LocalContext, build_gateway_event
from idea_explorer.domain.events import StatusChanged, TextDelta
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.run import Pause
from idea_explorer.ports import NumberedEvent
from idea_explorer.usecases import follow
from tests.fakes.api import Api, Reply
from tests.fakes.clock import ManualClock


def events(
    api: Api, exploration: Exploration, after: object = None, accept: str = "text/event-stream"
) -> Reply:
    headers = {"Accept": accept}
    if after is not None:
        headers["Last-Event-ID"] = str(after)
    return api.get(f"/explorations/{exploration.id}/events", headers=headers)


def frames(reply: Reply) -> list[dict[str, str]]:
    """The events of a stream, read as the standard says."""
    found = []
    for frame in reply.text.split("\n\n"):
        lines = dict(line.split(": ", 1) for line in frame.split("\n") if line)
        if "data" in lines:
            found.append(lines)
    return found


def numbers(reply: Reply) -> list[int]:
    return [int(frame["id"]) for frame in frames(reply)]


def with_texts(api: Api, *texts: str) -> Exploration:
    running = api.run_to(api.submitted(), "running")
    api.emit(running, *(TextDelta(content=text) for text in texts))
    return running


def test_an_answer_holds_all_events_as_a_stream(api: Api) -> None:
    running = with_texts(api, "Bees\nare\r\n\u2028small")

    reply = events(api, running)

    assert reply.headers["content-type"] == "text/event-stream; charset=utf-8"
    assert [frame["event"] for frame in frames(reply)] == ["status_changed", "text_delta"]
    assert numbers(reply) == [1, 2]
    assert json.loads(frames(reply)[1]["data"]) == {
        "type": "text_delta",
        "content": "Bees\nare\r\n\u2028small",
    }
    assert reply.text.endswith("retry: 100\n\n")


def test_reconnecting_anywhere_misses_nothing_and_repeats_nothing(api: Api) -> None:
    running = with_texts(api, *"abcdefgh")

    for after in range(9):
        assert numbers(events(api, running, after)) == list(range(after + 1, 10))


def test_what_is_new_is_answered_at_once(api: Api) -> None:
    events(api, with_texts(api, "a"), 1)

    assert api.clock.slept == []


def test_without_news_it_waits_and_says_when_to_ask_again(api: Api) -> None:
    reply = events(api, with_texts(api, "a"), 2)

    assert (reply.status, frames(reply)) == (200, [])
    assert reply.text == "retry: 100\n\n"
    assert api.clock.elapsed == pytest.approx(20)


@pytest.fixture
def deployed(tmp_path: Path) -> Api:
    """The API as a deployment answers: at once."""
    api = Api(tmp_path)
    api.handle = build_handler(replace(api.deps, events_wait_seconds=0.0))
    return api


def test_a_deployment_answers_at_once_and_leaves_the_pause_to_the_client(deployed: Api) -> None:
    running = with_texts(deployed, "a")

    assert events(deployed, running, 1).text.endswith("retry: 1000\n\n")
    assert events(deployed, running, 2).text == "retry: 2000\n\n"
    assert deployed.clock.slept == []


@pytest.mark.parametrize(("waited", "pause"), [(0, 1_000), (12, 3_000), (3_600, 5_000)])
def test_the_longer_it_waits_for_a_worker_the_less_often_to_ask(
    deployed: Api, waited: float, pause: int
) -> None:
    queued = deployed.submitted()
    deployed.clock.pass_time(waited)

    reply = events(deployed, queued, accept="application/json")

    assert reply.json["retry_ms"] == pause
    assert deployed.clock.slept == []


def test_a_paused_run_is_asked_about_as_seldom_as_one_that_waits(deployed: Api) -> None:
    running = with_texts(deployed, "a")
    pause = Pause(sentence="Overloaded.", until=deployed.clock.now() + timedelta(seconds=60))
    deployed.store.save(running.replace(pause=pause))
    deployed.clock.pass_time(30)

    assert events(deployed, running, 2).text == ": Overloaded.\n\nretry: 5000\n\n"


def test_after_the_final_event_a_client_need_not_wait_to_hear_that_it_is_over(
    deployed: Api,
) -> None:
    done = deployed.run_to(deployed.submitted(), "completed")

    assert events(deployed, done, 1).text.endswith("retry: 100\n\n")


def test_what_a_run_waits_for_is_a_comment_and_no_event(api: Api) -> None:
    running = with_texts(api, "a")
    sentence = "Claude is overloaded (529). Trying again in 8 s (attempt 5 of 5)."
    pause = Pause(sentence=sentence, until=api.clock.now() + timedelta(seconds=8))
    api.store.save(running.replace(pause=pause))

    reply = events(api, running, 2)
    as_json = events(api, running, 2, accept="application/json")
    api.clock.pass_time(8)

    assert reply.text == f": {sentence}\n\nretry: 100\n\n"
    assert as_json.json == {"events": [], "last_event_id": 2, "over": False, "retry_ms": 100}
    assert events(api, running, 2).text == "retry: 100\n\n"


def test_an_event_that_comes_while_waiting_is_answered(tmp_path: Path) -> None:
    api = Api(tmp_path)
    running = with_texts(api, "a")
    clock = Busy(api, running, at=3)
    news = follow.follow(running.id, 2, replace(api.deps, clock=clock), wait_seconds=20)

    assert [event.number for event in news.events] == [3]
    assert clock.elapsed == pytest.approx(3)


class Busy(ManualClock):
    """A clock during whose third second something happens."""

    def __init__(self, api: Api, running: Exploration, at: float) -> None:
        super().__init__()
        self._api, self._running, self._at = api, running, at

    def sleep(self, seconds: float) -> None:
        super().sleep(seconds)
        if self.elapsed == self._at:
            self._api.emit(self._running, TextDelta(content="late"))


def test_it_answers_before_the_function_runs_out_of_time(api: Api) -> None:
    api.context.seconds = 8

    events(api, with_texts(api, "a"), 2)

    assert api.clock.elapsed == pytest.approx(5)


def test_after_the_final_event_there_is_nothing_more(api: Api) -> None:
    done = api.run_to(api.submitted(), "completed")

    last = events(api, done, 1)
    after = events(api, done, 2)

    assert numbers(last) == [2]
    assert (after.status, after.text) == (204, "")
    assert api.clock.slept == []


def test_a_resumed_exploration_goes_on_after_its_final_event(api: Api) -> None:
    partial = api.run_to(api.submitted(), "partial")
    assert events(api, partial, 2).status == 204

    api.post(f"/explorations/{partial.id}/resume")

    assert numbers(events(api, partial, 2)) == [3]


def test_a_final_status_whose_event_is_still_to_come_is_waited_for(api: Api) -> None:
    running = with_texts(api)
    api.store.save(running.finished("completed", at=api.clock.now()))

    assert events(api, running, 1).status == 200

    api.emit(running, StatusChanged(from_="running", to="completed"))
    assert numbers(events(api, running, 1)) == [2]


def test_a_final_event_that_was_lost_is_not_waited_for_for_ever(api: Api) -> None:
    running = with_texts(api)
    api.store.save(running.finished("completed", at=api.clock.now()))
    api.clock.pass_time(timedelta(minutes=2).total_seconds())

    assert events(api, running, 1).status == 204


def test_json_is_answered_where_it_is_asked_for(api: Api) -> None:
    running = with_texts(api, "a", "b")

    found = events(api, running, 1, accept="application/json").json

    assert [event["id"] for event in found["events"]] == [2, 3]
    assert found["events"][0]["data"] == {"type": "text_delta", "content": "a"}
    assert (found["last_event_id"], found["over"]) == (3, False)


def test_json_says_that_it_is_over(api: Api) -> None:
    done = api.run_to(api.submitted(), "completed")

    found = events(api, done, 2, accept="application/json").json

    assert found == {"events": [], "last_event_id": 2, "over": True, "retry_ms": 100}


@pytest.mark.parametrize("given", ["-1", "one", "1.5", "9" * 5_000, "٣", "1; DROP", "99"])
def test_a_strange_last_event_id_is_refused(api: Api, given: str) -> None:
    reply = events(api, with_texts(api, "a"), given)

    assert reply.status == 422
    assert list(reply.fields) == ["Last-Event-ID"]


def test_an_empty_last_event_id_is_the_beginning(api: Api) -> None:
    assert numbers(events(api, with_texts(api, "a"), "")) == [1, 2]


def streamed(api: Api, exploration: Exploration, after: int = 0, query: str = "") -> Iterator[str]:
    """The parts of a response to somebody who takes it in parts."""
    headers = {"accept": "text/event-stream", "last-event-id": str(after)}
    target = f"/explorations/{exploration.id}/events{query}"
    event = build_gateway_event("GET", target, headers, b"", "ada")
    answer = api.handle(event, LocalContext(streams=True))
    assert answer["statusCode"] == 200
    body = answer["body"]
    assert isinstance(body, Iterator)
    return body


def test_a_stream_goes_on_with_each_event_until_the_run_has_ended(api: Api) -> None:
    running = with_texts(api, "a", "b")

    stream = streamed(api, running, 1)
    parts = [next(stream)]
    api.emit(running, TextDelta(content="c"))
    parts.append(next(stream))
    api.store.save(
        running.finished("completed", at=api.clock.now()),
        [StatusChanged(from_="running", to="completed")],
    )
    parts += stream

    assert [numbers(Reply(200, {}, part)) for part in parts] == [[2, 3], [4], [5]]
    assert parts[-1].endswith("retry: 100\n\n")


def test_a_silent_stream_is_kept_alive(api: Api) -> None:
    stream = streamed(api, with_texts(api, "a"), 2)

    assert [next(stream), next(stream), next(stream)] == [
        "retry: 2000\n\n",
        *["retry: 100\n\n"] * 2,
    ]
    assert api.clock.elapsed == pytest.approx(30, abs=1)


def test_a_stream_says_once_what_a_run_waits_for_and_when_it_goes_on(api: Api) -> None:
    running = with_texts(api, "a")
    stream = streamed(api, running, 2)
    next(stream)
    pause = Pause(sentence="Overloaded.", until=api.clock.now() + timedelta(seconds=8))
    api.store.save(running.replace(pause=pause))

    parts = [next(stream), next(stream)]

    assert parts == [": Overloaded.\n\nretry: 100\n\n", "retry: 100\n\n"]
    assert 8 <= api.clock.elapsed < 8 + 15 + 1


def test_a_stream_of_data_has_nothing_else(api: Api) -> None:
    running = with_texts(api, "a")
    data = 'data: {"type":"text_delta","content":"a"}\n\n'

    assert next(streamed(api, running, 1, "?format=data")) == data
    assert api.get(f"/explorations/{running.id}/events?format=data").text.endswith(data)
    assert api.get(f"/explorations/{running.id}/events?format=xml").fields.keys() == {"format"}


def test_a_silent_stream_of_data_is_kept_alive(api: Api) -> None:
    stream = streamed(api, with_texts(api, "a"), 2, "?format=data")

    assert [next(stream), next(stream)] == ["\n", "\n"]


def test_a_client_that_sends_no_headers_names_the_last_event_in_the_address(api: Api) -> None:
    done = api.run_to(api.submitted(), "completed")
    place = f"/explorations/{done.id}/events"

    assert numbers(api.get(f"{place}?after=1")) == [2]
    assert api.get(f"{place}?format=data&after=2").status == 204
    assert numbers(api.get(f"{place}?after=2", headers={"Last-Event-ID": "1"})) == [2]
    for given in ("-1", "one", "1.5", "9" * 5_000):
        assert api.get(f"{place}?after={given}").fields.keys() == {"after"}


@pytest.mark.parametrize("after", [1, 2])
def test_a_stream_ends_while_the_run_waits_for_a_person(api: Api, after: int) -> None:
    running = with_texts(api)
    now = api.clock.now()
    api.store.save(
        running.moved("awaiting_approval", at=now, awaiting_since=now),
        [StatusChanged(from_="running", to="awaiting_approval")],
    )

    parts = list(streamed(api, running, after))

    assert [n for part in parts for n in numbers(Reply(200, {}, part))] == [2][after - 1 :]
    assert parts[-1] == "retry: 1000\n\n"
    assert api.clock.slept == []
    data = streamed(api, running, 2, "?format=data")
    assert [next(data), next(data)] == ["\n", "\n"]  # it could not tell this from the end


def test_what_is_over_or_refused_is_no_stream(api: Api) -> None:
    done = api.run_to(api.submitted(), "completed")
    target = f"/explorations/{done.id}/events"
    answers = [
        api.handle(
            build_gateway_event("GET", target, {"last-event-id": after}, b"", "ada"),
            LocalContext(streams=True),
        )
        for after in ("2", "99")
    ]

    assert [answer["statusCode"] for answer in answers] == [204, 422]


class Full:
    """A log with more in it than one answer holds."""

    def __init__(self, *sizes: int) -> None:
        self._events = [
            NumberedEvent(number, "text_delta", "x" * size)
            for number, size in enumerate(sizes, start=1)
        ]

    def append(self, *_: object) -> None:
        raise NotImplementedError

    def read(self, _id: object, *, after: int = 0, limit: int = 1_000) -> list[NumberedEvent]:
        return self._events[after : after + limit]

    def read_last(self, _id: object, *, limit: int) -> list[NumberedEvent]:
        return self._events[-limit:]


@pytest.mark.parametrize(
    ("sizes", "held"),
    [
        ([900_000, 900_000, 900_000], 2),
        ([3_000_000, 1], 1),
        ([1, 3_000_000], 1),
        ([1] * 1_500, 1_000),
    ],
)
def test_an_answer_holds_what_lambda_can_send_and_at_least_one(
    api: Api, sizes: list[int], held: int
) -> None:
    news = follow.follow(
        api.submitted().id,
        0,
        replace(api.deps, events=Full(*sizes)),
        wait_seconds=1,
    )

    assert [event.number for event in news.events] == list(range(1, held + 1))
