"""One bad document harms no other: neither a list, a search, an update nor a publication."""

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from idea_explorer.adapters.folder.publisher import FolderPublisher
from idea_explorer.adapters.folder.research import Folder
from idea_explorer.adapters.github.client import GitHubClient
from idea_explorer.adapters.github.research import GitHub
from idea_explorer.adapters.sqlite.explorations import SqliteStore
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.limits import MAX_DOCUMENT_BYTES
from idea_explorer.ports import Publisher
from idea_explorer.tools.research import ListResearch, ResearchCalls, SearchResearch
from idea_explorer.usecases.continuation import PriorDocument, document_of, find_continuation
from idea_explorer.usecases.reuse import similar
from tests.fakes.bad_documents import BAD_DOCUMENTS
from tests.fakes.clock import ManualClock
from tests.fakes.desk import IDEA, SLUG, Desk, github_publisher
from tests.fakes.engine import RecordedLog
from tests.fakes.github_server import FakeGitHub

GOOD = (
    f"---\nidea: {IDEA}\nmode: business\nstatus: completed\nexploration_id: known\n---\n\n# Bees\n"
)
FILES = {
    f"ideas/2026-01-01-{SLUG}/research.md": GOOD.encode(),
    # the same idea by their names, and nothing that can be read
    f"ideas/2026-02-02-{SLUG}/research.md": b"\xff\xfe",
    f"ideas/2026-02-02-{SLUG}/exploration-log.json": b"{not json",
    f"ideas/2026-02-03-{SLUG}/research.md": b"x" * 2_000_000,
    f"ideas/2026-02-04-{SLUG}/research.md": b"# Old",
    f"ideas/2026-02-04-{SLUG}/exploration-log.json": b'[{"idea": "\\ud800", "jobId": "x"}]',
    "ideas/bytes.md": bytes(range(256)) * 10,
    **{f"ideas/bad{n}/research.md": t.encode() for n, t in enumerate(BAD_DOCUMENTS.values())},
}
READABLE = sum(
    len(text) <= MAX_DOCUMENT_BYTES and "\0" not in text for text in BAD_DOCUMENTS.values()
)
# on GitHub, those with NUL bytes are read as well
WITH_NUL = sum(len(text) <= MAX_DOCUMENT_BYTES for text in BAD_DOCUMENTS.values())
UNNAMEABLE = "ideas/caf\udce9.md"  # a name that is not UTF-8


@dataclass
class Team:
    research: Folder | GitHub
    publisher: Publisher
    read: Callable[[str], str]


@pytest.fixture(params=["folder", "github"])
def team(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Team]:
    clock = ManualClock()
    if request.param == "folder":
        root = tmp_path / "team"
        for path, content in {**FILES, UNNAMEABLE: b"# Cafe\n\nA cafe."}.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_bytes(content)
        into = FolderPublisher(root, tmp_path / "lock")
        yield Team(Folder(root), into, lambda path: (root / path).read_text("utf-8"))
        return
    with FakeGitHub(tmp_path / "github", token="t0ken") as github:
        repo = github.create_repository("acme/ideas", FILES)
        client = GitHubClient("acme/ideas", lambda: "t0ken", github.url)
        publisher = github_publisher(github, tmp_path / "leases.db", clock)
        yield Team(GitHub(client, None), publisher, repo.read_text)


@pytest.fixture
def log() -> RecordedLog:
    return RecordedLog()


@pytest.fixture
def desk(team: Team, tmp_path: Path, log: RecordedLog) -> Desk:
    store = SqliteStore(tmp_path / "explorations.db")
    index = team.research.index
    return Desk(store, team.publisher, ManualClock(), index=index, research=team.research, log=log)


def test_all_documents_are_listed_and_searched(team: Team) -> None:
    calls = ResearchCalls(team.research)
    listed = calls.list_research(ListResearch())
    found = calls.search_research(SearchResearch(query="tea", limit=20))

    assert isinstance(files := listed.payload["files"], list)
    assert len(files) >= len(FILES) - 2
    assert found.payload["totalFound"] in {READABLE, WITH_NUL}
    json.dumps(found.payload).encode()


def test_similar_research_is_found_and_a_warning_names_the_bad_ones(
    team: Team, desk: Desk, log: RecordedLog
) -> None:
    assert similar(IDEA, desk.deps)[0].path == f"ideas/2026-01-01-{SLUG}/research.md"

    (warned,) = log.of("documents_with_problems")
    assert warned["count"] in {READABLE, WITH_NUL}
    assert "it has tags" in str(warned["documents"])


def test_a_document_is_found_by_its_exploration(team: Team) -> None:
    found = document_of("known", team.research, team.research.index)
    assert found is not None
    assert found[1] == GOOD


def test_an_update_finds_its_document(desk: Desk, team: Team, log: RecordedLog) -> None:
    earlier = find_continuation(desk.finished(update=True), desk.deps)

    # the newest that may be of this idea, as its name says; nothing says what the large one is about
    assert isinstance(earlier, PriorDocument)
    assert earlier.path == f"ideas/2026-02-02-{SLUG}/research.md"
    assert [line["path"] for line in log.of("document_skipped")] == [
        f"2026-02-03-{SLUG}/research.md"
    ]


def test_a_report_is_published_and_indexed(desk: Desk, team: Team, log: RecordedLog) -> None:
    final = desk.publish(desk.finished())

    assert (final.status, final.run.receipt) == ("completed", None)
    assert team.read(str(final.publication.document)).endswith("**PIVOT**\n")
    found = team.research.index.find_document(str(final.publication.document))
    assert found is not None
    assert found.verdict == "PIVOT"


def test_a_log_with_half_a_character_is_written_again(desk: Desk, team: Team) -> None:
    document = f"ideas/2026-02-04-{SLUG}/research.md"
    updating = desk.finished(update=True, record={"builds_on": document})
    final = desk.publish(updating)

    assert (final.status, final.publication.document) == ("completed", document)
    entries = json.loads(team.read(document.replace("research.md", "exploration-log.json")))
    assert [entry["idea"] for entry in entries] == ["\ud800", IDEA]


@pytest.mark.parametrize("at", ["publisher", "index"])
def test_an_unexpected_error_ends_the_run(desk: Desk, log: RecordedLog, at: str) -> None:
    exploration = desk.finished()

    message = "a secret idea"

    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError(message)

    broken: object = type("Broken", (), {"publish": fail, "add": fail})()
    setattr(desk, at, broken)
    final = desk.publish(exploration)

    if at == "index":  # the report is in the repository, whatever became of the index
        assert (final.status, final.run.receipt) == ("completed", None)
        assert log.of("research_index_not_updated")
        return
    assert (final.status, ended(final)) == ("failed", "INTERNAL_ERROR")
    assert desk.store.load(exploration.id).is_final
    assert desk.store.load_report(exploration.id)
    assert message not in str(log.lines)


def ended(final: Exploration) -> str:
    assert final.run.receipt is not None
    return final.run.receipt.code


def test_a_file_that_cannot_be_read_hides_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ideas").mkdir()
    for name in ("a.md", "b.md"):
        (tmp_path / "ideas" / name).write_text(name)
    real = os.open

    def refuse(path: str, *arguments: int, dir_fd: int | None = None) -> int:
        if Path(path).name == "a.md":
            raise PermissionError
        return real(path, *arguments, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", refuse)
    found, total = Folder(tmp_path).search("a b md", 5)
    assert ([each.path for each in found], total) == (["b.md"], 1)
