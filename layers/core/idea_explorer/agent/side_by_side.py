"""Run a few functions at the same time and give their results in order."""

import threading
from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")


def side_by_side(functions: Sequence[Callable[[], T]]) -> list[T]:
    """Every function has its own thread. The first exception, in order, is raised when all are done."""
    if len(functions) == 1:
        return [functions[0]()]
    results: dict[int, T] = {}
    errors: dict[int, BaseException] = {}

    def run(index: int) -> None:
        try:
            results[index] = functions[index]()
        except BaseException as error:  # noqa: BLE001  raised again below, in the caller's thread
            errors[index] = error

    threads = [threading.Thread(target=run, args=(i,), daemon=True) for i in range(len(functions))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[min(errors)]
    return [results[index] for index in range(len(functions))]
