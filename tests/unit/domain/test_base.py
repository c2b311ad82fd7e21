"""Models that are built when they are first used."""

import threading
import time
from typing import Any

from pydantic_core import CoreSchema, core_schema

from idea_explorer.domain.base import DomainModel

built: list[str] = []


class Slow:
    @classmethod
    def __get_pydantic_core_schema__(cls, _source: Any, _handler: Any) -> CoreSchema:
        built.append(threading.current_thread().name)
        time.sleep(0.05)
        return core_schema.any_schema()


class Parent(DomainModel, frozen=True):
    name: str = ""


class Child(Parent, frozen=True):
    value: Slow | None = None
    number: int


def test_a_model_is_built_once_by_its_first_use_however_many_threads_use_it() -> None:
    made: list[Child] = []
    together = threading.Barrier(4)
    before = list(built)

    def use() -> None:
        together.wait()
        made.append(Child(name="a", number=1))

    threads = [threading.Thread(target=use) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert before == []
    assert len(built) == 1
    assert [child.number for child in made] == [1] * 4
