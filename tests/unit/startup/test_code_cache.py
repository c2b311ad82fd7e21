"""Code that is compiled from text is kept for the next process."""

import errno
import marshal
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from idea_explorer.startup import code_cache
from idea_explorer.startup.code_cache import CodeCache

TEXT = "def double(x):\n return 2 * x"
DEFINE = """
import sys
compiled = []

def note(event, given):
    if event == "compile" and given[1] == "<string>":
        compiled.append(given)

sys.addaudithook(note)
import idea_explorer
from dataclasses import dataclass
from typing import get_type_hints
compiled.clear()

@dataclass(frozen=True, order=True)
class Point:
    x: int
    y: int = 0

class Line:
    points: "list[Point]"

assert get_type_hints(Line) == {"points": list[Point]}
assert Point(1) == Point(1, 0) < Point(2) and repr(Point(1)) == "Point(x=1, y=0)"
print(len(compiled))
"""
COMPILE_PATTERN = """
import re, idea_explorer
from idea_explorer.domain.patterns import lazy_pattern

compiled = []
parse = re._parser.parse
re._parser.parse = lambda *given: compiled.append(given) or parse(*given)
number = lazy_pattern("(?P<digit>[0-9])", re.IGNORECASE)
assert number.findall("a1b2") == ["1", "2"]
print(len(compiled))
"""
PATTERNS: list[tuple[Any, int]] = [
    (r"(?P<key>\w+)\s*=\s*(?P<value>[^;]*)(;)?", 0),
    (r"^(straße|ÉCOLE|[а-я]{2,5})$", re.IGNORECASE | re.MULTILINE),
    (r"(?x) a  b  # comment", 0),
    (r"(a)|(?:b(?P<last>c))++", 0),
    ("\ud800|\\Z", 0),
    (rb"GIF8[79]a[^\0]{0,6}\0", re.DOTALL),
]
TEXTS = ("key = value; k=", "straSSE\nécole\nДОМ", "ab AB", "a bcbc", "\ud800", "")


@pytest.fixture(autouse=True)
def _writes_bytecode(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)


def run(code: str, prefix: Path, **variables: str) -> str:
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**kept, "PYTHONPYCACHEPREFIX": str(prefix), **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.strip()


def test_what_one_process_compiles_the_next_one_does_not(tmp_path: Path) -> None:
    assert int(run(DEFINE, tmp_path)) >= 2
    assert run(DEFINE, tmp_path) == "0"


def test_a_pattern_that_one_process_compiles_the_next_one_does_not(tmp_path: Path) -> None:
    assert run(COMPILE_PATTERN, tmp_path) == "1"
    assert run(COMPILE_PATTERN, tmp_path) == "0"


@pytest.mark.parametrize(("pattern", "flags"), PATTERNS)
def test_a_kept_pattern_is_the_one_that_re_compiles(
    tmp_path: Path, pattern: Any, flags: int
) -> None:
    path, expected = tmp_path / "code", re.compile(pattern, flags)
    first = CodeCache(str(path))
    found = [first.pattern(pattern, flags)]
    first.save()
    found.append(CodeCache(str(path)).pattern(pattern, flags))

    assert len(entries(path)) == 1
    texts = [t if isinstance(pattern, str) else t.encode(errors="ignore") for t in TEXTS]
    for kept in found:
        assert kept == expected  # by its flags, its program and its text
        assert (kept.groups, kept.groupindex) == (expected.groups, expected.groupindex)
        for text in texts:
            matches = [
                [(m.span(), m.lastgroup) for m in p.finditer(text)] for p in (kept, expected)
            ]
            assert matches[0] == matches[1]


def test_other_flags_are_another_pattern(tmp_path: Path) -> None:
    cache = CodeCache(str(tmp_path / "code"))

    assert not cache.pattern("a", 0).search("A")
    assert cache.pattern("a", re.IGNORECASE).search("A")
    cache.save()
    again = CodeCache(str(tmp_path / "code"))
    assert not again.pattern("a", 0).search("A")
    assert again.pattern("a", re.IGNORECASE).search("A")


@pytest.mark.parametrize("stored", [1, (), (0, [99, 99], 0, {}, ()), ("a", "b", "c", "d", "e")])
def test_an_entry_that_is_not_a_pattern_is_compiled_again(tmp_path: Path, stored: Any) -> None:
    path = tmp_path / "code"
    cache = CodeCache(str(path))
    cache.pattern("a+", 0)
    cache.save()
    (key,) = entries(path)
    code_cache._write(str(path), {key: marshal.dumps(stored)})

    assert CodeCache(str(path)).pattern("a+", 0) == re.compile("a+")


