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
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

import boto3
from botocore.config import Config

from tests.e2e.harness.functions import THROTTLED, Functions
from tests.e2e.harness.operator import OperatorAnswers
from tests.e2e.harness.runtime import named_in
from tests.e2e.harness.serving import Replying, port_of, serve, stop
from tests.e2e.harness.template import REGION, ROOT

MOTO = "tests.e2e.harness.moto_alone"
INVOKE = "/2015-03-31/functions/"
HOP_BY_HOP = frozenset({"connection", "content-length", "date", "server", "transfer-encoding"})
START_SECONDS = 60.0  # a busy machine may take this long; an idle one takes three
EXECUTE = {"stepfunctions": {"execute_state_machine": True}, "lambda": {"use_docker": False}}
CREDENTIALS = {
    "AWS_ACCESS_KEY_ID": "testing",
    "AWS_SECRET_ACCESS_KEY": "testing",
    "AWS_REGION": REGION,
    "AWS_DEFAULT_REGION": REGION,
}


class Services:
    """Moto's services. Executions of its state machines invoke the functions that are registered."""

    def __init__(self, functions: Functions, log: Path) -> None:
        self.operator = OperatorAnswers(functions)
        self._front = _front_for(functions, self)
        self.port = _free_port()
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-m", MOTO, "-H", "127.0.0.1", "-p", str(self.port)],
                cwd=ROOT,
                # where moto's own clients look for services: its workflows find our functions there
                env={**os.environ, "MOTO_PORT": str(port_of(self._front))},
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        self._clients: dict[str, Any] = {}
        self._lock = threading.Lock()
        self._configure()

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
            call = (named_in(named), json.loads(body or b"{}"))
            if self.headers.get("X-Amz-Invocation-Type") == "Event":
                threading.Thread(target=functions.invoke, args=call, daemon=True).start()
                self.reply(202, b"")
                return
            answer = functions.invoke(*call)
            if answer.error == THROTTLED:
                reason = json.dumps({"Type": "User", "message": "Rate Exceeded."}).encode()
                named_error = {"x-amzn-ErrorType": THROTTLED, "x-amzn-RequestId": "throttled"}
                self.reply(429, reason, named_error)
                return
            failed = {} if answer.ok else {"X-Amz-Function-Error": "Unhandled"}
            executed = {"X-Amz-Executed-Version": "$LATEST", **failed}
            self.reply(200, json.dumps(answer.payload).encode(), executed)

        def _hand_on(self, body: bytes) -> None:
            connection = http.client.HTTPConnection("127.0.0.1", services.port, timeout=60)
            connection.request(self.command, self.path, body, dict(self.headers.items()))
            reply = connection.getresponse()
            data = reply.read()
            kept = {k: v for k, v in reply.getheaders() if k.lower() not in HOP_BY_HOP}
            self.reply(reply.status, data, kept)
            connection.close()

    return serve(Front)
