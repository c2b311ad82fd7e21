"""Documents that several processes parse: the index is the same, whatever becomes of the processes."""

import errno
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from idea_explorer import __version__
from idea_explorer.adapters.child_processes import child_command, child_environment
from idea_explorer.adapters.folder.research import Folder
from idea_explorer.adapters.research_index import child, parsing
from idea_explorer.adapters.research_index import file as index_file
from idea_explorer.adapters.research_index.file import IndexFile
from idea_explorer.adapters.research_index.parsing import count_cores, parse_changes
from idea_explorer.adapters.research_index.sources import FileChange
from idea_explorer.domain.document_fields import ParsedText, parse_text
from idea_explorer.domain.errors import ExternalError

TABLES = "about files documents terms frequencies texts words_data words_idx words_docsize".split()
ODD_TEXTS = {
    "bad.md": "---\nidea: [\n---\n\nText without a title.",
    "caf\udce9.md": "# Coffee \udce9 and tea",
    "empty.md": "",
    "chinese.md": "# 茶馆\n\n茶馆和蜂蜜。",
    "accents.md": "---\nidea: Café über alles\n---\n\n# Café\n\nTea, tea and `code`.",
    "offline.md": "---\nmodel: offline\n---\n\n# Example\n\n## Update - 2026-01-02\n\nBees.",
}


@pytest.fixture(autouse=True)
def two_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    monkeypatch.setattr(index_file, "PARSED_HERE", 5)
    monkeypatch.setattr(parsing, "CHUNK_DOCUMENTS", 4)


def use_one_core(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0})


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[subprocess.Popen[bytes]]:
    """Every process that is started from now on."""
    processes: list[subprocess.Popen[bytes]] = []
    real = parsing._start

    def start() -> subprocess.Popen[bytes]:
        processes.append(real())
        return processes[-1]

    monkeypatch.setattr(parsing, "_start", start)
    return processes


def make_changes(count: int = 60, version: str = "1") -> list[FileChange]:
    texts = {f"{n:03}/research.md": f"# Tea {n}\n\nTea rooms and {n} bees." for n in range(count)}
    texts |= ODD_TEXTS
    files = [FileChange(name, version, len(text), text) for name, text in sorted(texts.items())]
    logs = [FileChange(f"{n:03}/exploration-log.json", version) for n in range(count)]
    return [*files, *logs, FileChange("/", version)]


def build(path: Path, changes: Iterable[FileChange]) -> dict[str, list[tuple[object, ...]]]:
    IndexFile(path, "a test").apply(changes)
    return read_tables(path)


def read_tables(path: Path) -> dict[str, list[tuple[object, ...]]]:
    with closing(sqlite3.connect(path)) as db:
        return {table: db.execute(f"SELECT * FROM {table}").fetchall() for table in TABLES}


@pytest.fixture
def expected(tmp_path: Path) -> dict[str, list[tuple[object, ...]]]:
    """What an index holds that was built by one process."""
    with pytest.MonkeyPatch.context() as patch:
        use_one_core(patch)
        return build(tmp_path / "expected.db", make_changes())


def assert_none_is_left(started: list[subprocess.Popen[bytes]], count: int = 1) -> None:
    assert len(started) == count
    for process in started:
        assert process.returncode is not None
        assert process.stdin
        assert process.stdin.closed
        with pytest.raises(ProcessLookupError):
            os.kill(process.pid, 0)


Tables = dict[str, list[tuple[object, ...]]]


@pytest.mark.parametrize("batch", [2_000, 7])
@pytest.mark.parametrize("cores", [2, 4, 9])
def test_an_index_that_several_processes_build_is_the_same(
    tmp_path: Path,
    started: list[subprocess.Popen[bytes]],
    monkeypatch: pytest.MonkeyPatch,
    cores: int,
    batch: int,
) -> None:
    monkeypatch.setattr(index_file, "BATCH", batch)
    with monkeypatch.context() as patch:
        use_one_core(patch)
        expected = build(tmp_path / "expected.db", make_changes())
    assert not started
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(cores)))

    assert build(tmp_path / "index.db", make_changes()) == expected
    assert_none_is_left(started, min(cores - 1, parsing.MAX_PROCESSES))


def test_processes_parse_what_is_read(started: list[subprocess.Popen[bytes]]) -> None:
    parsed = [*parse_changes(make_changes(), set)]
    assert [change for change, _ in parsed] == make_changes()
    fields = {change.name: text.fields for change, text in parsed if text}
    documents = [change.name for change in make_changes() if change.text is not None]

    assert sorted(fields) == documents
    assert fields["accents.md"]["title"] == "Café"
    assert_none_is_left(started)


