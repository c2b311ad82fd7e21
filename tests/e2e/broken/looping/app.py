"""A function that sends each message back to the queue it came from."""

import os
from typing import Any

import boto3

sqs: Any = boto3.client("sqs")


def handler(event: dict[str, Any], _context: object) -> dict[str, Any]:
    for record in event["Records"]:
        sqs.send_message(QueueUrl=os.environ["QUEUE_URL"], MessageBody=record["body"])
    return {"batchItemFailures": []}
