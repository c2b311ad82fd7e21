"""Nothing of a run that failed is published: its text is kept, can be read, and a resume publishes."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from idea_explorer.adapters.folder.publisher import FolderPublisher
from idea_explorer.adapters.sqlite.explorations import SqliteStore
from idea_explorer.domain.run import Status
from tests.fakes.anthropic_server import FakeAnthropic
from tests.fakes.anthropic_turns import answer, refusal, text
from tests.fakes.clock import ManualClock
from tests.fakes.command import Done, idea
from tests.fakes.desk import DOCUMENT, Desk, github_publisher
from tests.fakes.engine import Bench
from tests.fakes.github_repository import Repository
from tests.fakes.github_server import FakeGitHub
from tests.fakes.models import raw, says, scripted
from tests.fakes.reports import business

HALF = "# Bees in towns\n\n## Problem\n\nHalf of a thought."
WHOLE = business("Bees in towns")
ENDED_EARLY: list[Status] = ["partial", "timed_out", "cancelled"]


@pytest.fixture
def repo(github: FakeGitHub) -> Repository:
    return github.create_repository("acme/ideas", {"README.md": "hello\n"})


@pytest.fixture
def on_github(github: FakeGitHub, tmp_path: Path) -> Desk:
    clock = ManualClock()
    publisher = github_publisher(github, tmp_path / "leases.db", clock)
    return Desk(SqliteStore(tmp_path / "explorations.db"), publisher, clock)


@pytest.fixture
def in_folder(tmp_path: Path) -> Desk:
    store = SqliteStore(tmp_path / "explorations.db")
    return Desk(store, FolderPublisher(tmp_path, tmp_path / "lock"), ManualClock())


def test_no_commit_is_made_of_a_failed_run(
    on_github: Desk, github: FakeGitHub, repo: Repository
) -> None:
    head = repo.head()
    before = len(github.requests)

    final = on_github.publish(on_github.finished(report=HALF, outcome="failed"))

    assert (
        final.status,
        final.publication.path,
        final.publication.document,
        final.publication.commit,
    ) == ("failed", None, None, None)
    assert (repo.head(), len(github.requests)) == (head, before)
    assert on_github.store.load_report(final.id) == HALF


def test_no_file_is_written_of_a_failed_run(in_folder: Desk, tmp_path: Path) -> None:
    final = in_folder.publish(in_folder.finished(report=HALF, outcome="failed"))

    assert (final.status, final.publication.path) == ("failed", None)
    assert not (tmp_path / "ideas").exists()


@pytest.mark.parametrize("outcome", ENDED_EARLY)
def test_what_ended_early_is_published_as_it_is(
    in_folder: Desk, tmp_path: Path, outcome: Status
) -> None:
    final = in_folder.publish(in_folder.finished(report=HALF, outcome=outcome))

    assert (final.status, final.publication.document) == (outcome, DOCUMENT)
    assert f"status: {outcome}\n" in (tmp_path / DOCUMENT).read_text()


def test_a_failed_resume_leaves_what_an_earlier_run_published(
    in_folder: Desk, tmp_path: Path
) -> None:
    first = in_folder.publish(in_folder.finished(report=WHOLE, outcome="partial"))
    published = (tmp_path / DOCUMENT).read_text()
    again = in_folder.again(first.id, HALF)
    in_folder.store.save(again.replace(outcome="failed"))

    final = in_folder.publish(again)

    assert (final.status, final.publication.document) == ("failed", DOCUMENT)
    assert (tmp_path / DOCUMENT).read_text() == published


def test_a_failed_run_that_is_resumed_is_published(tmp_path: Path) -> None:
    declined = raw({"type": "text", "text": HALF}, stop_reason="refusal")
    bench = Bench(tmp_path, scripted([declined]))
    failed = bench.run("Bees in towns")
    assert (failed.status, failed.publication.document) == ("failed", None)
    assert bench.store.load_report(failed.id) == HALF
    assert list((tmp_path / "ideas").iterdir()) == []
    bench.with_model(scripted([says(WHOLE)]))

    done = bench.publish(bench.resume(failed))

    assert done.status == "completed"
    assert "PASS" in (tmp_path / str(done.publication.document)).read_text()


class Team:
    """A folder, and a model that declines in the middle of the report, then writes it."""

    def __init__(self, folder: Path, server: FakeAnthropic) -> None:
        self.folder = folder
        self.env = {"ANTHROPIC_API_KEY": "test-key", "ANTHROPIC_BASE_URL": server.url}

    def idea(self, *arguments: str) -> Done:
        return idea(*arguments, env=self.env, folder=self.folder)

    @property
    def documents(self) -> list[Path]:
        return list(self.folder.rglob("research.md")) + list(self.folder.rglob("*-log.json"))


@pytest.fixture
def team(tmp_path: Path) -> Iterator[Team]:
    declined = refusal(said=[text(HALF)])
    with FakeAnthropic([declined, answer(text(WHOLE))], expected_key="test-key") as server:
        yield Team(tmp_path, server)
    assert server.violations == []


def test_the_command_line_keeps_shows_and_resumes_what_failed(team: Team) -> None:
    failed = team.idea("explore", "Bees in towns", "--json")
    outcome = json.loads(failed.stdout)
    assert (failed.returncode, outcome["status"], outcome["path"]) == (1, "failed", None)
    assert outcome["content"] == HALF
    assert team.documents == []
    assert f"Read what was kept with: idea report {outcome['id']}" in failed.stderr

    shown = team.idea("report", outcome["id"])
    assert (shown.returncode, shown.stdout) == (0, f"{HALF}\n")

    resumed = team.idea("resume", outcome["id"], "--json")

    done = json.loads(resumed.stdout)
    assert (resumed.returncode, done["status"]) == (0, "completed"), resumed.stderr
    assert "**Verdict: PASS**" in (team.folder / done["path"]).read_text()
    assert len(team.documents) == 2


def test_a_report_that_is_not_there_is_said_in_a_sentence(team: Team) -> None:
    missing = team.idea("report", "01940000-0000-7000-8000-000000000000")

    assert missing.returncode == 1
    assert missing.stderr.startswith("idea: There is no exploration")
    assert len(missing.stderr.splitlines()) == 1