def test_a_child_answers_its_parent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody would notice if none ever did: it would only take longer."""
    answered: list[list[ParsedText | None]] = []
    real = parsing._ask

    def ask(process: subprocess.Popen[bytes], chunk: parsing._Chunk) -> list[ParsedText | None]:
        answered.append(real(process, chunk))
        return answered[-1]

    monkeypatch.setattr(parsing, "_ask", ask)
    monkeypatch.setattr(parsing._Processes, "_finish", wait_for_children)
    parsed = [*parse_changes(make_changes(), set)]

    assert sum(map(len, answered)) == sum(text is not None for _, text in parsed)


def wait_for_children(pool: parsing._Processes, wanted: parsing._Chunk) -> None:
    """Parses nothing here."""
    with pool._changed:
        assert pool._changed.wait_for(lambda: wanted.parsed is not None, timeout=30)


def test_where_little_is_left_no_process_is_started(
    started: list[subprocess.Popen[bytes]],
) -> None:
    texts = [FileChange(f"{n}.md", "1", 5, "# Tea") for n in range(parsing.CHUNK_DOCUMENTS - 1)]
    logs = [FileChange(f"{n}.json", "1") for n in range(2_000)]

    assert [change for change, _ in parse_changes([*texts, *logs], set)] == [*texts, *logs]
    assert not started


def test_files_without_a_text_are_not_all_read_ahead() -> None:
    read = 0

    def logs() -> Iterator[FileChange]:
        nonlocal read
        for read in range(1, 100_001):
            yield FileChange(f"{read}.json", "1")

    with closing(parse_changes(logs(), set)) as parsed:
        next(parsed)
    assert read <= parsing.AHEAD_CHUNKS * parsing.CHUNK_CHANGES


def test_what_was_moved_is_parsed_by_others_too(tmp_path: Path) -> None:
    index = IndexFile(tmp_path / "index.db", "a test")
    index.apply(make_changes())
    moved = [FileChange(f"new/{c.name}", "1", c.size, c.text) for c in make_changes() if c.text]

    assert all(text for _, text in parse_changes(moved, index._list_indexed))


def test_a_child_of_another_version_answers_nothing() -> None:
    given = json.dumps([["ideas/tea.md", "# Tea"]]).encode() + b"\n"
    command = child_command(parsing.CHILD, "0.0.0")
    done = subprocess.run(command, input=given, capture_output=True, check=True)
    assert done.stdout == b""


def test_a_child_writes_no_bytecode_where_its_parent_writes_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    code = "import sys; print(sys.dont_write_bytecode, sys.pycache_prefix)"
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.setattr(sys, "pycache_prefix", "/a/folder")
    command = child_command("module")
    start = command[: command.index("-m")]
    shown = subprocess.run([*start, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.split() == ["True", "/a/folder"]


CHILDREN = {
    "ends at once": "",
    "ends after some answers": "answer(); answer(); answer()",
    "is killed while it parses": "answer(); read(); os.kill(os.getpid(), signal.SIGKILL)",
    "is killed before it reads": "answer(); os.kill(os.getpid(), signal.SIGKILL)",
    "never answers": "answer(); read(); time.sleep(600)",
    "never reads": "time.sleep(600)",
    "answers nonsense": "read(); print('nonsense', flush=True); time.sleep(600)",
    "answers too little": "read(); print('[]', flush=True); time.sleep(600)",
    "answers something else": "read(); print('[[1]]', flush=True); time.sleep(600)",
    "answers half a line": "read(); print('[[', end='', flush=True); os._exit(1)",
}
PREAMBLE = """
import json, os, signal, sys, time
from idea_explorer.adapters.research_index.child import read_documents

def read():
    return json.loads(sys.stdin.readline())

def answer(**changed):
    texts = read_documents(read())
    print(json.dumps([({**fields, **changed}, subject) for fields, subject in texts]), flush=True)
    open(f"{__file__}.answered", "w").close()

