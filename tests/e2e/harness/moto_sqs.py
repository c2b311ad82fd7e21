"""Queues that lose nothing and stay quick with thousands of messages. Moto rebuilds the list of messages at
every deletion, and one that is sent meanwhile is gone; and to receive a message it counts all others."""

import functools
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from moto.sqs.exceptions import ReceiptHandleIsInvalid
from moto.sqs.models import Message, Queue, SQSBackend


@contextmanager
def reliable_queues() -> Iterator[None]:
    turn = threading.RLock()

    def locked(method: Any) -> Any:
        @functools.wraps(method)
        def run(*args: Any, **kwargs: Any) -> Any:
            with turn:
                return method(*args, **kwargs)

        return run

    def receive(method: Any) -> Any:
        @functools.wraps(method)
        def run(backend: Any, name: str, count: int, wait: int, *args: Any, **kwargs: Any) -> Any:
            if wait:
                raise NotImplementedError("whoever waits in here keeps all others waiting")
            with turn:
                return method(backend, name, count, wait, *args, **kwargs)

        return run

    with (
        patch.object(SQSBackend, "send_message", locked(SQSBackend.send_message)),
        patch.object(SQSBackend, "receive_message", receive(SQSBackend.receive_message)),
        patch.object(Queue, "delete_message", locked(_delete)),
        patch.object(SQSBackend, "is_message_valid_based_on_retention_period", _is_retained),
    ):
        yield


def _delete(queue: Any, receipt_handle: str) -> None:
    if receipt_handle in queue.deleted_messages:
        return
    for place, message in enumerate(queue._messages):
        if message.had_receipt_handle(receipt_handle):
            queue.pending_messages.discard(message)
            queue.deleted_messages.update(message.all_receipt_handles)
            del queue._messages[place]
            return
    raise ReceiptHandleIsInvalid


def _is_retained(backend: Any, queue_name: str, message: Message) -> bool:
    retention = backend.get_queue(queue_name).message_retention_period
    return bool(message.sent_timestamp / 1_000 + retention > time.time())  # type: ignore[operator]
