"""The rows of a test as one test, where they need nothing of their own.

Pytest and its workers spend some milliseconds on each test, which is more than most rows of a
`parametrize` take. In workers, and so in `make test`, a test that uses no fixture therefore runs all
its rows and names those that fail. Without workers (`pytest tests/…`), each row is a test that can be
chosen.
"""

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import product
from typing import Any

import pytest
from _pytest.mark.structures import ParameterSet

Row = dict[str, Any]
FAILURES = (Exception, pytest.fail.Exception)
Skipped = pytest.skip.Exception
NAME_LENGTH = 200


def join_rows(
    collector: pytest.Collector, name: str, test: Callable[..., object]
) -> pytest.Function | None:
    """One test for all rows, or nothing where each needs fixtures, marks or a class of its own."""
    rows = _rows_of(test) if isinstance(collector, pytest.Module) else None
    if rows is None:
        return None
    joined = pytest.Function.from_parent(collector, name=name, callobj=_run_all(test, rows))
    return None if joined.fixturenames else joined


def run_rows(test: Callable[..., object], rows: Iterable[Row]) -> None:
    """Call a test with each row, also after one has failed, and name the rows that did. It is skipped where
    every row is."""
    __tracebackhide__ = True
    failures: list[BaseException] = []
    skipped: list[BaseException] = []
    given = list(rows)
    for row in given:
        try:
            test(**row)
        except Skipped as skip:
            skipped.append(skip)
        except FAILURES as failure:
            failure.add_note(f"Row: {_name_of(row)}")
            failures.append(failure)
    if len(failures) > 1:
        raise BaseExceptionGroup(f"{len(failures)} rows fail", failures)
    if failures:
        raise failures[0]
    if skipped and len(skipped) == len(given):
        raise skipped[0]


def expand(marks: Iterable[pytest.Mark]) -> list[Row] | None:
    """The rows of one or several `parametrize`, or nothing where they say more than values."""
    columns = []
    for mark in marks:
        column = _rows_of_one(*mark.args, **mark.kwargs)
        if column is None:
            return None
        columns.append(column)
    return [{name: part[name] for part in parts for name in part} for parts in product(*columns)]


def _rows_of(test: Callable[..., object]) -> list[Row] | None:
    marks = [mark for mark in getattr(test, "pytestmark", ()) if mark.name == "parametrize"]
    if not marks or not inspect.isfunction(test) or hasattr(test, "hypothesis"):
        return None
    if inspect.iscoroutinefunction(test) or inspect.isgeneratorfunction(test):
        return None
    rows = expand(marks)
    # One without rows is skipped by pytest, and one that takes more than its rows needs fixtures.
    return rows if rows and set(inspect.signature(test).parameters) == set(rows[0]) else None


def _rows_of_one(
    names: str | Iterable[str], values: Iterable[object], ids: object = None, **more: object
) -> list[Row] | None:
    if more or isinstance(values, Iterator):  # which is read once, and by pytest
        return None
    split = names.replace(",", " ").split() if isinstance(names, str) else list(names)
    rows = []
    for value in values:
        parts: Any = [value] if len(split) == 1 else value
        if isinstance(value, ParameterSet):
            if value.marks:
                return None
            parts = value.values
        rows.append(dict(zip(split, parts, strict=True)))
    return rows


def _run_all(test: Callable[..., object], rows: list[Row]) -> Callable[[], None]:
    def run() -> None:
        __tracebackhide__ = True
        run_rows(test, rows)

    vars(run).update(vars(test))
    run.__name__ = test.__name__
    run.__doc__ = test.__doc__
    run.__dict__["__wrapped__"] = test  # where pytest reads the line of the test
    run.__dict__["__signature__"] = inspect.Signature()
    return run


def _name_of(row: Mapping[str, object]) -> str:
    name = ", ".join(f"{name}={value!r}" for name, value in row.items())
    return name if len(name) <= NAME_LENGTH else name[:NAME_LENGTH] + "…"
