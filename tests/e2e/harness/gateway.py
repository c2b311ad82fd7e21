"""API Gateway in front of the API function: routes, authorizer with its cache, its own answers."""

import queue
import threading
import uuid
from collections.abc import Mapping
from fnmatch import fnmatch
from http.server import ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from tests.e2e.harness.authorizer import Authorizer
from tests.e2e.harness.functions import Functions
from tests.e2e.harness.limits import API_BYTES, API_SECONDS
from tests.e2e.harness.runtime import Answer
from tests.e2e.harness.serving import Replying, port_of, serve, stop
from tests.e2e.harness.template import ACCOUNT, REGION, properties

OPEN = "NONE"
STAGE = "dev"
OK, TOO_LARGE = 200, 413


class Gateway:
    """Speaks HTTP to clients and proxy events to the function, as the template's API declares it."""

    def __init__(
        self, functions: Functions, api: str, authorize: str, *, seconds: float = API_SECONDS
    ) -> None:
        self._functions = functions
        self._api = api
        self._seconds = seconds
        declared = properties("Api")
        self._answers = declared["GatewayResponses"]
        self._authorizer = Authorizer(
            lambda event: functions.invoke(authorize, event),
            declared["Auth"]["Authorizers"]["BearerToken"],
        )
        self._open = {
            event["Properties"]["Path"].replace("{proxy+}", "*")
            for event in properties("ApiFunction")["Events"].values()
            if event["Properties"].get("Auth", {}).get("Authorizer") == OPEN
        }
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
        if len(body) > API_BYTES:
            return self._own("REQUEST_TOO_LARGE", 413)
        context: dict[str, Any] | None = None
        if not any(fnmatch(path, route) for route in self._open):
            token = headers.get(self._authorizer.header)
            decision = self._authorizer.decide(token, method_arn(method, path))
            if isinstance(decision, str):
                return self._own(decision, 500)
            context = decision
        answer = self._invoke(_event(method, target, headers, body, context))
        if answer is None:
            return self._own("INTEGRATION_TIMEOUT", 504)
        if answer.status == TOO_LARGE:
            return self._own("REQUEST_TOO_LARGE", 413)
        if answer.status != OK:  # a throttled function is a failed integration to API Gateway
            return self._own("INTEGRATION_FAILURE", 500)
        if not answer.ok or "statusCode" not in answer.payload:
            return self._own("DEFAULT_5XX", 502)
        payload = answer.payload
        many = payload.get("multiValueHeaders") or {}
        sent = {**(payload.get("headers") or {}), **{name: v[-1] for name, v in many.items()}}
        return payload["statusCode"], sent, (payload.get("body") or "").encode()

    def _invoke(self, event: dict[str, Any]) -> Answer | None:
        """None if it takes too long; the function runs on, and nobody listens."""
        answers: queue.Queue[Answer] = queue.Queue()
        call = threading.Thread(
            target=lambda: answers.put(self._functions.invoke(self._api, event)), daemon=True
        )
        call.start()
        try:
            return answers.get(timeout=self._seconds)
        except queue.Empty:
            return None

    def _own(self, kind: str, status: int) -> tuple[int, Mapping[str, str], bytes]:
        """A gateway response as the template declares it; those it leaves out have a common one."""
        declared = self._answers.get(kind) or self._answers[f"DEFAULT_{status // 100}XX"]
        headers = declared["ResponseParameters"]["Headers"]
        body = declared["ResponseTemplates"]["application/json"]
        sent = {name: value.strip("'") for name, value in headers.items()}
        sent["Content-Type"] = "application/json"
        return declared.get("StatusCode", status), sent, body.encode()


def method_arn(method: str, path: str) -> str:
    """What a policy of the authorizer has to allow."""
    place = f"arn:aws:execute-api:{REGION}:{ACCOUNT}:api/{STAGE}"
    return f"{place}/{method}/{path.removeprefix('/')}"


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
            "path": f"/{STAGE}{parts.path}",
            "stage": STAGE,
            "accountId": ACCOUNT,
            "requestId": str(uuid.uuid4()),
            "identity": {"sourceIp": "127.0.0.1"},
            **({"authorizer": authorizer} if authorizer else {}),
        },
        "body": body.decode("utf-8", "replace") if body else None,
        "isBase64Encoded": False,
    }
