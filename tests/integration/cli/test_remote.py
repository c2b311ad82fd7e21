"""The commands against a deployment, over the wire."""

import json
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from idea_explorer.api.http import LambdaContext
from idea_explorer.api.server import ApiServer
from idea_explorer.domain.tokens import dump_tokens, make_token_record
from tests.fakes.anthropic_faults import refusing_url
from tests.fakes.api import Api
from tests.fakes.in_process import Idea
from tests.fakes.served import TOKEN, Served
from tests.fakes.serving import Listening

NOBODYS = "00000000-0001-7000-8000-000000000000"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with Served(tmp_path_factory.mktemp("served")) as server:
        yield server


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
    assert (code, "Follow it with: idea watch" in err) == (0, True)

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
    (newest,) = json.loads(idea("list", "--limit", "1", "--json")[1])["explorations"]

    assert "    # Bees in parks" in err
    assert f"\nexploration {newest['id']}\n" in err


def test_an_exploration_is_shown(idea: Idea, done: str) -> None:
    code, out, _ = idea("status", done)
    assert code == 0
    assert "completed after 2 steps" in out

    assert idea("status", done, "--quiet")[1] == "completed\n"
    assert json.loads(idea("status", done, "--json")[1])["id"] == done


def test_explorations_are_listed(idea: Idea, done: str) -> None:
    code, out, _ = idea("list", "--status", "completed")
    assert code == 0
    assert any(done in line and "Urban bees" in line for line in out.splitlines())

    assert idea("list", "--limit", "1", "--quiet")[1].strip() == done
    assert json.loads(idea("list", "--json")[1])["explorations"][0]["id"] == done
    code, out, err = idea("list", "--status", "failed")
    assert (code, out, err) == (0, "", "idea: No exploration matches.\n")


def test_the_deployment_adds_up_what_was_spent(idea: Idea, done: str) -> None:
    code, out, err = idea("spend", "--days", "365", "--json")
    found = json.loads(out)

    assert (code, err, found["is_partial"]) == (0, "", False)
    listed = idea("list", "--limit", "100", "--quiet")[1].splitlines()
    assert found["explorations"] == len(listed) > 0


QUESTION = ("submit", "What is 6 * 7?", "--toolset", "assistant", "--watch")


def test_an_answer_that_is_not_published_is_printed(idea: Idea) -> None:
    code, out, err = idea(*QUESTION, "--quiet")

    assert (code, err) == (0, "")
    assert "= 42" in out


def test_an_answer_is_printed_once(idea: Idea) -> None:
    _, out, err = idea(*QUESTION)

    assert (out.count("## Calculated"), "## Calculated" in err) == (1, False)


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

    assert "idea: Similar research: Urban bees (ideas/" in err


def test_a_deployment_is_searched_for_words_of_its_documents(idea: Idea, served: Served) -> None:
    notes = Path(served.env["IDEA_RESEARCH_DIR"], "ideas", "market", "mead.md")
    notes.parent.mkdir(parents=True, exist_ok=True)
    frequent = " ".join(f"filler{n} filler{n}" for n in range(200))
    notes.write_text(f"# What people drink\n\n{frequent}\n\nSome like mead.\n")

    code, out, err = idea("search", "mead")
    assert (code, out, err) == (0, "What people drink\n    ideas/market/mead.md\n", "")
    found = json.loads(idea("search", "mead", "--json")[1])
    assert (found["query"], found["totalFound"], len(found["results"])) == ("mead", 1, 1)


def test_research_that_is_there_is_reused(idea: Idea, done: str) -> None:
    code, out, err = idea("submit", "Urban bees", "--if-exists", "reuse")

    assert code == 0
    assert "Answered by ideas/" in err
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


def test_a_list_without_decisions_says_so(idea: Idea, done: str) -> None:
    sentence = f"idea: Exploration {done} has proposed no changes.\n"
    assert idea("approve", done, "--list") == (0, "", sentence)


def test_nobodys_changes_cannot_be_decided(idea: Idea) -> None:
    for command in ("approve", "reject"):
        code, out, err = idea(command, NOBODYS)
        assert (code, out) == (1, "")
        assert err.startswith("idea: There is no exploration")


# What can be wrong with the environment

SENTENCES = [
    ({"IDEA_API_TOKEN": ""}, 2, "IDEA_API_TOKEN is not set."),
    ({"IDEA_API_TOKEN": "kéy"}, 2, "IDEA_API_TOKEN contains characters that no token has."),
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


def test_a_spent_day_is_told_at_once_and_not_tried_again(
    idea: Idea, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    api = Api(tmp_path)
    api.spend_the_day()
    tokens = dump_tokens([make_token_record(TOKEN, "ada", now=api.clock.now())])
    calls: list[str] = []

    def handle(event: Mapping[str, Any], context: LambdaContext) -> dict[str, Any]:
        calls.append(event["path"])
        return api.handle(event, context)

    server = ApiServer(("127.0.0.1", 0), handle, lambda: tokens)
    with Listening(server):
        monkeypatch.setenv("IDEA_API_URL", server.url)
        code, out, err = idea("submit", "Tea")

    assert (code, out, calls) == (1, "", ["/explorations"])
    assert err.startswith("idea: Today's budget of $1.00 is spent")


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

    server = ThreadingHTTPServer(("127.0.0.1", 0), Other)
    with Listening(server):
        monkeypatch.setenv("IDEA_API_URL", f"http://127.0.0.1:{server.server_address[1]}")
        code, out, err = idea("list")

    expected = "The API failed (500)" if status == 500 else "is not the API of Idea Explorer"
    assert (code, out) == (1, "")
    assert expected in err


def test_a_deployment_estimates_what_it_would_run(idea: Idea) -> None:
    before = json.loads(idea("list", "--json")[1])
    code, out, err = idea("submit", "--estimate", "--depth", "deep", "Bees on roofs")
    assert (code, err) == (0, "")
    assert " for deep explorations" in out
    found = json.loads(idea("submit", "--estimate", "--json", "--depth", "deep", "Bees")[1])
    assert (found["depth"], found["summary"].startswith("$")) == ("deep", True)
    assert json.loads(idea("list", "--json")[1]) == before
