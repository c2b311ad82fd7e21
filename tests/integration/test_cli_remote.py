"""The commands against a deployment, over the wire."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from idea_explorer.api.server import ApiServer
from idea_explorer.cli import main
from idea_explorer.cli.remote.client import Remote
from idea_explorer.cli.remote.events import PAUSES, told
from idea_explorer.domain.errors import NetworkError, UnavailableError
from idea_explorer.domain.events import TextDelta
from idea_explorer.domain.exploration import Pause
from idea_explorer.domain.ids import new_id
from idea_explorer.domain.tokens import dump_tokens, stored_token
from tests.fakes.anthropic_faults import refusing_url
from tests.fakes.anthropic_scripts import ByConversation
from tests.fakes.anthropic_server import FakeAnthropic
from tests.fakes.anthropic_turns import answer, text, tool_use
from tests.fakes.api import Api
from tests.fakes.clock import START, ManualClock
from tests.fakes.served import TOKEN, Served

NOBODYS = "00000000-0001-7000-8000-000000000000"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with Served(tmp_path_factory.mktemp("served")) as server:
        yield server


class Idea:
    """The command, in this process."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *arguments: str) -> tuple[int, str, str]:
        code = main(arguments)
        out, err = self._capsys.readouterr()
        return code, out, err


@pytest.fixture
def idea(
    served: Served, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Idea:
    monkeypatch.setenv("IDEA_API_URL", served.url)
    monkeypatch.setenv("IDEA_API_TOKEN", TOKEN)
    return Idea(capsys)


@pytest.fixture
def done(idea: Idea) -> str:
    """An exploration that has completed."""
    _, out, _ = idea("submit", "Urban bees", "--quiet")
    exploration_id = out.strip()
    idea("watch", exploration_id, "--quiet")
    return exploration_id


def test_an_idea_is_sent_watched_and_read(idea: Idea) -> None:
    code, out, err = idea("submit", "Bees on roofs", "--mode", "exploration")
    exploration_id = out.strip()
    assert (code, "follow it with: idea watch" in err) == (0, True)

    code, out, err = idea("watch", exploration_id)
    assert code == 0
    assert "Watching: Bees on roofs" in err
    assert "step 1: " in err
    assert "completed" in out
    assert "research.md" in out.splitlines()[0]

    code, out, err = idea("report", exploration_id)
    assert code == 0
    assert "# Bees on roofs" in out
    assert err == ""


def test_the_words_of_the_report_are_shown_as_they_come(idea: Idea) -> None:
    _, _, err = idea("submit", "Bees in parks", "--watch")

    assert "    # Bees in parks" in err


def test_an_exploration_is_shown(idea: Idea, done: str) -> None:
    code, out, _ = idea("status", done)
    assert code == 0
    assert "completed · step" in out

    assert idea("status", done, "--quiet")[1] == "completed\n"
    assert json.loads(idea("status", done, "--json")[1])["id"] == done


def test_explorations_are_listed(idea: Idea, done: str) -> None:
    code, out, _ = idea("list", "--status", "completed")
    assert code == 0
    assert any(done in line and "Urban bees" in line for line in out.splitlines())

    assert idea("list", "--limit", "1", "--quiet")[1].strip() == done
    assert json.loads(idea("list", "--json")[1])["explorations"][0]["id"] == done
    code, out, err = idea("list", "--status", "failed")
    assert (code, out, err) == (0, "", "idea: no exploration is like that\n")


QUESTION = ("submit", "What is 6 * 7?", "--toolset", "assistant", "--watch")


def test_an_answer_that_is_not_published_is_printed(idea: Idea) -> None:
    code, out, err = idea(*QUESTION, "--quiet")

    assert (code, err) == (0, "")
    assert "= 42" in out


def test_a_script_that_submits_and_watches_gets_the_whole_as_the_last_object(idea: Idea) -> None:
    code, out, _ = idea(*QUESTION, "--json")

    *events, whole = [json.loads(line) for line in out.splitlines()]
    assert code == 0
    assert all("type" in event for event in events)
    assert list(whole) == ["id", "status", "content", "path", "stats", "error"]
    assert (whole["status"], "= 42" in whole["content"]) == ("completed", True)


def test_a_script_gets_events_as_lines_of_json(idea: Idea, done: str) -> None:
    code, out, err = idea("watch", done, "--json")

    events = [json.loads(line) for line in out.splitlines()]
    assert (code, err) == (0, "")
    assert [event["id"] for event in events] == list(range(1, len(events) + 1))
    assert events[-1] == {
        "id": len(events),
        "type": "status_changed",
        "from": "running",
        "to": "completed",
    }


def test_the_report_as_json(idea: Idea, done: str) -> None:
    found = json.loads(idea("report", done, "--json")[1])

    assert found["id"] == done
    assert "# Urban bees" in found["content"]


@pytest.mark.parametrize("command", ["cancel", "resume"])
def test_what_cannot_be_done_is_said(idea: Idea, done: str, command: str) -> None:
    code, out, err = idea(command, done)

    assert (code, out) == (1, "")
    assert err.startswith(f"idea: Exploration {done} is completed;")


def test_the_same_key_starts_one_exploration(idea: Idea) -> None:
    first = idea("submit", "Urban bees", "--idempotency-key", "k1", "--quiet")
    again = idea("submit", "Urban bees", "--idempotency-key", "k1", "--quiet")

    assert first == again


def test_files_are_sent_along(idea: Idea, served: Served, tmp_path: Path) -> None:
    notes = tmp_path / "notes – ä.txt"
    notes.write_bytes(b"bees " * 100_000)
    asking = ["--toolset", "assistant"]

    code, out, _ = idea("submit", "Bees and notes", *asking, "--file", str(notes), "--quiet")
    assert code == 0
    assert idea("watch", out.strip(), "--quiet")[0] == 0
    assert "[notes – ä.txt](" in idea("report", out.strip())[1]

    code, out, err = idea("submit", "Bees", *asking, "--file", str(tmp_path / "missing.txt"))
    assert (code, out) == (2, "")
    assert "missing.txt is not a file." in err


def test_similar_research_is_named(idea: Idea, done: str) -> None:
    _, _, err = idea("submit", "Urban bees")

    assert "idea: similar: Urban bees (ideas/" in err


def test_research_that_is_there_is_reused(idea: Idea, done: str) -> None:
    code, out, err = idea("submit", "Urban bees", "--if-exists", "reuse")

    assert code == 0
    assert "answered by ideas/" in err
    assert "# Urban bees" in idea("report", out.strip())[1]


def test_a_webhook_that_was_not_asked_for_is_not_sent(idea: Idea, done: str) -> None:
    code, _, err = idea("webhook", "resend", done)

    assert code == 1
    assert "was submitted without a webhook" in err


@pytest.mark.parametrize("command", ["status", "watch", "report", "cancel", "resume"])
@pytest.mark.parametrize("name", [NOBODYS, "no such/thing?", ".", ""])
def test_what_does_not_exist_is_said(idea: Idea, command: str, name: str) -> None:
    code, out, err = idea(command, name)

    assert (code, out) == (1, "")
    assert err.startswith("idea: There is no ")
    assert len(err.splitlines()) == 1


WRONG = {
    "The idea must not be blank.": ("submit", ""),
    "--max-steps must be at most 20.": ("submit", "bees", "--max-steps", "99"),
    "--continue-from: there is no such exploration.": ("submit", "b", "--continue-from", NOBODYS),
    "--limit must be at most 100.": ("list", "--limit", "1000"),
    "--mode must be one of: business, exploration.": ("list", "--mode", "foo"),
}


@pytest.mark.parametrize("sentence", WRONG)
def test_what_is_not_valid_is_bad_usage(idea: Idea, sentence: str) -> None:
    assert idea(*WRONG[sentence]) == (2, "", f"idea: {sentence}\n")


# Decisions


@contextmanager
def run_that_waits(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    **variables: str,
) -> Iterator[tuple[Idea, str, Path]]:
    """A run over code that proposes two changes, and waits."""
    (tmp_path / "a.txt").write_text("old a\n")
    (tmp_path / "b.txt").write_text("old b\n")
    edits = [
        tool_use(
            "edit_file", {"path": f"{n}.txt", "content": f"new {n}\n", "description": "\x1b[2J"}
        )
        for n in "ab"
    ]
    script = [answer(text("# Half\n\nTwo changes."), *edits), answer(text("# Done\n\nBoth."))]
    with FakeAnthropic(ByConversation(script)) as model:
        env = {"ANTHROPIC_API_KEY": "key", "ANTHROPIC_BASE_URL": model.url, **variables}
        with Served(tmp_path, env) as server:
            monkeypatch.setenv("IDEA_API_URL", server.url)
            monkeypatch.setenv("IDEA_API_TOKEN", TOKEN)
            idea = Idea(capsys)
            _, out, _ = idea("submit", "Renew both files", "--toolset", "code", "--quiet")
            with Remote(server.url, TOKEN) as remote:
                until(lambda: remote.exploration(out.strip())["status"] == "awaiting_approval")
            yield idea, out.strip(), tmp_path
    assert model.violations == []


@pytest.fixture
def waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[tuple[Idea, str, Path]]:
    with run_that_waits(tmp_path, monkeypatch, capsys) as run:
        yield run


def until(reached: Callable[[], bool]) -> None:
    for _ in range(300):
        if reached():
            return
        time.sleep(0.1)
    raise AssertionError("it was never reached")


def test_changes_are_shown_approved_and_rejected(waiting: tuple[Idea, str, Path]) -> None:
    idea, exploration_id, folder = waiting

    code, out, _ = idea("approve", exploration_id, "--list")
    assert code == 0
    assert "-old a" in out
    assert "+new b" in out
    assert "\x1b" not in out
    asked = json.loads(idea("approve", exploration_id, "--list", "--json")[1])
    assert idea("reject", exploration_id, "unheard-of")[0] == 1

    mine = folder / "mine.txt"
    mine.write_text("mine\n")
    assert idea("approve", exploration_id, asked[0]["id"], "--content", str(mine))[0] == 0
    assert "b.txt: rejected" in idea("reject", exploration_id, "--reason", "Not this one.")[1]
    assert idea("watch", exploration_id, "--quiet")[0] == 0
    assert (folder / "a.txt").read_text() == "mine\n"
    assert (folder / "b.txt").read_text() == "old b\n"
    code, _, err = idea("approve", exploration_id)
    assert (code, "waits for no decision" in err) == (1, True)


def test_the_first_decision_stands_and_the_next_is_told(waiting: tuple[Idea, str, Path]) -> None:
    idea, exploration_id, folder = waiting
    first, second = json.loads(idea("approve", exploration_id, "--list", "--json")[1])
    mine = folder / "mine.txt"
    mine.write_text("mine\n")

    code, out, err = idea("approve", exploration_id, "--content", str(mine))
    assert (code, out) == (2, "")
    assert f"Name it: {first['id']}, {second['id']}." in err

    assert idea("reject", exploration_id, first["id"], "--quiet") == (0, "", "")
    code, _, err = idea("approve", exploration_id, first["id"])
    assert (code, err) == (1, "idea: The decision was made already: reject.\n")
    code, out, _ = idea("reject", exploration_id, first["id"])
    assert (code, out) == (0, "a.txt: rejected\n1 more to decide\n")

    code, out, _ = idea("approve", exploration_id)
    assert (code, out.splitlines()[0]) == (0, "b.txt: approved")
    assert f"idea watch {exploration_id}" in out
    assert idea("watch", exploration_id, "--quiet")[0] == 0
    assert (folder / "a.txt").read_text() == "old a\n"
    assert (folder / "b.txt").read_text() == "new b\n"


def test_nobodys_changes_cannot_be_decided(idea: Idea) -> None:
    for command in ("approve", "reject"):
        code, out, err = idea(command, NOBODYS)
        assert (code, out) == (1, "")
        assert err.startswith("idea: There is no exploration")


def test_cancelled_while_it_waits_it_keeps_its_report(waiting: tuple[Idea, str, Path]) -> None:
    idea, exploration_id, folder = waiting

    code, out, _ = idea("cancel", exploration_id)
    assert (code, "awaiting_approval, asked to stop soon · " in out) == (0, True)
    assert idea("watch", exploration_id, "--quiet")[0] == 4

    assert idea("report", exploration_id)[1].startswith("# Half")
    code, _, err = idea("approve", exploration_id)
    assert (code, "waits for no decision" in err) == (1, True)
    assert (folder / "a.txt").read_text() == "old a\n"


def test_left_alone_it_ends_partial_and_can_be_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    days = str(3 / 86_400)
    with run_that_waits(tmp_path, monkeypatch, capsys, IDEA_APPROVAL_DAYS=days) as run:
        idea, exploration_id, folder = run
        asked = json.loads(idea("approve", exploration_id, "--list", "--json")[1])
        assert idea("watch", exploration_id, "--quiet")[0] == 3
        found = json.loads(idea("status", exploration_id, "--json")[1])
        code, _, err = idea("approve", exploration_id, asked[0]["id"])
        report = idea("report", exploration_id)[1]
        resumed = idea("resume", exploration_id, "--watch", "--quiet")

    assert (found["status"], found["stats"]["stop_reason"]) == ("partial", "approval_expired")
    assert (code, err) == (1, "idea: The time to decide is over; nothing was written.\n")
    assert report.startswith("# Half")
    assert resumed[0] == 0
    assert (folder / "a.txt").read_text() == "old a\n"


# What can be wrong with the environment

SENTENCES = [
    ({"IDEA_API_URL": ""}, 2, "IDEA_API_URL is not set."),
    ({"IDEA_API_TOKEN": ""}, 2, "IDEA_API_TOKEN is not set."),
    ({"IDEA_API_TOKEN": "kéy"}, 2, "IDEA_API_TOKEN holds characters that no token has."),
    ({"IDEA_API_TOKEN": "wrong"}, 1, "The API does not know this token (401)."),
    ({"IDEA_API_URL": "nonsense"}, 2, "IDEA_API_URL is not a URL."),
    ({"IDEA_API_URL": "https://[::1"}, 2, "IDEA_API_URL is not a URL."),
    ({"IDEA_API_URL": "http://example.com"}, 2, "IDEA_API_URL must begin with https"),
]


@pytest.mark.parametrize(("variables", "exit_code", "sentence"), SENTENCES)
def test_a_wrong_environment_is_one_clear_sentence(
    idea: Idea,
    monkeypatch: pytest.MonkeyPatch,
    variables: dict[str, str],
    exit_code: int,
    sentence: str,
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)

    code, out, err = idea("list")

    assert (code, out) == (exit_code, "")
    assert err.startswith(f"idea: {sentence}")
    assert len(err.splitlines()) == 1


def test_an_address_where_nobody_listens(idea: Idea, monkeypatch: pytest.MonkeyPatch) -> None:
    with refusing_url() as url:
        monkeypatch.setenv("IDEA_API_URL", url)
        code, _, err = idea("list")

    assert code == 1
    assert err.startswith(f"idea: {url} could not be reached.")


@pytest.mark.parametrize("status", [200, 404, 403, 500, 301])
def test_an_address_where_something_else_listens(
    idea: Idea, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    class Other(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            page = b"<html>Welcome</html>"
            self.send_response(status)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(page)))
            self.end_headers()
            self.wfile.write(page)

        def log_message(self, *_: object) -> None:
            pass

    with listening(ThreadingHTTPServer(("127.0.0.1", 0), Other)) as server:
        monkeypatch.setenv("IDEA_API_URL", f"http://127.0.0.1:{server.server_address[1]}")
        code, out, err = idea("list")

    expected = "The API failed (500)" if status == 500 else "does not answer as the API"
    assert (code, out) == (1, "")
    assert expected in err


# The live view over lost connections


@contextmanager
def listening(server: ThreadingHTTPServer) -> Iterator[ThreadingHTTPServer]:
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


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
def remote_to(flaky: Flaky) -> Iterator[Remote]:
    tokens = dump_tokens([stored_token(TOKEN, "ada", now=START)])
    with listening(ApiServer(("127.0.0.1", 0), flaky, lambda: tokens)) as server:
        assert isinstance(server, ApiServer)
        with Remote(server.url, TOKEN) as remote:
            yield remote


def test_a_lost_connection_misses_nothing_and_repeats_nothing(tmp_path: Path) -> None:
    api = Api(tmp_path)
    running = api.run_to(api.submitted(), "running")
    words = [TextDelta(content=f"{n}\u2028") for n in range(2_500)]
    api.emit(running, *words)
    ended = running.finished("completed", at=api.clock.now())
    api.store.save(ended)
    api.clock.pass_time(60)
    losses: list[str] = []

    with remote_to(Flaky(api, lambda call: call % 2 == 1)) as remote:
        seen = list(told(remote, running.id, ManualClock(), losses.append))

    assert [event.number for event in seen] == list(range(1, 2_502))
    assert [event.event for event in seen[1:]] == words
    assert len(losses) >= 3


def test_what_a_run_waits_for_is_told_once(tmp_path: Path) -> None:
    api = Api(tmp_path)
    running = api.run_to(api.submitted(), "running")
    sentence = "Claude is overloaded (529). Trying again in 8 s (attempt 5 of 5)."
    waits = running.model_copy(
        update={"pause": Pause(sentence=sentence, until=START + timedelta(seconds=8))}
    )
    api.store.save(waits)
    heard: list[str] = []

    def ends_after(calls: int) -> bool:
        if calls == 5:
            api.store.save(waits.finished("completed", at=START))
            api.clock.pass_time(60)
        return False

    with remote_to(Flaky(api, ends_after)) as remote:
        list(told(remote, running.id, ManualClock(), lambda _: None, heard.append))

    assert heard == [sentence]


def test_a_deployment_that_stays_away_is_given_up(tmp_path: Path) -> None:
    clock = ManualClock()
    flaky = Flaky(Api(tmp_path), lambda _: True)

    with remote_to(flaky) as remote, pytest.raises(UnavailableError):
        list(told(remote, new_id(1), clock, lambda _: None))

    assert clock.slept == list(PAUSES)


def test_no_network_at_all_is_given_up_too() -> None:
    with (
        refusing_url() as url,
        Remote(url, TOKEN) as remote,
        pytest.raises(NetworkError, match="could not be reached"),
    ):
        list(told(remote, new_id(1), ManualClock(), lambda _: None))
