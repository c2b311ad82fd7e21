"""How fast the code tools are on real code of some size, and whether they are right.

    python -m tests.performance.code_tools             # Django's source, fetched by pip
    python -m tests.performance.code_tools FOLDER      # any other folder

Prints times, memory and sizes, and compares find_definition and find_importers with Python's own parser
and search_files with a look at every line. The figures are for reading; nothing here is a test.
"""

import ast
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from tests.fakes.code_repository import SHA, CodeBench, tarball

DJANGO = "django==5.2.7"
ROUNDS = 7
PATTERNS = [
    "QuerySet",
    "TODO|FIXME",
    "(?i)todo",
    r"def \w+_related\b",
    r"^class \w+\(.*Mixin",
    "(a+)+$",
]
SYMBOLS = ["QuerySet", "get_or_create", "Model", "__init__", "QuerySet.filter", "no_such_name"]
MODULES = ["django/db/models/query.py", "django.db.models", "QuerySet", "django/utils/timezone.py"]
TREE_FILES = 100_000


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        source = Path(sys.argv[1]) if len(sys.argv) > 1 else fetched(work)
        bench = opened(source, work / "cache")
        indexing(bench)
        latencies(bench)
        compare(bench)
        restarted(source, work / "cache")
        large_tree(work / "large")


