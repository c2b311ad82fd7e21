"""Threads that are used again."""

import queue
import threading

from idea_explorer.domain.threads import IDLE, run_in_thread


def run_and_wait(name: str) -> tuple[int, str, bool]:
    """The thread of a call, its name during the call, and whether it ends with the process."""
    told: queue.SimpleQueue[tuple[int, str, bool]] = queue.SimpleQueue()

    def call() -> None:
        thread = threading.current_thread()
        told.put((threading.get_ident(), thread.name, thread.daemon))

    run_in_thread(call, name=name)
    return told.get(timeout=60)


def wait_until_idle(ident: int) -> None:
    (thread,) = [thread for thread in threading.enumerate() if thread.ident == ident]
    for _ in range(1_000):
        if thread.name == IDLE:
            return
        threading.Event().wait(0.005)
    raise AssertionError(f"{thread.name} is at work")


def test_calls_one_after_the_other_use_the_same_thread() -> None:
    idents = set()
    for name in ("first", "second", "third"):
        ident, named, is_daemon = run_and_wait(name)
        assert (named, is_daemon) == (name, True)
        wait_until_idle(ident)
        idents.add(ident)

    assert len(idents) == 1


def test_calls_at_the_same_time_have_a_thread_each() -> None:
    meeting = threading.Barrier(4, timeout=60)

    def meet() -> None:
        meeting.wait()

    for number in range(3):
        run_in_thread(meet, name=f"waits {number}")

    meeting.wait()  # raises where one of them has to wait for another to end
