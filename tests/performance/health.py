"""Whether /health answers while the worst input that is accepted is being worked on.

    python -m tests.performance.health [--seconds N]

First, in this process: how long each tool holds the interpreter at a time, over hostile input. Then a real
`idea serve`, whose model keeps calling one tool with its worst input in four runs at once, and how long
/health takes meanwhile. Ends with 1 if the slowest hundredth of the answers takes longer than the limit.
"""

import argparse
import json
import random
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import httpx

from idea_explorer.adapters.documents.process import ChildProcessReader
from idea_explorer.console.markdown import render_report
from idea_explorer.domain.errors import ToolError
from idea_explorer.ports import UploadedFile
from idea_explorer.tools.calculator import calculate
from idea_explorer.tools.code.parsing import grammar_of, parse
from idea_explorer.tools.code.parsing.references import find_uses
from idea_explorer.tools.code.reference_search import MAX_PLACES
from idea_explorer.tools.code.workspace import find_words
from idea_explorer.tools.decoding import decode
from idea_explorer.tools.fulltext import FullText, UploadIndex
from idea_explorer.tools.readable import readable
from tests.fakes.anthropic_server import FakeAnthropic
from tests.fakes.anthropic_turns import Turn, answer, text, tool_use
from tests.fakes.code_repository import CodeBench, fill
from tests.fakes.documents import make_docx, make_pdf, make_pptx, make_xlsx, paragraph, row
from tests.fakes.reports import business
from tests.fakes.served import Served

LIMIT_SECONDS = 0.2
RUNS = 4
STEPS = 15
MEGABYTE = 1_048_576

# The largest patterns that are accepted, and those for which RE2 needs more states than it has memory for.
PATTERNS = [
    "a{1,99}" * 5 + "x",
    "(a{1,20}){1,24}x",
    "(.*1.{1,150}0){3}x",
    "[01ab]*1[01ab]{480}x",
    ".*1.{200}x.{200}y",
    r"\pL{1,6}9",
    "(?i)[a-z]{1,400}!",
    "(?:a?){490}x",
]
REFUSED = ["a{1,1000}" * 100, ".{1,1000}" * 100, r"\pL{1,1000}"]
_random = random.Random(1)
ONE_LINE = "".join(_random.choices("ab01", k=MEGABYTE - 1))
SOURCES: Mapping[str, str] = {
    "nested.js": "(function a(){" * 60_000,
    "line.js": "var a=function(){};" * 50_000,
    "brackets.ts": "[{(" * 330_000,
    "imports.py": "import a;" * 110_000,
    "names.py": "a = 1\n" * 160_000,
    "nested.rs": "mod a {" * 140_000,
    "uses.rs": "use a::{" + "b," * 480_000 + "};",
    "pointers.c": "int *a(" * 140_000,
    "methods.java": "class A{void a(){" * 58_000,
    "types.go": "type a struct{a " * 60_000,
    "nested.cpp": "namespace a{class b{" * 50_000,
    "nested.cs": "class a{void b(){" * 60_000,
    "nested.kt": "class a{fun b(){" * 60_000,
    "nested.php": "<?php " + "class a{function b(){" * 50_000,
    "nested.rb": "class A\ndef a\n" * 70_000,
    "scripts.vue": "<script>" * 130_000,
    "line.txt": ONE_LINE,
    "same.txt": "a" * (MEGABYTE - 1),
}
PAGES: Mapping[str, str] = {
    "comments.html": "<!--" * 120_000,
    "tags.html": "<a href='" * 50_000,
    "entities.html": "&#x" * 160_000,
    "tables.html": "<table><tr><td>" * 33_000,
    "words.html": "<p>word</p>" * 45_000,
}
DOCUMENTS: Mapping[str, str] = {
    "anchors.md": "---\n" + "".join(f"a{n}: &a{n} [*a{n - 1},*a{n - 1}]\n" for n in range(1, 900)),
    "brackets.md": "[" * 50_000,
    "links.md": "[a](b " * 8_000,
    "stars.md": "*a **b " * 7_000,
    "quotes.md": "> " * 25_000,
    "words.md": "bees " * 10_000,
}


def office_files() -> dict[str, bytes]:
    """Documents with as much text as is read of one, and some that take as long as they may."""
    cells = row(*("cell of words" for _ in range(40))) * 5_000
    return {
        "rows.csv": ("word;12.5;Größe\n" * 1_000_000).encode("latin-1"),
        "rows.xlsx": make_xlsx({"A": cells}),
        "strings.xlsx": make_xlsx(
            {"A": '<row><c t="s"><v>0</v></c></row>' * 100_000}, strings=["word " * 6_000]
        ),
        "text.docx": make_docx(paragraph("words and words " * 20) * 8_000),
        "nested.docx": make_docx("<w:p><w:r>" * 100 + "</w:r></w:p>" * 100),
        "slides.pptx": make_pptx(["word\n" * 2_000] * 200),
        "pages.pdf": make_pdf(["words of a page\n" * 60] * 1_000),
    }


