"""Queues under several hands at once."""

import threading
from typing import Any
from unittest.mock import patch

import boto3
import pytest
from moto import mock_aws
from moto.sqs.models import Message, SQSBackend

from tests.e2e.harness.moto_sqs import reliable_queues


def test_a_message_is_sent_when_the_deletion_of_another_is_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    had_receipt_handle = Message.had_receipt_handle
    senders: list[threading.Thread] = []
    waited: list[bool] = []

    def meanwhile(message: Message, handle: str) -> bool:
        if not senders:
            late = {"QueueUrl": url, "MessageBody": "late"}
            senders.append(threading.Thread(target=sqs.send_message, kwargs=late))
            senders[0].start()
            senders[0].join(0.2)
            waited.append(senders[0].is_alive())
        return had_receipt_handle(message, handle)

    with mock_aws(), reliable_queues():
        sqs: Any = boto3.client("sqs", region_name="us-east-1")
        url = sqs.create_queue(QueueName="work")["QueueUrl"]
        sqs.send_message(QueueUrl=url, MessageBody="early")
        (early,) = sqs.receive_message(QueueUrl=url)["Messages"]
        with patch.object(Message, "had_receipt_handle", meanwhile):
            sqs.delete_message(QueueUrl=url, ReceiptHandle=early["ReceiptHandle"])
            senders[0].join()

        assert waited == [True]
        (left,) = sqs.receive_message(QueueUrl=url)["Messages"]
        assert left["Body"] == "late"
        sqs.send_message(QueueUrl=url, MessageBody="another")
        with patch.object(SQSBackend, "get_queue_attributes", side_effect=AssertionError):
            assert sqs.receive_message(QueueUrl=url)["Messages"]  # without counting all others
        with pytest.raises(sqs.exceptions.ReceiptHandleIsInvalid):
            sqs.delete_message(QueueUrl=url, ReceiptHandle="unknown")