"""


@pytest.fixture
def use_child(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    def use(code: str) -> None:
        (tmp_path / "a_child.py").write_text(f"{PREAMBLE}{code}\n")
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.setattr(parsing, "CHILD", "a_child")

    return use


def wait_for_answer(tmp_path: Path, changes: Iterable[FileChange]) -> Iterator[FileChange]:
    """The changes, of which the last are read when a child has answered."""
    for number, change in enumerate(changes):
        if number == 20:
            waited_until = time.monotonic() + 20
            while not (tmp_path / "a_child.py.answered").exists():
                assert time.monotonic() < waited_until
                time.sleep(0.005)
        yield change


def test_what_a_child_answers_is_used(tmp_path: Path, use_child: Callable[[str], None]) -> None:
    use_child("answer(verdict='PIVOT')")
    changes = wait_for_answer(tmp_path, make_changes())
    verdicts = [text.fields["verdict"] for _, text in parse_changes(changes, set) if text]
    assert verdicts.count("PIVOT") == parsing.CHUNK_DOCUMENTS


@pytest.mark.parametrize("child", CHILDREN)
def test_a_child_that_fails_loses_no_document(
    tmp_path: Path,
    started: list[subprocess.Popen[bytes]],
    use_child: Callable[[str], None],
    monkeypatch: pytest.MonkeyPatch,
    expected: Tables,
    child: str,
) -> None:
    monkeypatch.setattr(parsing, "ANSWER_SECONDS", 0.3)
    use_child(CHILDREN[child])
    changes: Iterable[FileChange] = make_changes()
    if "answer()" in CHILDREN[child]:
        changes = wait_for_answer(tmp_path, changes)

    assert build(tmp_path / "index.db", changes) == expected
    assert_none_is_left(started)


def test_where_no_process_can_be_started_it_is_done_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, expected: Tables
) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "missing"))
    assert build(tmp_path / "index.db", make_changes()) == expected


def test_where_no_thread_can_be_started_no_process_is_left(
    tmp_path: Path,
    started: list[subprocess.Popen[bytes]],
    monkeypatch: pytest.MonkeyPatch,
    expected: Tables,
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(parsing, "run_in_thread", fail)
    assert build(tmp_path / "index.db", make_changes()) == expected
    assert_none_is_left(started)


def test_a_few_documents_are_parsed_without_another_process(
    tmp_path: Path,
    started: list[subprocess.Popen[bytes]],
    monkeypatch: pytest.MonkeyPatch,
    expected: Tables,
) -> None:
    monkeypatch.setattr(index_file, "PARSED_HERE", 60 + len(ODD_TEXTS) + 1)
    assert build(tmp_path / "index.db", make_changes()) == expected
    assert not started


@pytest.mark.parametrize(
    ("megabytes", "cores"), [("512", 1), ("1769", 1), ("3537", 1), ("3538", 2), ("10240", 5)]
)
def test_a_lambda_function_has_as_many_cores_as_its_memory_gives_it(
    monkeypatch: pytest.MonkeyPatch, megabytes: str, cores: int
) -> None:
    monkeypatch.setenv("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", megabytes)
    assert count_cores() == cores


def test_where_the_system_does_not_say_which_cores_all_count(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delattr(os, "sched_getaffinity")
    assert count_cores() == (os.cpu_count() or 1)


def test_a_text_that_is_indexed_already_is_not_parsed_again(tmp_path: Path) -> None:
    """As after a checkout that gave all files a new time."""
    index = IndexFile(tmp_path / "index.db", "a test")
    index.apply(make_changes())
    changes = [*make_changes(version="2"), FileChange("new.md", "1", 5, "# New")]
    parsed = parse_changes(changes, index._list_indexed)
    assert [change.name for change, text in parsed if text] == ["new.md"]

    index.apply(changes)
    tables = read_tables(tmp_path / "index.db")
    assert {version for name, version, *_ in tables["files"] if name != b"new.md"} == {"2"}
    assert len(tables["texts"]) == 60 + len(ODD_TEXTS) + 1


def _fail_after(changes: Iterable[FileChange]) -> Iterator[FileChange]:
    yield from changes
    raise ExternalError("GitHub is not available.")


def test_what_was_read_before_an_error_is_written(
    tmp_path: Path, started: list[subprocess.Popen[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_file, "BATCH", 10)
    path = tmp_path / "index.db"
    with pytest.raises(ExternalError):
        build(path, _fail_after(make_changes()[:39]))
    assert len(read_tables(path)["files"]) == 30
    assert_none_is_left(started)


def test_who_stops_reading_leaves_no_process(started: list[subprocess.Popen[bytes]]) -> None:
    with closing(parse_changes(make_changes(), set)) as parsed:
        for _ in range(10):
            next(parsed)
        assert started[0].poll() is None
    assert_none_is_left(started)


def test_no_more_is_read_ahead_than_memory_is_meant_for_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(parsing, "AHEAD_CHARACTERS", 10_000)
    read = 0

    def count() -> Iterator[FileChange]:
        nonlocal read
        for number in range(100):
            read += 1
            yield FileChange(f"{number}.md", "1", 1_000, "x" * 1_000)

    with closing(parse_changes(count(), set)) as parsed:
        for number, _ in enumerate(parsed, 1):
            assert read <= max(5, number + 10 + 2 * parsing.CHUNK_DOCUMENTS)
    assert read == 100


def test_a_child_ends_when_its_parent_is_killed() -> None:
    code = (
        "import time; from idea_explorer.adapters.research_index import parsing\n"
        "print(parsing._start().pid, flush=True); time.sleep(600)"
    )
    parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    with parent:
        assert parent.stdout
        child = int(parent.stdout.readline())
        assert _is_running(child)
        parent.send_signal(signal.SIGKILL)
    waited_until = time.monotonic() + 20
    while _is_running(child) and time.monotonic() < waited_until:
        time.sleep(0.02)
    assert not _is_running(child)


def _is_running(process: int) -> bool:
    """One that has ended and that nobody has waited for is still listed."""
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in {"Z", "X"}


def test_files_that_change_while_they_are_read_are_indexed_as_by_one_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, started: list[subprocess.Popen[bytes]]
) -> None:
    """One is removed, one is exchanged for a link, one cannot be read, and one is not text in UTF-8."""
    ideas = tmp_path / "ideas"
    ideas.mkdir()
    for number in range(40):
        (ideas / f"{number:02}.md").write_text(f"# Tea {number}")
    (ideas / "12.md").write_bytes(b"# Caf\xe9 \xff\xfe")
    (ideas / "13.md").write_bytes(b"# Bees\0")
    changes = [Folder(tmp_path).find_changes("", dict) for _ in range(2)]
    (ideas / "20.md").unlink()
    (ideas / "25.md").unlink()
    (ideas / "25.md").symlink_to("26.md")
    real = os.open

    def fail(path: object, *arguments: object, **named: object) -> object:
        if str(path).endswith("30.md"):
            raise OSError(errno.EIO, "Input/output error")
        return real(path, *arguments, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "open", fail)
    built = []
    for cores, change in enumerate(changes, 1):
        assert change
        monkeypatch.setattr(os, "sched_getaffinity", lambda _, cores=cores: set(range(cores)))
        built.append(build(tmp_path / f"{cores}.db", change.files))

    assert built[0] == built[1]
    titles = {title for _, title, _ in built[1]["texts"]}
    assert {"Caf� ��", "Tea 39"} <= titles
    assert (
        len(titles) == 40 - 4
    )  # without the removed, the link, the unreadable and what is not text
    assert [row[1] for row in built[1]["files"] if row[0] == b"30.md"] == [""]
    assert_none_is_left(started)


def test_a_child_answers_each_line_with_one_and_ends_with_its_input() -> None:
    lines = [[["ideas/tea.md", "# Tea\n\nCafé"], ["ideas/bees.md", "# Bees"]], []]
    given = "".join(f"{json.dumps(line)}\n" for line in lines)
    command = [sys.executable, "-m", parsing.CHILD, __version__]
    done = subprocess.run(command, input=given.encode(), capture_output=True, check=True)
    answers = [json.loads(line) for line in done.stdout.splitlines()]

    assert [[text[0]["title"] for text in answer] for answer in answers] == [["Tea", "Bees"], []]
    assert done.stderr == b""


def test_a_document_that_cannot_be_parsed_stops_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    def parse(path: str, text: str) -> ParsedText:
        if path == "ideas/bad.md":
            raise RecursionError
        return parse_text(path, text)

    monkeypatch.setattr(child, "parse_text", parse)
    bad, tea = child.read_documents([("ideas/bad.md", "# Bad"), ("ideas/tea.md", "# Tea")])
    assert bad is None
    assert tea
    assert tea.subject == ["tea"]


def test_a_child_loads_little() -> None:
    """Otherwise it starts later than its share of the documents is parsed."""
    code = f"import sys, {parsing.CHILD}; print(*sys.modules)"
    command, environment = [sys.executable, "-c", code], child_environment()
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    loaded = done.stdout.split()
    assert not {"pydantic", "sqlite3", "subprocess", "idea_explorer.domain.limits"} & {*loaded}
    assert sum(name.startswith("idea_explorer") for name in loaded) <= 19
