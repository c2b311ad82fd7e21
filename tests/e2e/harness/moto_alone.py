"""Moto's server, with one request to DynamoDB at a time: `python -m tests.e2e.harness.moto_alone …`."""

import sys

from moto.server import main

from tests.fakes.aws import atomic_dynamodb

if __name__ == "__main__":
    with atomic_dynamodb():
        main(sys.argv[1:])
