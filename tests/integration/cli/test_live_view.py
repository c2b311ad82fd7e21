"""The live view of a deployment over lost connections."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from idea_explorer.api.server import ApiServer
from idea_explorer.cli.targets.client import ApiClient
from idea_explorer.cli.targets.deployment import DeploymentTarget
from idea_explorer.domain.errors import NetworkError, UnavailableError
from idea_explorer.domain.events import TextDelta
from idea_explorer.domain.ids import new_id
from idea_explorer.domain.run import Pause
from idea_explorer.domain.tokens import dump_tokens, make_token_record
from tests.fakes.anthropic_faults import refusing_url
from tests.fakes.api import Api
from tests.fakes.clock import START, ManualClock
from tests.fakes.served import TOKEN
from tests.fakes.serving import Listening


class Flaky:
    """The API in this process, failing before some of its answers."""

    def __init__(self, api: Api, fails: Callable[[int], bool]) -> None:
        self._api = api
        self._fails = fails
        self.calls = 0

    def __call__(self, event: Any, _context: object) -> dict[str, Any]:
        self.calls += 1
        if self._fails(self.calls):
            return {"statusCode": 503, "headers": {}, "body": ""}
        reply = self._api.send(event)
        return {"statusCode": reply.status, "headers": reply.headers, "body": reply.text}


@contextmanager
def target_of(flaky: Flaky, clock: ManualClock | None = None) -> Iterator[DeploymentTarget]:
    tokens = dump_tokens([make_token_record(TOKEN, "ada", now=START)])
    server = ApiServer(("127.0.0.1", 0), flaky, lambda: tokens)
    with Listening(server), ApiClient(server.url, TOKEN) as api:
        yield DeploymentTarget(api, clock or ManualClock())


def test_a_lost_connection_misses_nothing_and_repeats_nothing(tmp_path: Path) -> None:
    api = Api(tmp_path)
    running = api.run_to(api.submitted(), "running")
    words = [TextDelta(content=f"{n}\u2028") for n in range(2_500)]
    api.emit(running, *words)
    ended = running.finished("completed", at=api.clock.now())
    api.store.save(ended)
    api.clock.pass_time(60)
    losses: list[str] = []

    with target_of(Flaky(api, lambda call: call % 2 == 1)) as target:
        seen = list(target.events(running.id, losses.append))

    assert [event.number for event in seen] == list(range(1, 2_502))
    assert [event.event for event in seen[1:]] == words
    assert len(losses) >= 3


def test_what_a_run_waits_for_is_told_once(tmp_path: Path) -> None:
    api = Api(tmp_path)
    running = api.run_to(api.submitted(), "running")
    sentence = "Claude is overloaded (529). Trying again in 8 s (attempt 5 of 5)."
    waits = running.replace(pause=Pause(sentence=sentence, until=START + timedelta(seconds=8)))
    api.store.save(waits)
    heard: list[str] = []

    def ends_after(calls: int) -> bool:
        if calls == 5:
            api.store.save(waits.finished("completed", at=START))
            api.clock.pass_time(60)
        return False

    with target_of(Flaky(api, ends_after)) as target:
        list(target.events(running.id, heard.append))

    assert heard == [sentence]


def test_a_deployment_that_stays_away_is_given_up(tmp_path: Path) -> None:
    clock = ManualClock()
    flaky = Flaky(Api(tmp_path), lambda _: True)

    with target_of(flaky, clock) as target, pytest.raises(UnavailableError):
        list(target.events(new_id(1), lambda _: None))

    assert clock.slept == [1.0, 2.0, 4.0, 8.0, 15.0, 15.0, 15.0]


def test_no_network_at_all_is_given_up_too() -> None:
    with (
        refusing_url() as url,
        ApiClient(url, TOKEN) as api,
        pytest.raises(NetworkError, match="could not be reached"),
    ):
        list(DeploymentTarget(api, ManualClock()).events(new_id(1), lambda _: None))