def fetched(work: Path) -> Path:
    """The sdist, as pip brings it: a tarball with one top folder, as GitHub's."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary=:all:"]
    subprocess.run([*command, f"--dest={work}", DJANGO], check=True, stderr=subprocess.DEVNULL)
    return next(work.glob("*.tar.gz"))


def opened(source: Path, cache: Path) -> CodeBench:
    bench = CodeBench(cache)
    if source.is_dir():
        bench.over_folder(source)
    else:
        bench.over_tarball(source.read_bytes())
    unpacking = taken(lambda: bench.workspace.tree)
    tree = bench.workspace.tree
    files = [*tree.entries_below("")]
    kept = sum(len(buffer.text) for buffer in tree.buffers)
    heading("Snapshot")
    row("files", f"{len(files):,}")
    row("text kept", megabytes(kept))
    row("unpacked and packed", str(unpacking))
    return bench


def indexing(bench: CodeBench) -> None:
    heading("Index")
    first = taken(partial(bench.call, "find_definition", symbol="QuerySet"))
    row("first question, nothing parsed yet", str(first))
    index = bench.workspace.index
    rest = taken(lambda: index.build(bench.workspace.tree))
    row(f"the other {rest.result:,} source files", str(rest))
    row("nothing new to parse", str(taken(lambda: index.build(bench.workspace.tree))))
    row("on disk", megabytes((bench.cache / "symbols.db").stat().st_size))
    row(
        "peak memory of this process",
        megabytes(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1_024),
    )


def latencies(bench: CodeBench) -> None:
    heading(f"Warm calls: median, slowest of {ROUNDS}, and median of CPU time")
    calls: list[tuple[str, dict[str, str]]] = [
        *(("search_files", {"pattern": pattern}) for pattern in PATTERNS),
        ("search_files", {"pattern": "TODO", "filePattern": "*.py"}),
        *(("find_definition", {"symbol": symbol}) for symbol in SYMBOLS),
        *(("find_importers", {"modulePath": module}) for module in MODULES),
        ("find_files", {"pattern": "**/*.py"}),
        ("list_files", {"path": "."}),
        ("read_file", {"path": "django/db/models/query.py"}),
    ]
    for tool, given in calls:
        took = [taken(partial(bench.call, tool, **given)) for _ in range(ROUNDS)]
        wall = [once.wall * 1_000 for once in took]
        cpu = statistics.median(once.cpu * 1_000 for once in took)
        answer = took[0].result
        count = answer.get("totalMatches", answer.get("total", answer.get("total_lines", "")))
        figures = f"{statistics.median(wall):7.1f} {max(wall):8.1f} {cpu:8.1f} ms   {count}"
        row(f"{tool} {' '.join(given.values())}", figures)


def compare(bench: CodeBench) -> None:
    """Spot checks: every figure names how many of the names that were looked at agree."""
    heading("Agreement")
    tree = bench.workspace.tree
    texts = {
        entry.path: tree.content(entry).decode("utf-8", "replace")
        for entry in tree.entries_below("")
        if entry.path.endswith(".py") and entry.content == "text"
    }
    classes: dict[str, set[tuple[str, int]]] = {}
    for path, text in texts.items():
        for node in ast.walk(parsed_or_empty(text)):
            if isinstance(node, ast.ClassDef):
                classes.setdefault(node.name, set()).add((path, node.lineno))
    names = sorted(name for name, places in classes.items() if len(places) <= 50)[::40]
    agreed = sum(places_of(bench, name) == classes[name] for name in names)
    row("find_definition with ast, classes", f"{agreed} of {len(names)}")
    for pattern in PATTERNS[:-1]:
        expected = sum(
            bool(re.search(pattern, line)) for t in texts.values() for line in t.split("\n")
        )
        answer = bench.call("search_files", pattern=pattern, filePattern="*.py")
        row(f"search_files {pattern}", f"{answer['totalMatches']} of {expected}")
    for module in (module for module in MODULES if module.endswith(".py")):
        dotted = module.removesuffix(".py").split("/")
        expected = sum(importing(texts[path], path, dotted) for path in texts)
        answer = bench.call("find_importers", modulePath=module)
        row(f"find_importers {module} with ast", f"{answer['total']} of {expected}")


def places_of(bench: CodeBench, name: str) -> set[tuple[str, int]]:
    found = bench.call("find_definition", symbol=name, type="class")["definitions"]
    return {(d["file"], d["line"]) for d in found if d["file"].endswith(".py")}


def importing(text: str, path: str, module: list[str]) -> int:
    """How many statements of a file import a module, by ast."""
    count = 0
    for node in ast.walk(parsed_or_empty(text)):
        named: list[list[str]] = []
        if isinstance(node, ast.Import):
            named = [alias.name.split(".") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = path.split("/")[: -node.level] if node.level else []
            base = [*base, *(node.module.split(".") if node.module else [])]
            named = [base, *([*base, alias.name] for alias in node.names)]
        count += module in named
    return count


def parsed_or_empty(text: str) -> ast.Module:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError):
        return ast.Module(body=[], type_ignores=[])


def restarted(source: Path, cache: Path) -> None:
    """What a new process pays that finds snapshot and index on disk."""
    heading("A new process, everything kept")
    bench = CodeBench(cache)
    if source.is_dir():
        bench.over_folder(source)
    else:
        bench.over_tarball(b"")
    row("snapshot", str(taken(lambda: bench.workspace.tree)))
    row("first question", str(taken(partial(bench.call, "find_definition", symbol="QuerySet"))))


def large_tree(cache: Path) -> None:
    heading(f"A tree of {TREE_FILES:,} files")
    packed = tarball({f"d{n % 300}/f{n}.py": f"x{n % 7} = 1\n" for n in range(TREE_FILES)})
    bench = CodeBench(cache).over_tarball(packed)
    row("unpacked and packed", str(taken(lambda: bench.workspace.tree)))
    for tool, given in [
        ("list_files", {"path": "."}),
        ("find_files", {"pattern": "**/f7*.py"}),
        ("search_files", {"pattern": "x3"}),
        ("find_definition", {"symbol": "x3"}),
    ]:
        once = taken(partial(bench.call, tool, **given))
        row(f"{tool} {' '.join(given.values())}", f"{once}   ok: {once.result['ok']}")
    more = tarball({f"{n}.txt": "" for n in range(TREE_FILES + 1)})
    answer = CodeBench(cache).over_tarball(more, SHA[::-1]).call("list_files", path=".")
    row("one file more", answer["message"])


@dataclass(frozen=True)
class Taken:
    """What a call gave and took. CPU time tells more than wall time on a machine that is busy."""

    result: Any
    wall: float
    cpu: float

    def __str__(self) -> str:
        return f"{self.wall:.2f} s, {self.cpu:.2f} s of CPU"


def taken(function: Callable[[], Any]) -> Taken:
    wall, cpu = time.perf_counter(), time.process_time()
    result = function()
    return Taken(result, time.perf_counter() - wall, time.process_time() - cpu)


def megabytes(size: int) -> str:
    return f"{size / 1_048_576:.1f} MB"


def heading(text: str) -> None:
    print(f"\n{text}")


def row(label: str, value: str) -> None:
    print(f"  {label:<52} {value}")


if __name__ == "__main__":
    main()
