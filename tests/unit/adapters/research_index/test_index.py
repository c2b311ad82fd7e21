"""The index of documents: current, kept in a file, and built again whenever the file is of no use."""

import itertools
import sqlite3
import stat
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from idea_explorer.adapters.clock import SystemClock
from idea_explorer.adapters.research_index import file as index_file
from idea_explorer.adapters.research_index import index as document_index
from idea_explorer.adapters.research_index import queries
from idea_explorer.adapters.research_index.index import DocumentIndex
from idea_explorer.adapters.research_index.sources import Changes, FileChange
from idea_explorer.adapters.research_index.tables import hash_content, prepare_document
from idea_explorer.adapters.sqlite.database import Database
from idea_explorer.domain.errors import ExternalError
from tests.fakes.clock import ManualClock
from tests.fakes.research import Documents, index_of

TEXTS = {
    "bees.md": "# Bees on roofs\n\nHoney and hives in towns.",
    "tea/research.md": "---\nidea: Tea rooms\nexploration_id: e1\n---\n\n# Tea rooms\n\nTea does well.",
}
WASPS = "---\nidea: Wasps\nmode: explore\nstatus: completed\n---\n\n# Wasps"


@pytest.fixture
def documents() -> Documents:
    return Documents(TEXTS)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "index.db"


def titles(index: DocumentIndex, query: str = "honey tea") -> set[str]:
    return {found.title for found in index.search(query, 20)[0]}


def test_only_what_changed_is_read_again(documents: Documents) -> None:
    index = DocumentIndex(documents)
    assert titles(index) == {"Bees on roofs", "Tea rooms"}
    documents.read.clear()
    documents.texts["bees.md"] = "# Bees in gardens\n\nHoney."
    documents.texts["new.md"] = "# New\n\nTea."

    assert titles(index) == {"Bees in gardens", "Tea rooms", "New"}
    assert documents.read == ["bees.md", "new.md"]
    del documents.texts["bees.md"]
    assert titles(index) == {"Tea rooms", "New"}
    assert titles(index, "gardens roofs hives") == set()
    assert [info.path for info in index.list()] == ["new.md", "tea/research.md"]


def test_many_changes_at_once_leave_the_files_between_them_as_they_are(
    documents: Documents, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_file, "RANGE_QUERY_FROM", 2)
    documents.texts["honey.md"] = "# Honey"
    index = DocumentIndex(documents)
    titles(index)
    documents.texts["bees.md"] = "# Bees in gardens\n\nHoney."
    del documents.texts["tea/research.md"]

    assert titles(index) == {"Bees in gardens", "Honey"}
    assert titles(index, "roofs") == set()
    assert [info.path for info in index.list()] == ["bees.md", "honey.md"]


def test_the_next_process_reads_nothing_again(documents: Documents, path: Path) -> None:
    first = titles(DocumentIndex(documents, path))
    documents.read.clear()
    again = DocumentIndex(documents, path)

    assert titles(again) == first
    assert again.find_similar("Tea rooms")[0].path == "ideas/tea/research.md"
    found = again.find_exploration("e1")
    assert found is not None
    assert found.path == "ideas/tea/research.md"
    assert documents.read == []
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_what_changes_leaves_no_terms_behind(documents: Documents, path: Path) -> None:
    """So that a word is as rare as the documents that have it, however often they were changed."""
    index = DocumentIndex(documents, path)
    before = index.find_similar("Tea rooms on roofs")
    for number in range(3):
        documents.texts["bees.md"] = f"# Bees on roofs {number}\n\nHoney and tea."
        titles(index)
    documents.texts = dict(TEXTS)

    assert index.find_similar("Tea rooms on roofs") == before
    with sqlite3.connect(path) as db:
        counted = "SELECT term, count(*) FROM terms GROUP BY term ORDER BY term"
        known = "SELECT term, documents FROM frequencies WHERE documents ORDER BY term"
        assert db.execute(counted).fetchall() == db.execute(known).fetchall()


def _change(path: Path, statement: str) -> None:
    db = sqlite3.connect(path)
    db.execute(statement)
    db.commit()
    db.close()


def _exchange(path: Path) -> None:
    path.unlink()
    _change(path, "CREATE TABLE files (a)")


