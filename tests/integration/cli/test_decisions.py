"""Changes of a run at a deployment, decided by command."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from idea_explorer.cli.targets.client import ApiClient
from tests.fakes.anthropic_scripts import ByConversation
from tests.fakes.anthropic_server import FakeAnthropic
from tests.fakes.anthropic_turns import answer, text, tool_use
from tests.fakes.in_process import Idea
from tests.fakes.served import TOKEN, Served


@contextmanager
def run_that_waits(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    names: tuple[str, str] = ("a.txt", "b.txt"),
    **variables: str,
) -> Iterator[tuple[Idea, str, Path]]:
    """A run over code that proposes two changes, and waits."""
    (tmp_path / names[0]).write_text("old a\n")
    (tmp_path / names[1]).write_text("old b\n")
    edits = [
        tool_use("edit_file", {"path": name, "content": f"new {n}\n", "description": "\x1b[2J"})
        for n, name in zip("ab", names, strict=True)
    ]
    script = [answer(text("# Half\n\nTwo changes."), *edits), answer(text("# Done\n\nBoth."))]
    with FakeAnthropic(ByConversation(script)) as model:
        env = {"ANTHROPIC_API_KEY": "key", "ANTHROPIC_BASE_URL": model.url, **variables}
        with Served(tmp_path, env) as server:
            monkeypatch.setenv("IDEA_API_URL", server.url)
            monkeypatch.setenv("IDEA_API_TOKEN", TOKEN)
            idea = Idea(capsys)
            _, out, _ = idea("submit", "Renew both files", "--toolset", "code", "--quiet")
            with ApiClient(server.url, TOKEN) as api:
                until(lambda: api.get(api.path(out.strip()))["status"] == "awaiting_approval")
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
    assert (
        idea("watch", exploration_id, "--quiet")[0] == 3
    )  # no terminal: nobody sees that it waits

    mine = folder / "mine.txt"
    mine.write_text("mine\n")
    assert idea("approve", exploration_id, asked[0]["id"], "--content", str(mine))[0] == 0
    assert "b.txt: rejected" in idea("reject", exploration_id, "--reason", "Not this one.")[1]
    assert idea("watch", exploration_id, "--quiet")[0] == 0
    assert (folder / "a.txt").read_text() == "mine\n"
    assert (folder / "b.txt").read_text() == "old b\n"
    code, _, err = idea("approve", exploration_id)
    assert (code, "has no changes to decide on" in err) == (1, True)


def test_a_part_of_a_change_is_approved_and_shown_as_it_is_written(
    waiting: tuple[Idea, str, Path],
) -> None:
    idea, exploration_id, folder = waiting
    first, second = json.loads(idea("approve", exploration_id, "--list", "--json")[1])
    assert idea("approve", exploration_id, "--hunks", "1")[0] == 2  # which of them?
    assert idea("approve", exploration_id, first["id"], "--hunks", "one")[0] == 2
    code, _, err = idea("approve", exploration_id, first["id"], "--hunks", "2")
    assert (code, "The change has 1 hunk." in err) == (2, True)

    code, out, _ = idea("approve", exploration_id, first["id"], "--hunks", "1")

    assert (code, out.splitlines()[-2]) == (0, "a.txt: approved and written")
    assert "+new a" in out
    assert (folder / "a.txt").read_text() == "new a\n"
    (folder / "b.txt").write_text("somebody was here\n")
    code, _, err = idea("approve", exploration_id, second["id"])
    assert (code, "b.txt: stale: b.txt has changed since" in err) == (1, True)
    statuses = [
        a["status"] for a in json.loads(idea("approve", exploration_id, "--list", "--json")[1])
    ]
    assert statuses == ["approved", "stale"]


def test_a_dangerous_change_is_not_approved_with_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with run_that_waits(tmp_path, monkeypatch, capsys, ("a.txt", "Makefile")) as run:
        idea, exploration_id, folder = run
        ordinary, dangerous = json.loads(idea("approve", exploration_id, "--list", "--json")[1])
        assert "danger" not in ordinary
        assert idea("approve", exploration_id, "--confirm-danger")[0] == 2  # of which one?
        listed = idea("approve", exploration_id, "--list")[1]
        assert f"Careful! This file {dangerous['danger']}." in listed

        code, out, err = idea("approve", exploration_id)
        assert (code, out) == (0, "a.txt: approved and written\n1 more to decide\n")
        command = f"idea approve {exploration_id} {dangerous['id']} --confirm-danger"
        assert "Makefile runs when somebody builds or installs, so it needs a confirmation" in err
        assert command in err
        assert idea("approve", exploration_id)[0] == 1  # nothing was decided

        code, out, _ = idea("approve", exploration_id, "--confirm-danger")  # there is but one
        assert (code, out.splitlines()[0]) == (0, "Makefile: approved and written")
        assert idea("watch", exploration_id, "--quiet")[0] == 0
        assert (folder / "Makefile").read_text() == "new b\n"


@pytest.mark.long
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
    assert (code, out.splitlines()[0]) == (0, "b.txt: approved and written")
    assert f"idea watch {exploration_id}" in out
    assert idea("watch", exploration_id, "--quiet")[0] == 0
    assert (folder / "a.txt").read_text() == "old a\n"
    assert (folder / "b.txt").read_text() == "new b\n"


@pytest.mark.long
def test_cancelled_while_it_waits_it_ends_without_a_report(waiting: tuple[Idea, str, Path]) -> None:
    idea, exploration_id, folder = waiting

    code, out, _ = idea("cancel", exploration_id)
    assert (code, "waiting for approval, stopping soon · " in out) == (0, True)
    assert idea("watch", exploration_id, "--quiet")[0] == 4

    code, _, err = idea("report", exploration_id)  # what is said beside a call is thinking
    assert (code, err) == (
        1,
        f"idea: Exploration {exploration_id} is cancelled and has no report.\n",
    )
    code, _, err = idea("approve", exploration_id)
    assert (code, "has no changes to decide on" in err) == (1, True)
    assert (folder / "a.txt").read_text() == "old a\n"


@pytest.mark.long
def test_left_alone_it_ends_partial_and_can_be_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    days = str(3 / 86_400)
    with run_that_waits(tmp_path, monkeypatch, capsys, IDEA_APPROVAL_DAYS=days) as run:
        idea, exploration_id, folder = run
        asked = json.loads(idea("approve", exploration_id, "--list", "--json")[1])
        until(lambda: idea("status", exploration_id, "--quiet")[1] == "partial\n")
        assert idea("watch", exploration_id, "--quiet")[0] == 3
        found = json.loads(idea("status", exploration_id, "--json")[1])
        code, _, err = idea("approve", exploration_id, asked[0]["id"])
        no_report = idea("report", exploration_id)[2]
        resumed = idea("resume", exploration_id, "--watch", "--quiet")

    assert (found["status"], found["stats"]["stop_reason"]) == ("partial", "approval_expired")
    assert (code, err) == (1, "idea: The time to decide is over; nothing was written.\n")
    assert no_report == f"idea: Exploration {exploration_id} is partial and has no report.\n"
    assert resumed[0] == 0
    assert (folder / "a.txt").read_text() == "old a\n"
