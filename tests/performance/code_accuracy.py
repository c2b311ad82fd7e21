"""How many definitions and importers the code tools find, and how many of those they find are true.

    python -m tests.performance.code_accuracy [--folder FOLDER] [language ...]

Over public repositories, fetched as packages, and compared with other tools: Python's parser and import
system, the TypeScript compiler, go/parser, javalang, universal-ctags, and the rules of compilers for modules
and headers. Ends with 1 if a language is below its limits. `recall` is the share of what the other tool finds
that ours finds too, `precision` the share of what ours finds that the other one knows.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from idea_explorer.domain.limits import CodeLimits
from idea_explorer.tools.code.parsing import parse
from idea_explorer.tools.code.resolving import family_of
from tests.fakes.code_repository import CodeBench
from tests.performance.code_sources import DJANGO, Sources
from tests.performance.ground_truth.ctags import read_definitions
from tests.performance.ground_truth.model import Truth
from tests.performance.ground_truth.others import (
    read_go,
    read_includes,
    read_java_imports,
    read_javascript,
)
from tests.performance.ground_truth.python import read_python
from tests.performance.ground_truth.rust import read_uses

LIMITS = CodeLimits(max_importers=100_000)
MAX_ASKED = 150  # files whose importers are asked for, evenly out of all
MIN_RECALL = {"definitions": 0.97, "importers": 0.97}
MIN_PRECISION = {"definitions": 0.95, "importers": 0.97}
# what the projects put on the path of their imports and includes
FLASK = "flask==3.1.2"
FLASK_FOLDERS = (
    *("src", "tests", "tests/test_apps", "examples/tutorial", "examples/javascript"),
    "examples/celery/src",
)
REDIS_FOLDERS = (
    *("src", "deps/hiredis", "deps/linenoise", "deps/lua/src", "deps/hdr_histogram"),
    *("deps/jemalloc/include", "deps/jemalloc/test/include"),
)
ReadImports = Callable[[Path], set[tuple[str, str]]]


@dataclass(frozen=True)
class Project:
    endings: tuple[str, ...]
    root: Path
    truth: Callable[[], Truth]


@dataclass
class Score:
    found: int = 0
    expected: int = 0
    both: int = 0

    def add(self, found: set[object], expected: set[object]) -> None:
        self.found += len(found)
        self.expected += len(expected)
        self.both += len(found & expected)

    @property
    def recall(self) -> float:
        return self.both / self.expected if self.expected else 1.0

    @property
    def precision(self) -> float:
        return self.both / self.found if self.found else 1.0


def projects(sources: Sources) -> dict[tuple[str, str], Callable[[], Project]]:
    """By language and name; each is fetched when it is called."""

    def python(requirement: str, *roots: str) -> Project:
        root = sources.from_python(requirement)
        return Project((".py",), root, lambda: read_python(root, roots))

    def javascript(root: Path, *endings: str) -> Project:
        compiler = sources.typescript()
        return Project(endings, root, lambda: read_javascript(root, compiler, endings))

    def go() -> Project:
        root = sources.from_debian("golang-github-gin-gonic-gin")
        place = sources.program("golang-1.19-go", "golang-1.19-src")
        goroot = _join_go(place)
        settings = {"GOROOT": str(goroot), "GOCACHE": str(place / "cache"), "GO111MODULE": "off"}
        command = [str(goroot / "bin" / "go"), "run"]
        return Project((".go",), root, lambda: read_go(root, command, {**os.environ, **settings}))

    def tagged(
        package: str, language: str, endings: tuple[str, ...], imports: ReadImports
    ) -> Project:
        root = sources.from_debian(package)
        return Project(
            endings,
            root,
            lambda: Truth(read_definitions(root, language, "".join(endings)), imports(root)),
        )

    def java() -> Project:
        sources.add_library("javalang")
        return tagged("libcommons-lang3-java", "Java", (".java",), read_java_imports)

    script, typed = (".js", ".mjs", ".cjs", ".jsx"), (".ts", ".tsx", ".mts", ".cts")
    return {
        ("Python", "django"): lambda: python(DJANGO, "", "tests"),
        ("Python", "flask"): lambda: python(FLASK, *FLASK_FOLDERS),
        ("JavaScript", "express"): lambda: javascript(sources.from_npm("express@5.1.0"), *script),
        ("JavaScript", "eslint"): lambda: javascript(sources.from_npm("eslint@9.39.0"), *script),
        ("TypeScript", "rxjs"): lambda: javascript(sources.from_npm("rxjs@7.8.2"), *typed),
        ("TypeScript", "babel"): lambda: javascript(
            sources.from_debian("node-babel7", ["/test/", "/lib/", "/benchmark/"]), *typed
        ),
        ("Go", "gin"): go,
        ("Java", "commons-lang"): java,
        ("Rust", "ripgrep"): lambda: tagged("rust-ripgrep", "Rust", (".rs",), read_uses),
        ("C", "redis"): lambda: tagged(
            "redis", "C", (".c", ".h"), lambda root: read_includes(root, REDIS_FOLDERS)
        ),
    }


def _join_go(place: Path) -> Path:
    """Debian splits Go between two folders."""
    program, shared = place / "usr/lib/go-1.19", place / "usr/share/go-1.19"
    for inside in ("src", "pkg/include", "misc", "test", "api"):
        link, target = program / inside, shared / inside
        if target.exists() and not (link.exists() and not link.is_symlink()):
            link.unlink(missing_ok=True)
            link.symlink_to(target)
    return program


def measure(project: Project, shown: int) -> dict[str, Score]:
    truth = project.truth()
    with tempfile.TemporaryDirectory() as cache:
        bench = CodeBench(Path(cache), LIMITS).over_folder(project.root)
        tree = bench.workspace.tree
        paths = [e for e in tree.entries_below("") if e.path.endswith(project.endings)]
        definitions, importers = Score(), Score()
        ours: set[object] = set()
        for entry in paths:
            if entry.content == "text":
                parsed = parse(_grammar(entry.path), tree.content(entry))
                ours |= {(entry.path, d.line, d.name) for d in parsed.definitions}
        known: set[object] = {*truth.definitions}
        definitions.add(ours, known)
        _show("definition missing", known - ours, shown)
        _show("definition unknown", ours - known, shown)
        expected = truth.importers()
        asked = sorted({e.path for e in paths if e.content == "text"})
        for path in asked[:: max(len(asked) // MAX_ASKED, 1)]:
            answer = bench.call("find_importers", modulePath=path)
            files = {i["file"] for i in answer["importers"] if i["file"].endswith(project.endings)}
            unsure = {importer for importer, spec in truth.unsure if _may_mean(spec, path)}
            true: set[object] = {(path, f) for f in expected.get(path, ())}
            found: set[object] = {(path, f) for f in files}
            found -= {(path, f) for f in unsure} - true
            importers.add(found, true)
            _show("importer missing", true - found, shown)
            _show("importer unknown", found - true, shown)
    return {"definitions": definitions, "importers": importers}


def _may_mean(spec: str, path: str) -> bool:
    """Whether a name that the other tool could not resolve may be a package with this file in it."""
    return not spec.startswith(".") and spec.rpartition("/")[2] in path


def _grammar(path: str) -> str:
    from idea_explorer.tools.code.parsing import grammar_of

    return grammar_of(path) or family_of(path)


def _show(what: str, items: set[object], most: int) -> None:
    for item in sorted(items, key=str)[:most]:
        print(f"    {what}: {item}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=Path("artifacts/code-benchmark"))
    parser.add_argument("--show", type=int, default=0, help="differences of each kind to print")
    parser.add_argument("names", nargs="*", help="languages or projects; all without any")
    given = parser.parse_args()
    wanted = {name.lower() for name in given.names}
    totals: dict[str, dict[str, Score]] = {}
    print(f"{'':24}{'definitions':^30}{'importers':^30}")
    columns = f"{'number':>10}{'recall':>10}{'precision':>10}"
    print(f"{'':24}{columns}{columns}")
    for (language, name), fetch in projects(Sources(given.folder)).items():
        if wanted and wanted.isdisjoint({language.lower(), name}):
            continue
        scores = measure(fetch(), given.show)
        _row(f"{language} {name}", scores)
        of_language = totals.setdefault(language, {kind: Score() for kind in scores})
        for kind, score in scores.items():
            of_language[kind].found += score.found
            of_language[kind].expected += score.expected
            of_language[kind].both += score.both
    print()
    good = [_row(language, scores) for language, scores in totals.items()]
    return 0 if all(good) else 1


def _row(name: str, scores: dict[str, Score]) -> bool:
    good = all(
        score.recall >= MIN_RECALL[kind] and score.precision >= MIN_PRECISION[kind]
        for kind, score in scores.items()
    )
    figures = "".join(
        f"{score.expected:>10,}{score.recall:>10.3f}{score.precision:>10.3f}"
        for score in scores.values()
    )
    print(f"{name:24}{figures}{'' if good else '  below the limits'}", flush=True)
    return good


if __name__ == "__main__":
    sys.exit(main())