DAMAGES: dict[str, Callable[[Path], object]] = {
    "empty": lambda path: path.write_bytes(b""),
    "no database": lambda path: path.write_bytes(b"x" * 9_000),
    "cut off": lambda path: path.write_bytes(path.read_bytes()[:5_000]),
    "another program's": _exchange,
    "a damaged page": lambda path: _change(path, "UPDATE texts SET text = x'00'"),
    "a changed entry": lambda path: _change(path, "UPDATE documents SET entry = '{}'"),
    "a lost table": lambda path: _change(path, "DROP TABLE documents"),
    "of other documents": lambda path: _change(path, "UPDATE about SET value = '1 other'"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_file_of_no_use_is_built_again(documents: Documents, path: Path, damage: str) -> None:
    index = DocumentIndex(documents, path)
    expected = titles(index), index.find_similar("Tea rooms")
    del index
    DAMAGES[damage](path)

    again = DocumentIndex(documents, path)
    assert (titles(again), again.find_similar("Tea rooms")) == expected
    documents.read.clear()
    assert titles(DocumentIndex(documents, path)) == expected[0]
    assert documents.read == []


def test_a_file_that_is_damaged_while_it_is_used_is_built_again(
    documents: Documents, path: Path
) -> None:
    index = DocumentIndex(documents, path)
    expected = titles(index)
    _change(path, "UPDATE texts SET text = x'00'")
    assert titles(index) == expected


@pytest.mark.parametrize("where", ["missing/index.db", "folder", "file/index.db"])
def test_where_no_file_can_be_written_it_is_kept_in_memory(
    documents: Documents, tmp_path: Path, where: str
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("x")
    before = sorted(tmp_path.rglob("*"))
    assert titles(DocumentIndex(documents, tmp_path / where)) == {"Bees on roofs", "Tea rooms"}
    assert sorted(tmp_path.rglob("*")) == before


def test_a_full_disk_is_no_reason_to_fail(
    documents: Documents, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = DocumentIndex(documents, path)
    titles(index)
    assert index._file is not None
    index._file.db.rows("PRAGMA max_page_count = 1")
    documents.texts |= {f"{number}.md": f"# Tea {'x' * 9_000}" for number in range(50)}

    assert index.search("tea", 5)[1] == 51
    assert titles(index, "honey rooms") == {"Bees on roofs", "Tea rooms"}


def test_one_bad_document_harms_no_other(
    documents: Documents, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise RecursionError

    documents.texts["half.md"] = "# Half \ud800 a character"
    index = DocumentIndex(documents)
    assert "Half ? a character" in titles(index, "half")
    monkeypatch.setattr("idea_explorer.adapters.research_index.tables.index_document", fail)
    documents.texts["new.md"] = "# New\n\nTea."
    assert titles(index) == {"Bees on roofs", "Tea rooms", "New"}
    problems = index.describe_problems()
    assert problems == {"count": 1, "documents": ["ideas/new.md: not indexed: RecursionError"]}


def test_of_those_who_ask_at_once_one_reads(documents: Documents, path: Path) -> None:
    index = DocumentIndex(documents, path)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: titles(index), range(8)))
    assert found == [{"Bees on roofs", "Tea rooms"}] * 8
    assert sorted(documents.read) == sorted(TEXTS)


class BlockedDocuments(Documents):
    """Each look waits until the test lets it go on, and may fail."""

    def __init__(self) -> None:
        super().__init__(TEXTS)
        self.began = threading.Semaphore(0)
        self.may_end = threading.Semaphore(0)
        self.looks = 0
        self.fails: set[int] = set()
        self.busy: set[int] = set()

    def find_changes(self, state: str, versions: Callable[[], Mapping[str, str]]) -> Changes | None:
        self.looks += 1
        look, found = self.looks, super().find_changes(state, versions)
        self.began.release()
        assert self.may_end.acquire(timeout=10)
        if look in self.fails:
            raise ExternalError("The repository cannot be read.")
        if look in self.busy:
            locked = sqlite3.OperationalError("database is locked")
            locked.sqlite_errorcode = sqlite3.SQLITE_BUSY
            raise locked
        return found


class AskedClock(SystemClock):
    """Tells when a question has been asked: it reads the time before it waits for the lock."""

    def __init__(self) -> None:
        self.was_read = threading.Semaphore(0)

    def monotonic(self) -> float:
        now = super().monotonic()
        self.was_read.release()
        return now


@pytest.fixture
def blocked() -> BlockedDocuments:
    return BlockedDocuments()


def ask_during_a_look(
    blocked: BlockedDocuments, pool: ThreadPoolExecutor, count: int
) -> tuple[Future[bool], list[Future[bool]]]:
    """The question that looks, and so many that are asked before its look has ended."""
    clock = AskedClock()
    index = DocumentIndex(blocked, clock=clock)

    def ask() -> bool:
        return index.find_existing("Wasps", "explore") is not None

    first = pool.submit(ask)
    assert blocked.began.acquire(timeout=10)
    while clock.was_read.acquire(blocking=False):
        pass
    blocked.texts["2026-01-01-wasps/research.md"] = WASPS
    others = [pool.submit(ask) for _ in range(count)]
    for _ in others:
        assert clock.was_read.acquire(timeout=10)
    blocked.may_end.release()  # the first look
    return first, others


def test_those_who_ask_during_a_look_share_the_next_one(blocked: BlockedDocuments) -> None:
    with ThreadPoolExecutor(9) as pool:
        first, others = ask_during_a_look(blocked, pool, 8)
        blocked.may_end.release()
        assert [other.result(10) for other in others] == [True] * 8
        assert first.result(10) is False
    assert blocked.looks == 2


def test_a_look_that_failed_is_not_shared(blocked: BlockedDocuments) -> None:
    blocked.fails = {2}
    with ThreadPoolExecutor(4) as pool:
        _, others = ask_during_a_look(blocked, pool, 3)
        blocked.may_end.release(2)
        failures = [other.exception(10) for other in others]
    assert sum(isinstance(failure, ExternalError) for failure in failures) == 1
    assert blocked.looks == 3


def test_a_look_during_which_another_process_wrote_is_not_shared(blocked: BlockedDocuments) -> None:
    blocked.busy = {2}
    with ThreadPoolExecutor(4) as pool:
        _, others = ask_during_a_look(blocked, pool, 3)
        blocked.may_end.release(2)
        assert sorted(other.result(10) for other in others) == [False, True, True]
    assert blocked.looks == 3


def test_after_a_look_that_found_the_file_busy_the_next_answer_waits_for_a_look(
    blocked: BlockedDocuments,
) -> None:
    blocked.is_remote = True
    blocked.busy = {1}
    blocked.may_end.release(2)
    clock = ManualClock()
    index = DocumentIndex(blocked, clock=clock)

    assert index.search("wasps", 5)[1] == 0
    blocked.texts["2026-01-01-wasps/research.md"] = WASPS
    clock.pass_time(2.0)

    assert index.search("wasps", 5)[1] == 1


def test_a_file_that_is_damaged_after_a_shared_look_is_built_again(
    blocked: BlockedDocuments,
) -> None:
    index = DocumentIndex(blocked)
    blocked.may_end.release(2)
    damage = [sqlite3.DatabaseError("database disk image is malformed")]

    def count_files(db: Database) -> int:
        if index._looked_at > before and damage:
            raise damage.pop()
        return len(queries.list_files(db))

    before = -1.0  # asked before any look, so that each question shares the last one
    with index._lock:
        index._refresh_and_ask(queries.list_files, document_index.AsOf.NOW, before)
        count = index._refresh_and_ask(count_files, document_index.AsOf.NOW, before)
    assert (count, blocked.looks) == (len(TEXTS), 2)


def test_two_processes_that_build_it_at_once_agree(path: Path) -> None:
    both = [DocumentIndex(Documents(TEXTS), path) for _ in range(2)]
    with ThreadPoolExecutor(2) as pool:
        assert [*pool.map(titles, both)] == [{"Bees on roofs", "Tea rooms"}] * 2
    with sqlite3.connect(path) as db:
        assert db.execute("SELECT count(*) FROM documents").fetchone() == (2,)


def test_many_files_are_not_looked_at_at_every_call(
    documents: Documents, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(document_index, "ALWAYS_LOOKED_AT", 1)
    monkeypatch.setattr(document_index, "SECONDS_PER_FILE", 1.0)
    clock = ManualClock()
    index = DocumentIndex(documents, clock=clock)
    titles(index)
    documents.texts["new.md"] = "# New\n\nTea."
    at_once = titles(index)
    clock.pass_time(2.0 + document_index.SEARCH_BACKGROUND_SECONDS)

    assert "New" not in at_once
    assert "New" in titles(index)


class SlowDocuments(Documents):
    """Looking for changes takes so many seconds of the clock, and waits until the test goes on."""

    def __init__(self, clock: ManualClock, seconds: float) -> None:
        super().__init__(TEXTS)
        self.looks = 0
        self.may_go_on = threading.Event()
        self.may_go_on.set()
        self._clock = clock
        self._seconds = seconds

    def find_changes(self, state: str, versions: Callable[[], Mapping[str, str]]) -> Changes | None:
        self.looks += 1
        self._clock.pass_time(self._seconds)
        assert self.may_go_on.wait(10)
        return super().find_changes(state, versions)


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> SlowDocuments:
    monkeypatch.setattr(document_index, "ALWAYS_LOOKED_AT", 1)
    return SlowDocuments(ManualClock(), 0.02)


def test_after_a_look_that_takes_long_the_next_is_made_a_second_later(slow: SlowDocuments) -> None:
    index = DocumentIndex(slow, clock=slow._clock)
    looks: list[int] = []
    for seconds in (0.0, 0.01, 0.9, 0.2):  # a look takes 0.02
        slow._clock.pass_time(seconds)
        index.find_existing("Tea", "explore") if not looks else index.list()
        with index._lock:  # until a look in the background has ended
            looks.append(slow.looks)
    assert looks == [1, 1, 1, 2]


def test_of_a_repository_that_takes_a_request_few_files_are_looked_at_like_many() -> None:
    remote = SlowDocuments(ManualClock(), 0.02)
    remote.is_remote = True
    index = DocumentIndex(remote, clock=remote._clock)
    index.find_similar("Tea rooms")
    remote.texts["new.md"] = "# Tea rooms in towns"

    assert len(index.find_similar("Tea rooms")) == 1
    remote._clock.pass_time(document_index.MAX_PAUSE_SECONDS + document_index.BACKGROUND_SECONDS)
    assert len(index.find_similar("Tea rooms")) == 2
    assert remote.looks == 2


def test_who_asks_often_does_not_wait_while_files_are_looked_at(slow: SlowDocuments) -> None:
    index = DocumentIndex(slow, clock=slow._clock)
    titles(index)
    slow.texts["new.md"] = "# New\n\nTea."
    slow._clock.pass_time(1.1)
    slow.may_go_on.clear()

    assert "New" not in titles(index)
    assert index.describe_problems() == {}
    slow.may_go_on.set()
    with index._lock:  # until the look has ended
        assert slow.looks == 2
    assert "New" in titles(index)


def test_a_search_waits_for_a_look_only_if_the_last_one_was_a_minute_ago(
    slow: SlowDocuments,
) -> None:
    index = DocumentIndex(slow, clock=slow._clock)
    titles(index)
    slow.texts["new.md"] = "# New\n\nTea."
    slow._clock.pass_time(document_index.SEARCH_BACKGROUND_SECONDS)
    slow.may_go_on.clear()

    assert {found.title for found in index.search("tea", 5)[0]} == {"Tea rooms"}
    assert not index._is_recent(document_index.AsOf.LATELY)  # similar research would have waited
    slow.may_go_on.set()
    with index._lock:  # until the look in the background has ended
        assert slow.looks == 2
    assert {found.title for found in index.search("tea", 5)[0]} == {"Tea rooms", "New"}

    slow.texts["newer.md"] = "# Newer\n\nTea."
    slow._clock.pass_time(document_index.SEARCH_BACKGROUND_SECONDS + 1.0)
    assert "Newer" in {found.title for found in index.search("tea", 5)[0]}


def test_a_look_that_fails_meanwhile_is_told_to_the_next_who_asks(
    slow: SlowDocuments, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = DocumentIndex(slow, clock=slow._clock)
    titles(index)
    slow._clock.pass_time(1.1)

    def fail(*_: object) -> None:
        raise ExternalError("The folder cannot be read.")

    monkeypatch.setattr(slow, "find_changes", fail)
    assert titles(index) == {"Bees on roofs", "Tea rooms"}
    with index._lock, pytest.raises(ExternalError):
        index._refresh_and_ask(
            queries.list_files, document_index.AsOf.LATELY, slow._clock.monotonic()
        )


ANSWERED_AS_OF_NOW: dict[str, Callable[[DocumentIndex], object]] = {
    "what is paid for": lambda index: index.find_existing("Wasps", "explore"),
    "the list": lambda index: index.list_documents("Wasps", 5, 0)[1],
}


@pytest.mark.parametrize("question", ANSWERED_AS_OF_NOW)
def test_many_files_are_looked_at_for_a_question_that_has_to_be_answered_as_of_now(
    documents: Documents, monkeypatch: pytest.MonkeyPatch, question: str
) -> None:
    monkeypatch.setattr(document_index, "ALWAYS_LOOKED_AT", 1)
    monkeypatch.setattr(document_index, "SECONDS_PER_FILE", 1.0)
    index = DocumentIndex(documents, clock=ManualClock())
    assert not ANSWERED_AS_OF_NOW[question](index)
    documents.texts["2026-01-01-wasps/research.md"] = WASPS

    assert ANSWERED_AS_OF_NOW[question](index)


def _break_off(changes: Iterable[FileChange], after: int) -> Iterator[FileChange]:
    yield from itertools.islice(changes, after)
    raise KeyboardInterrupt


def test_a_crash_costs_one_batch(
    documents: Documents, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_file, "BATCH", 10)
    documents.texts = {f"{number:02}.md": f"# Tea {number}" for number in range(40)}

    class Crashing(Documents):
        def find_changes(
            self, state: str, versions: Callable[[], Mapping[str, str]]
        ) -> Changes | None:
            changes = documents.find_changes(state, versions)
            assert changes is not None
            return Changes(_break_off(changes.files, 25), "")

    with pytest.raises(KeyboardInterrupt):
        DocumentIndex(Crashing(), path).search("tea", 5)
    documents.read.clear()
    assert DocumentIndex(documents, path).search("tea", 5)[1] == 40
    assert len(documents.read) == 20


def test_documents_that_share_common_words_are_found_by_their_rare_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(queries, "MAX_LOOKED_AT", 100)
    monkeypatch.setattr(queries, "MAX_CANDIDATES", 5)
    texts = {f"{n:03}.md": f"# Market analysis of product {n}\n\nMarket." for n in range(300)}
    texts["rare.md"] = "# Market analysis of beekeeping\n\nHives."
    index = index_of(texts)

    assert index.find_similar("Market analysis of beekeeping hives")[0].path == "ideas/rare.md"
    assert len(index.find_similar("Market analysis of a product")) == 5


def test_names_that_are_not_utf_8_are_listed_as_they_are_shown() -> None:
    index = index_of({"caf\udce9.md": "# Coffee", "a\nb.md": "# Break"})
    assert [info.path for info in index.list()] == ["a%0Ab.md", "caf%E9.md"]
    assert titles(index, "coffee") == {"Coffee"}


def test_a_document_that_was_published_a_moment_ago_is_found_by_its_name() -> None:
    """Even among many, which are looked at in the background."""
    documents = Documents({f"{number}.md": f"# Tea {number}" for number in range(150)})
    index = DocumentIndex(documents)
    titles(index)
    documents.texts["new.md"] = "---\nexploration_id: e2\n---\n\n# New"

    assert index.find_document("ideas/new.md")
    documents.texts["newer.md"] = "---\nexploration_id: e3\n---\n\n# Newer"
    assert index.find_exploration("e3")


# What the index writes of these documents, by its format. Where it writes something else, raise FORMAT: an
# index that was written before is then built again.
WRITTEN = {3: "376656c3c05fccc7"}


def test_an_index_that_writes_something_else_has_another_format() -> None:
    texts = {
        "bees.md": TEXTS["bees.md"],
        "tea.md": TEXTS["tea/research.md"],
        "box.md": (
            "---\nidea: A box\nmode: business\nstatus: complete\nverdict: PASS\ndate: 2026-01-02\n"
            "model: offline\n---\n\n# A box\n\n## Verdict\n\nPASS: nobody buys it.\n\n"
            "## Update 2026-02-03\n\nIt is no longer so.\n"
        ),
        "bad.md": "---\nidea: [\n---\n\nText without a title.",
    }
    written = [prepare_document(name, "1", 1, text).entry for name, text in texts.items()]
    text = "\n".join(entry.model_dump_json() for entry in written)

    assert {index_file.FORMAT: hash_content(text).hex()[:16]} == WRITTEN