def test_nothing_is_written_where_python_writes_no_bytecode(tmp_path: Path) -> None:
    run(DEFINE, tmp_path)
    (written,) = tmp_path.rglob("*.code")
    written.unlink()

    assert run(DEFINE, tmp_path, PYTHONDONTWRITEBYTECODE="1") != "0"
    assert not written.exists()


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    assert run(DEFINE, tmp_path / "file") != "0"


def test_a_disk_that_is_full_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    cache = CodeCache(str(tmp_path / "code"))
    call(cache, TEXT)
    monkeypatch.setattr(os, "replace", refuse)
    cache.save()

    assert not [*tmp_path.iterdir()]


def test_a_process_adds_to_what_others_have_added_since_it_started(tmp_path: Path) -> None:
    path = tmp_path / "code"
    first, second = CodeCache(str(path)), CodeCache(str(path))
    call(first, TEXT)
    call(second, "def double(x):\n return x + x")
    first.save()
    second.save()

    assert len(entries(path)) == 2


def cut(content: bytes) -> bytes:
    return content[:-10]


def shift_index(content: bytes) -> bytes:
    return content[:4] + b"\xff\xff\xff\x7f" + content[8:]


def other_version(content: bytes) -> bytes:
    return b"\0" + content[1:]


def other_kind(content: bytes) -> bytes:
    return content[:4] + len(content).to_bytes(4, "little") + content[8:] + marshal.dumps([1])


def change_index(content: bytes, start: int, length: int) -> bytes:
    at = int.from_bytes(content[4:8], "little")
    index = dict.fromkeys(marshal.loads(content[at:]), (start, length))
    return content[:at] + marshal.dumps(index)


def huge_entry(content: bytes) -> bytes:
    return change_index(content, 8, 10**15)


def entry_far_away(content: bytes) -> bytes:
    return change_index(content, 2**70, 8)


def entry_in_the_middle(content: bytes) -> bytes:
    return change_index(content, 11, 20)


def empty(_: bytes) -> bytes:
    return b""


@pytest.mark.parametrize(
    "damage",
    [
        cut,
        shift_index,
        other_version,
        other_kind,
        huge_entry,
        entry_far_away,
        entry_in_the_middle,
        empty,
    ],
)
def test_a_damaged_file_is_ignored_and_written_anew(
    tmp_path: Path, damage: Callable[[bytes], bytes]
) -> None:
    path = tmp_path / "code"
    whole = CodeCache(str(path))
    call(whole, TEXT)
    whole.save()
    path.write_bytes(damage(path.read_bytes()))

    again = CodeCache(str(path))
    assert call(again, TEXT) == 4
    again.save()
    assert len(entries(path)) == 1
    assert [file.name for file in tmp_path.iterdir()] == ["code"]


def keep_text(folder: Path) -> tuple[Path, bytes]:
    """The file in which the code of a text is kept, and its key."""
    path = folder / "code"
    cache = CodeCache(str(path))
    call(cache, TEXT)
    cache.save()
    (key,) = entries(path)
    return path, key


def test_code_of_another_version_of_python_is_not_run(tmp_path: Path) -> None:
    path, key = keep_text(tmp_path)
    other = compile(TEXT.replace("2", "3"), "<string>", "exec")
    code_cache._write(str(path), {key: marshal.dumps(other)})

    assert call(CodeCache(str(path)), TEXT) == 6
    path.write_bytes(other_version(path.read_bytes()))
    assert call(CodeCache(str(path)), TEXT) == 4


def test_an_entry_that_is_not_code_is_compiled_again(tmp_path: Path) -> None:
    path, key = keep_text(tmp_path)
    code_cache._write(str(path), {key: marshal.dumps(1)})

    assert call(CodeCache(str(path)), TEXT) == 4


def test_the_file_starts_anew_when_it_has_too_many_entries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(code_cache, "MAX_ENTRIES", 3)
    path = tmp_path / "code"
    for number in range(4):
        cache = CodeCache(str(path))
        call(cache, f"def double(x):\n return 2 * x + {number}")
        cache.save()

    assert len(entries(path)) == 1


def test_the_same_text_as_a_statement_and_as_an_expression_is_kept_apart(tmp_path: Path) -> None:
    cache = CodeCache(str(tmp_path / "code"))
    names: dict[str, Any] = {}
    cache.exec("6 * 7", names)

    assert eval(cache.compile("6 * 7", "<string>", "eval")) == 42
    assert cache.compile("6 * 7", "file.py", "eval").co_filename == "file.py"
    with pytest.raises(SyntaxError):
        cache.compile("6 *", "<string>", "eval")


def call(cache: CodeCache, text: str) -> int:
    names: dict[str, Any] = {}
    cache.exec(text, {}, names)
    result: int = names["double"](2)
    return result


def entries(path: Path) -> dict[bytes, bytes]:
    return code_cache._read_all(str(path))
