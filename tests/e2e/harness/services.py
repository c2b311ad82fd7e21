"""AWS on this machine: moto in a process of its own, and the way from its workflows to our functions."""

import http.client
import json
import os
import socket
import subprocess
import sys
import threading
import time
import urllib.parse
from dataclasses import asdict, dataclass
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

import boto3
from botocore.config import Config

from tests.e2e.harness.asynchronous import ACCEPTED, AsyncInvocations
from tests.e2e.harness.functions import Functions
from tests.e2e.harness.lineage import TRACE_HEADER
from tests.e2e.harness.operator import OperatorAnswers
from tests.e2e.harness.runtime import Answer
from tests.e2e.harness.serving import Replying, port_of, serve, stop
from tests.e2e.harness.template import REGION, ROOT

MOTO = "tests.e2e.harness.moto_alone"
RULES = "HARNESS_RULES"
INVOKE = "/2015-03-31/functions/"
HOP_BY_HOP = frozenset({"connection", "content-length", "date", "server", "transfer-encoding"})
START_SECONDS = 600.0  # a busy machine may take this long; an idle one takes three
EXECUTE = {"stepfunctions": {"execute_state_machine": True}, "lambda": {"use_docker": False}}
CREDENTIALS = {
    "AWS_ACCESS_KEY_ID": "testing",
    "AWS_SECRET_ACCESS_KEY": "testing",
    "AWS_REGION": REGION,
    "AWS_DEFAULT_REGION": REGION,
}


@dataclass(frozen=True)
class Rules:
    """Where AWS's behaviour has a range. Indexes show a table as it was `index_lag` seconds ago. Lambda's
    recursive-loop detection does not follow a chain through Step Functions, as documented; with
    `lineage_through_workflows` it would, for those who do not want to depend on that."""

    index_lag: float = 1.0
    lineage_through_workflows: bool = False


class Services:
    """Moto's services. Executions of its state machines invoke the functions that are registered."""

    def __init__(self, functions: Functions, log: Path, rules: Rules) -> None:
        self.asynchronous = AsyncInvocations(functions, self.send_to)
        self.operator = OperatorAnswers(functions)
        self._front = _front_for(functions, self)
        self.port = _free_port()
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-m", MOTO, "-H", "127.0.0.1", "-p", str(self.port)],
                cwd=ROOT,
                # where moto's own clients look for services: its workflows find our functions there
                env={
                    **os.environ,
                    "MOTO_PORT": str(port_of(self._front)),
                    RULES: json.dumps(asdict(rules)),
                },
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        self._clients: dict[str, Any] = {}
        self._lock = threading.Lock()
        try:
            self._configure()
        except BaseException:
            self.close()
            raise

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def functions_url(self) -> str:
        """Where functions are invoked, by themselves too."""
        return f"http://127.0.0.1:{port_of(self._front)}"

    def client(self, service: str) -> Any:
        with self._lock:
            if service not in self._clients:
                connect: Any = boto3.client
                self._clients[service] = connect(
                    service,
                    endpoint_url=self.url,
                    region_name=REGION,
                    aws_access_key_id="testing",
                    aws_secret_access_key="testing",
                    config=Config(max_pool_connections=32),
                )
            return self._clients[service]

    def send_to(self, queue_arn: str, body: str) -> None:
        sqs = self.client("sqs")
        url = sqs.get_queue_url(QueueName=queue_arn.rpartition(":")[2])["QueueUrl"]
        sqs.send_message(QueueUrl=url, MessageBody=body)

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        stop(self._front)

    def _configure(self) -> None:
        until = time.monotonic() + START_SECONDS
        while True:
            try:
                self._post("/moto-api/config", EXECUTE)
            except OSError:
                if time.monotonic() > until or self._process.poll() is not None:
                    raise
                time.sleep(0.05)
            else:
                return

    def _post(self, path: str, body: object) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
        connection.getresponse().read()
        connection.close()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _front_for(functions: Functions, services: Services) -> ThreadingHTTPServer:
    class Front(Replying):
        """Answers invocations as Lambda does, and hands everything else on to moto."""

        def _serve(self) -> None:
            body = self.read_body()
            if self.path.startswith(INVOKE):
                self._invoke(body)
            elif answer := services.operator.answer(self.path, dict(self.headers), body):
                self.reply(200, answer, {"Content-Type": "application/json"})
            else:
                self._hand_on(body)

        do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = _serve  # noqa: N815

        def _invoke(self, body: bytes) -> None:
            named = urllib.parse.unquote(self.path.removeprefix(INVOKE).partition("/")[0])
            call = (named, json.loads(body or b"{}"), self.headers.get(TRACE_HEADER))
            if self.headers.get("X-Amz-Invocation-Type") == "Event":
                self._answer(services.asynchronous.accept(*call))
            else:
                self._answer(functions.invoke(*call))

        def _answer(self, answer: Answer) -> None:
            if answer.status not in {200, ACCEPTED}:
                named_error = {"x-amzn-ErrorType": str(answer.error), "x-amzn-RequestId": "refused"}
                self.reply(answer.status, json.dumps(answer.payload).encode(), named_error)
                return
            failed = {} if answer.ok else {"X-Amz-Function-Error": "Unhandled"}
            executed = {"X-Amz-Executed-Version": "$LATEST", **failed}
            sent = b"" if answer.status == ACCEPTED else json.dumps(answer.payload).encode()
            self.reply(answer.status, sent, executed)

        def _hand_on(self, body: bytes) -> None:
            connection = http.client.HTTPConnection("127.0.0.1", services.port, timeout=60)
            connection.request(self.command, self.path, body, dict(self.headers.items()))
            reply = connection.getresponse()
            data = reply.read()
            kept = {k: v for k, v in reply.getheaders() if k.lower() not in HOP_BY_HOP}
            self.reply(reply.status, data, kept)
            connection.close()

    return serve(Front)
