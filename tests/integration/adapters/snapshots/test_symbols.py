"""The symbol index on disk: a cache that heals itself."""

import sqlite3
from pathlib import Path

import pytest

from idea_explorer.adapters.snapshots import symbols as adapter
from idea_explorer.adapters.snapshots.symbols import SqliteSymbols
from idea_explorer.domain.code import Definition, Import, ParsedCode

FOUND = ParsedCode(
    definitions=(Definition("main", "function", 3, "def main()", "App"),),
    imports=(
        Import("os/path", 1, "import os.path as p", bound="p"),
        Import("", 2, "from . import views", level=1),
        Import("views", 2, "from . import views", level=1, bound="views"),
    ),
)


def test_what_was_added_is_found_again_after_a_restart(tmp_path: Path) -> None:
    SqliteSymbols(tmp_path / "s.db").add({"python:1": FOUND, "python:2": ParsedCode()})
    again = SqliteSymbols(tmp_path / "s.db")
    assert again.unknown(["python:1", "python:2", "python:3"]) == {"python:3"}
    assert again.definitions("main") == [("python:1", FOUND.definitions[0])]
    assert again.definitions("other") == []
    assert {i.target for _, i in again.imports("path")} == {"os/path", ""}
    assert [i.bound for _, i in again.bindings("path")] == ["p"]
    assert [i.bound for _, i in again.bindings("p")] == ["p"]


def test_the_same_file_added_twice_is_there_once(tmp_path: Path) -> None:
    one, other = SqliteSymbols(tmp_path / "s.db"), SqliteSymbols(tmp_path / "s.db")
    one.add({"python:1": FOUND})
    other.add({"python:1": FOUND})
    assert len(one.definitions("main")) == 1


@pytest.mark.parametrize("damage", [b"not a database at all" * 100, b""])
def test_a_damaged_cache_starts_anew(tmp_path: Path, damage: bytes) -> None:
    (tmp_path / "s.db").write_bytes(damage)
    symbols = SqliteSymbols(tmp_path / "s.db")
    assert symbols.unknown(["python:1"]) == {"python:1"}
    symbols.add({"python:1": FOUND})
    assert symbols.unknown(["python:1"]) == set()


def test_a_cache_of_another_version_starts_anew(tmp_path: Path) -> None:
    SqliteSymbols(tmp_path / "s.db").add({"python:1": FOUND})
    with sqlite3.connect(tmp_path / "s.db") as db:
        db.execute("PRAGMA user_version = 99")
    assert SqliteSymbols(tmp_path / "s.db").unknown(["python:1"]) == {"python:1"}


def test_a_cache_that_has_grown_too_large_starts_anew(tmp_path: Path) -> None:
    symbols = SqliteSymbols(tmp_path / "s.db")
    symbols.add({"python:1": FOUND})
    with (tmp_path / "s.db").open("r+b") as file:
        file.truncate(adapter.MAX_BYTES + 1)
    assert SqliteSymbols(tmp_path / "s.db").unknown(["python:1"]) == {"python:1"}