@dataclass(frozen=True)
class Held:
    seconds: float
    longest: float


def longest_hold(work: Callable[[], object]) -> Held:
    """How long the work took, and the longest time for which no other thread got to run: in CPU seconds, so
    that other programs on the machine do not count."""
    longest, done = 0.0, threading.Event()

    def watch() -> None:
        nonlocal longest
        before = time.process_time()
        while not done.is_set():
            time.sleep(0.001)
            now = time.process_time()
            longest, before = max(longest, now - before), now

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    time.sleep(0.005)
    began = time.process_time()
    try:
        work()
    finally:
        took = time.process_time() - began
        done.set()
        watcher.join()
    return Held(took, longest)


def tool_work(folder: Path) -> Iterator[tuple[str, str, Callable[[], object]]]:
    bench = CodeBench(folder / "cache").over_folder(fill(folder / "code", SOURCES))
    for pattern in PATTERNS:
        yield "search_files", pattern[:30], partial(_search_code, bench, pattern, accepted=True)
    for pattern in REFUSED:
        yield "search_files", pattern[:30], partial(_search_code, bench, pattern, accepted=False)
    yield "find_files", "?" * 30, partial(bench.call, "find_files", pattern="?" * 1_000)
    for name, source in SOURCES.items():
        if grammar := grammar_of(name):
            yield "find_definition", name, partial(parse, grammar, source.encode())
            places = find_words(source.encode(), b"a", MAX_PLACES)
            yield (
                "find_references",
                name,
                partial(find_uses, grammar, source.encode(), b"a", places),
            )
    for name, page in PAGES.items():
        yield "http_fetch", name, partial(_read_page, page.encode())
        upload = UploadedFile(name, page.encode() * 20)
        yield "file_search", name, partial(_search_upload, upload)
    for name, content in office_files().items():
        yield "file_search", name, partial(_search_upload, UploadedFile(name, content))
    for name, document in DOCUMENTS.items():
        yield "report as HTML", name, partial(render_report, document)
        yield "search_research", name, partial(_search_document, document)
    yield "calculator", "9^9^9…", partial(_calculate, "9^999*" * 80 + "9")
    large = json.dumps([["path/of/a/file.py", "text", 1, 2, "0" * 40, 3, "", True]] * 100_000)
    yield "a snapshot's list", "100,000 files", partial(json.loads, large)


def _search_code(bench: CodeBench, pattern: str, *, accepted: bool) -> None:
    """A pattern that is refused without our knowing would be measured as a fast one."""
    assert bench.call("search_files", pattern=pattern)["ok"] is accepted, pattern


def _read_page(data: bytes) -> object:
    return readable(decode(data, html=True), limit=100_000)


def _search_upload(upload: UploadedFile) -> object:
    return UploadIndex(ChildProcessReader(), [upload]).search("word", 5)


def _search_document(document: str) -> object:
    return FullText([("a.md", "", document)]).search("bees a b", 5)


def _calculate(expression: str) -> None:
    with suppress(ToolError):  # refusing it is fine
        calculate(expression)


def measure_tools(folder: Path) -> bool:
    print(f"\n{'tool':18} {'input':32} {'took':>9} {'held at once':>13}")
    worst = 0.0
    for tool, name, work in tool_work(folder):
        held = longest_hold(work)
        worst = max(worst, held.longest)
        print(f"{tool:18} {name:32} {held.seconds:7.2f} s {held.longest * 1_000:10.0f} ms")
    print(f"{'longest of all':51} {worst * 1_000:23.0f} ms")
    return worst <= LIMIT_SECONDS


def calls_of(kind: str) -> list[tuple[str, dict[str, Any]]]:
    return {
        "pattern": [("search_files", {"pattern": pattern}) for pattern in PATTERNS],
        "source file": [
            (name, {key: f"{word}{number}"})
            for number in range(4)
            for name, key, word in [
                ("find_definition", "symbol", "a"),
                ("find_importers", "modulePath", "b"),
            ]
        ],
        "document": [("search_research", {"query": f"bees a b {number}"}) for number in range(8)],
        "page": [("file_search", {"query": f"word {number}"}) for number in range(8)],
    }[kind]


TOOLSETS = {
    "pattern": "code",
    "source file": "code",
    "document": "research",
    "page": "assistant",
}


