"""API Gateway in front of the API function: routes, authorizer with its cache, its own answers."""

import json
import threading
import time
import uuid
from collections.abc import Mapping
from fnmatch import fnmatch
from http.server import ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from tests.e2e.harness.functions import Functions
from tests.e2e.harness.serving import Replying, port_of, serve, stop
from tests.e2e.harness.template import ACCOUNT, REGION, properties

OPEN = "NONE"
MAX_BYTES = 10 * 1024 * 1024


class Gateway:
    """Speaks HTTP to clients and proxy events to the function, as the template's API declares it."""

    def __init__(self, functions: Functions, api: str, authorize: str) -> None:
        self._functions = functions
        self._api = api
        self._authorize = authorize
        declared = properties("Api")
        self._answers = declared["GatewayResponses"]
        authorizer = declared["Auth"]["Authorizers"]["BearerToken"]
        self._kept_seconds = authorizer["Identity"]["ReauthorizeEvery"]
        self._open = {
            event["Properties"]["Path"].replace("{proxy+}", "*")
            for event in properties("ApiFunction")["Events"].values()
            if event["Properties"].get("Auth", {}).get("Authorizer") == OPEN
        }
        self._owners: dict[str, tuple[float, dict[str, Any]]] = {}
        self._lock = threading.Lock()
        self._server = _listen(self)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{port_of(self._server)}"

    def close(self) -> None:
        stop(self._server)

    def answer(
        self, method: str, target: str, headers: Mapping[str, str], body: bytes
    ) -> tuple[int, Mapping[str, str], bytes]:
        path = urlsplit(target).path
        if len(body) > MAX_BYTES:
            return self._own("REQUEST_TOO_LARGE", 413)
        context: dict[str, Any] | None = None
        if not any(fnmatch(path, route) for route in self._open):
            context = self._authorized(headers.get("authorization"))
            if context is None:
                return self._own("UNAUTHORIZED", 401)
        answer = self._functions.invoke(self._api, _event(method, target, headers, body, context))
        if not answer.ok or "statusCode" not in answer.payload:
            return self._own("DEFAULT_5XX", 502)
        payload = answer.payload
        many = payload.get("multiValueHeaders") or {}
        sent = {**(payload.get("headers") or {}), **{name: v[-1] for name, v in many.items()}}
        return payload["statusCode"], sent, (payload.get("body") or "").encode()

    def _authorized(self, given: str | None) -> dict[str, Any] | None:
        """The authorizer's context. What it allowed is remembered as long as the template says."""
        if not given:
            return None
        with self._lock:
            kept = self._owners.get(given)
        if kept and kept[0] > time.monotonic():
            return kept[1]
        event = {
            "type": "TOKEN",
            "authorizationToken": given,
            "methodArn": f"arn:aws:execute-api:{REGION}:{ACCOUNT}:api/dev/GET/explorations",
        }
        answer = self._functions.invoke(self._authorize, event)
        if not answer.ok:
            return None
        context: dict[str, Any] = answer.payload["context"]
        with self._lock:
            self._owners[given] = (time.monotonic() + self._kept_seconds, context)
        return context

    def _own(self, kind: str, status: int) -> tuple[int, Mapping[str, str], bytes]:
        declared = self._answers[kind]
        headers = declared["ResponseParameters"]["Headers"]
        body = declared["ResponseTemplates"]["application/json"]
        sent = {name: value.strip("'") for name, value in headers.items()}
        sent["Content-Type"] = "application/json"
        return declared.get("StatusCode", status), sent, body.encode()


def _listen(gateway: Gateway) -> ThreadingHTTPServer:
    class Listener(Replying):
        def _serve(self) -> None:
            headers = {name.lower(): value for name, value in self.headers.items()}
            status, sent, body = gateway.answer(self.command, self.path, headers, self.read_body())
            self.reply(status, body, sent)

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = do_OPTIONS = _serve  # noqa: N815

    return serve(Listener)


def _event(
    method: str,
    target: str,
    headers: Mapping[str, str],
    body: bytes,
    authorizer: dict[str, Any] | None,
) -> dict[str, Any]:
    parts = urlsplit(target)
    query = parse_qs(parts.query, keep_blank_values=True)
    stage = "dev"
    return {
        "resource": "/{proxy+}",
        "path": parts.path,
        "httpMethod": method,
        "headers": dict(headers),
        "multiValueHeaders": {name: [value] for name, value in headers.items()},
        "queryStringParameters": {name: values[-1] for name, values in query.items()} or None,
        "multiValueQueryStringParameters": query or None,
        "pathParameters": {"proxy": unquote(parts.path.removeprefix("/"))},
        "stageVariables": None,
        "requestContext": {
            "resourcePath": "/{proxy+}",
            "httpMethod": method,
            "path": f"/{stage}{parts.path}",
            "stage": stage,
            "accountId": ACCOUNT,
            "requestId": str(uuid.uuid4()),
            "identity": {"sourceIp": "127.0.0.1"},
            **({"authorizer": authorizer} if authorizer else {}),
        },
        "body": body.decode("utf-8", "replace") if body else None,
        "isBase64Encoded": False,
    }


def as_json(body: bytes) -> Any:
    return json.loads(body)
