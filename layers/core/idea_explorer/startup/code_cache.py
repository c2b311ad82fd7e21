"""Keeps code that the standard library compiles from text, as Python keeps the code of modules.

The methods of a dataclass and the annotations that are strings are compiled in every process that loads their
module, and regular expressions in every process that uses them: together a fifth of an offline exploration.
Here their code is looked up in a file beside the bytecode of this module, and compiled only where it is not
there. What was new is added when the process ends.
As with bytecode, whoever can write to the folder decides what runs; PYTHONDONTWRITEBYTECODE is respected,
and a file that cannot be read or written is no error.
"""

import _sre  # type: ignore[import-not-found]
import atexit
import builtins
import marshal
import os
import re
import sys
from contextlib import suppress
from functools import lru_cache
from importlib.util import MAGIC_NUMBER, source_hash
from types import CodeType
from typing import Any

from idea_explorer.startup.own_builtins import replace_builtins

NAME = "<string>"  # what Python calls a text without a file
MAX_ENTRIES = 4_000  # all commands and functions have 1,400; each edit of a dataclass adds one
_VERIFIED_BELOW = (3, 15)  # how later versions compile is not known
_HEAD = len(MAGIC_NUMBER) + 4  # bytes; the second number says where the index starts

Index = dict[bytes, tuple[int, int]]
_installed: "CodeCache | None" = None


def install() -> None:
    """Affects only what is compiled afterwards."""
    global _installed
    cached = __spec__.cached
    if cached is None or sys.version_info >= _VERIFIED_BELOW:
        return
    _installed = cache = CodeCache(f"{cached.removesuffix('.pyc')}.code")
    _replace("dataclasses", "exec", cache.exec)
    _replace("typing", "compile", cache.compile)
    atexit.register(cache.save)


def _replace(module: str, name: str, function: Any) -> None:
    if loaded := sys.modules.get(module):
        vars(loaded).setdefault(name, function)
    else:
        replace_builtins(module, {name: function})


def compile_pattern(pattern: str | bytes, flags: int = 0) -> Any:
    """As `re.compile`. Only for patterns that are written in our code: those of others, such as what a model
    searches for, would fill the file."""
    return _installed.pattern(pattern, flags) if _installed else re.compile(pattern, flags)


class CodeCache:
    """The file ends with an index: where each text's code starts, and how long it is. Only what is asked for
    is read, so that no process pays for the texts of the others; only the index stays in memory."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._file, self._index = _open(path)
        self._new: dict[bytes, bytes] = {}
        # the same few annotations come again and again
        self._annotation = lru_cache(maxsize=256)(lambda text: self._code(text, "eval"))

    def exec(self, source: Any, *namespaces: Any) -> None:
        code = self._code(source, "exec") if isinstance(source, str) else source
        builtins.exec(code, *namespaces)  # noqa: S102  what the standard library would run

    def compile(self, source: Any, filename: Any, mode: str, *rest: Any, **named: Any) -> Any:
        if isinstance(source, str) and (filename, mode) == (NAME, "eval") and not (rest or named):
            return self._annotation(source)
        return builtins.compile(source, filename, mode, *rest, **named)

    def pattern(self, pattern: str | bytes, flags: int) -> Any:
        key = source_hash(f"re {int(flags)} {pattern!r}".encode())
        try:
            return _sre.compile(pattern, *self._load(key))
        except Exception:  # noqa: BLE001  not there, or damaged
            program = _compile_pattern(pattern, int(flags))
            self._add(key, program)
            return _sre.compile(pattern, *program)

    def save(self) -> None:
        if not self._new:
            return
        # read again: other processes may have added theirs
        entries = {**_read_all(self._path), **self._new}
        _write(self._path, entries if len(entries) <= MAX_ENTRIES else self._new)
        self._new = {}

    def _code(self, text: str, mode: str) -> CodeType:
        key = source_hash(f"{mode} {text}".encode())
        code = self._load(key)
        if not isinstance(code, CodeType):
            code = compile(text, NAME, mode, dont_inherit=True)
            self._add(key, code)
        return code

    def _load(self, key: bytes) -> Any:
        """None if it is not there."""
        if self._file is None or key not in self._index:
            return None
        try:
            start, length = self._index[key]
            return _load(self._file, length, start)
        except Exception:  # noqa: BLE001  a damaged file may hold anything; the text is compiled instead
            return None

    def _add(self, key: bytes, compiled: Any) -> None:
        if len(self._new) < MAX_ENTRIES and self._can_write():
            self._new[key] = marshal.dumps(compiled)

    def _can_write(self) -> bool:
        return not sys.dont_write_bytecode and os.access(self._path.rpartition(os.sep)[0], os.W_OK)


def _compile_pattern(pattern: str | bytes, flags: int) -> tuple[Any, ...]:
    """What `re` passes to its engine beside the pattern: flags, program, and the groups' number and names."""
    from re import _compiler, _parser  # type: ignore[attr-defined]

    parsed = _parser.parse(pattern, flags)
    state = parsed.state
    names = {number: name for name, number in state.groupdict.items()}
    by_number = tuple(names.get(number) for number in range(state.groups))
    program = [int(part) for part in _compiler._code(parsed, flags)]  # noqa: SLF001  as `re` does
    return flags | state.flags, program, state.groups - 1, state.groupdict, by_number


def _open(path: str) -> tuple[int | None, Index]:
    try:
        file = os.open(path, os.O_RDONLY)
    except OSError:
        return None, {}
    try:
        return file, _read_index(file)
    except Exception:  # noqa: BLE001  as above
        os.close(file)
        return None, {}


def _read_index(file: int) -> Index:
    head = os.pread(file, _HEAD, 0)
    if not head.startswith(MAGIC_NUMBER):
        raise ValueError("of another version of Python")
    start = int.from_bytes(head[len(MAGIC_NUMBER) :], "little")
    size = os.fstat(file).st_size
    index: Index = _load(file, size, start)
    if any(not 0 <= begin <= begin + length <= size for begin, length in index.values()):
        raise ValueError("not an index of this file")
    return index


def _load(file: int, length: int, start: int) -> Any:
    return marshal.loads(os.pread(file, length, start))  # noqa: S302  trusted as bytecode is


def _read_all(path: str) -> dict[bytes, bytes]:
    file, index = _open(path)
    if file is None:
        return {}
    try:
        return {key: os.pread(file, length, start) for key, (start, length) in index.items()}
    except OSError:
        return {}
    finally:
        os.close(file)


def _write(path: str, entries: dict[bytes, bytes]) -> None:
    temporary = f"{path}.{os.urandom(8).hex()}"
    try:
        file = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    except OSError:
        return
    try:
        with os.fdopen(file, "wb") as written:
            written.write(_dump(entries))
        os.replace(temporary, path)  # noqa: PTH105  few starts load pathlib
    except OSError:
        with suppress(OSError):
            os.unlink(temporary)  # noqa: PTH108


def _dump(entries: dict[bytes, bytes]) -> bytes:
    index: Index = {}
    start = _HEAD
    for key, code in entries.items():
        index[key] = (start, len(code))
        start += len(code)
    head = MAGIC_NUMBER + start.to_bytes(_HEAD - len(MAGIC_NUMBER), "little")
    return b"".join([head, *entries.values(), marshal.dumps(index)])