def keeps_calling(request: Any, _: int) -> Turn:
    """A model that calls the worst there is, turn after turn, and then writes its report."""
    offered = {tool["name"] for tool in request.get("tools", ())}
    asked = json.dumps(request["messages"][0])
    kind = next(name for name in TOOLSETS if f"worst {name}" in asked)
    turns = sum(message["role"] == "assistant" for message in request["messages"])
    calls = [call for call in calls_of(kind) if call[0] in offered]
    if turns >= STEPS or not calls or request.get("tool_choice", {}).get("type") == "none":
        return answer(text(business("Urban bees", verdict="PIVOT")))
    return answer(*(tool_use(name, given) for name, given in calls))


@contextmanager
def working(served: Served, kind: str, stop: threading.Event) -> Iterator[list[str]]:
    """Runs of this kind, one after the other, in several threads, once each of them has begun."""
    done: list[str] = []
    begun = threading.Semaphore(0)

    def keep_running() -> None:
        with served.client() as api:
            files = _uploaded(api) if kind == "page" else []
            while not stop.is_set():
                body = {
                    "idea": f"worst {kind} {time.monotonic_ns()}",
                    "toolset": TOOLSETS[kind],
                    "max_steps": STEPS,
                    "deadline_seconds": 600,
                    "files": files,
                }
                reply = api.post("/explorations", json=body)
                reply.raise_for_status()
                begun.release()
                address = f"/explorations/{reply.json()['id']}"
                while not stop.is_set():
                    time.sleep(0.2)
                    status = api.get(address).json()["status"]
                    if status not in {"queued", "running", "awaiting_approval"}:
                        done.append(status)
                        break

    threads = [threading.Thread(target=keep_running, daemon=True) for _ in range(RUNS)]
    for thread in threads:
        thread.start()
    for _ in threads:
        assert begun.acquire(timeout=120), "a run was not taken"
    try:
        yield done
    finally:
        stop.set()
        for thread in threads:
            thread.join(30)


def _uploaded(api: httpx.Client) -> list[str]:
    ids = []
    for name, page in PAGES.items():
        content = (page * 20).encode()
        told = api.post("/files", json={"name": name, "size": len(content)}).json()
        api.put(told["upload"]["url"], content=content).raise_for_status()
        ids.append(str(told["file_id"]))
    return ids


def ask_for(seconds: float, url: str) -> list[float]:
    """How long /health took, asked again and again. From a process of its own: this one has the model to run,
    whose work would count as the server's."""
    took: list[float] = []
    until = time.monotonic() + seconds
    with httpx.Client(base_url=url, timeout=30, trust_env=False) as api:
        while time.monotonic() < until:
            began = time.perf_counter()
            api.get("/health").raise_for_status()
            took.append(time.perf_counter() - began)
            time.sleep(0.02)
    return sorted(took)


def measure_health(folder: Path, seconds: float) -> bool:
    print(f"\n{'/health while':18} {'asked':>7} {'p50':>9} {'p99':>9} {'slowest':>9}   runs ended")
    fill(folder, {**SOURCES, **{f"ideas/{name}": text for name, text in DOCUMENTS.items()}})
    good = True
    with FakeAnthropic(keeps_calling) as model:
        env = {"ANTHROPIC_API_KEY": "key", "ANTHROPIC_BASE_URL": model.url}
        with Served(folder, env) as served, ProcessPoolExecutor(1, get_context("spawn")) as asking:
            asking.submit(ask_for, 0.1, served.url).result()
            good &= _row("idle", asking.submit(ask_for, seconds / 3, served.url).result(), [])
            for kind in TOOLSETS:
                with working(served, kind, threading.Event()) as done:
                    time.sleep(2)
                    good &= _row(kind, asking.submit(ask_for, seconds, served.url).result(), done)
    return good


def _row(kind: str, took: list[float], done: list[str]) -> bool:
    p50, p99 = (took[int(len(took) * share)] * 1_000 for share in (0.5, 0.99))
    slowest = took[-1] * 1_000
    ended = ", ".join(f"{done.count(status)} {status}" for status in sorted(set(done)))
    print(
        f"{kind:18} {len(took):7} {p50:6.1f} ms {p99:6.1f} ms {slowest:6.1f} ms   {ended}",
        flush=True,
    )
    return p99 <= LIMIT_SECONDS * 1_000


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=20.0, help="for each kind of input")
    seconds = parser.parse_args().seconds
    with tempfile.TemporaryDirectory() as name:
        tools = measure_tools(Path(name, "tools"))
        health = measure_health(Path(name, "served"), seconds)
    return 0 if tools and health else 1


if __name__ == "__main__":
    sys.exit(main())
