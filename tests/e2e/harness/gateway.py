"""API Gateway in front of the API's functions: routes, authorizer with its cache, its own answers."""

import queue
import threading
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import suppress
from http.server import ThreadingHTTPServer
from typing import Any, TypeAlias
from urllib.parse import parse_qs, unquote, urlsplit

from tests.e2e.harness.authorizer import Authorizer
from tests.e2e.harness.functions import Functions
from tests.e2e.harness.limits import API_BYTES, API_SECONDS
from tests.e2e.harness.routes import Route, Routes, declared_routes
from tests.e2e.harness.runtime import Answer
from tests.e2e.harness.serving import Replying, port_of, serve, stop
from tests.e2e.harness.streams import MalformedPreludeError, Response
from tests.e2e.harness.template import ACCOUNT, REGION, properties

STAGE = "dev"
OK, NO_CONTENT, TOO_LARGE = 200, 204, 413
# status, headers and body; a body in parts is sent on as it comes, and cut off if it fails
Sent: TypeAlias = "tuple[int, Mapping[str, str], bytes | Iterator[bytes]]"


class CutOffError(Exception):
    """The response ends before it is complete."""


class Gateway:
    """Speaks HTTP to clients and proxy events to the functions, as the template's API declares it. Without
    the name of the function that streams, its route is not there."""

    def __init__(
        self,
        functions: Functions,
        api: str,
        authorize: str,
        follow: str | None = None,
        *,
        seconds: float = API_SECONDS,
    ) -> None:
        self._functions = functions
        names = {"ApiFunction": api} | ({"FollowFunction": follow} if follow else {})
        self._routes = Routes(declared_routes(names, seconds))
        declared = properties("Api")
        self._answers = declared["GatewayResponses"]
        self._authorizer = Authorizer(
            lambda event: functions.invoke(authorize, event),
            declared["Auth"]["Authorizers"]["BearerToken"],
        )
        self._server = _listen(self)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{port_of(self._server)}"

    def close(self) -> None:
        stop(self._server)

    def answer(self, method: str, target: str, headers: Mapping[str, str], body: bytes) -> Sent:
        path = urlsplit(target).path
        route = self._routes.find(method, path)
        if route is None:
            return self._own("MISSING_AUTHENTICATION_TOKEN", 403)
        if len(body) > API_BYTES:
            return self._own("REQUEST_TOO_LARGE", 413)
        context: dict[str, Any] | None = None
        if not route.is_open:
            token = headers.get(self._authorizer.header)
            decision = self._authorizer.decide(token, method_arn(method, path))
            if isinstance(decision, str):
                return self._own(decision, 500)
            context = decision
        event = _event(route, method, target, headers, body, context)
        if route.streams:
            return self._stream(route, event)
        answer = self._invoke(route, event)
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

    def _invoke(self, route: Route, event: dict[str, Any]) -> Answer | None:
        """None if it takes too long; the function runs on, and nobody listens."""
        answers: queue.Queue[Answer] = queue.Queue()
        call = threading.Thread(
            target=lambda: answers.put(self._functions.invoke(route.function, event)), daemon=True
        )
        call.start()
        try:
            return answers.get(timeout=route.seconds)
        except queue.Empty:
            return None

    def _stream(self, route: Route, event: dict[str, Any]) -> Sent:
        """The client gets status and headers as soon as they are known, and nothing if they never are."""
        parts: queue.Queue[bytes | Answer] = queue.Queue()

        def call() -> None:
            parts.put(self._functions.invoke(route.function, event, sink=parts.put))

        threading.Thread(target=call, daemon=True).start()
        until, response = time.monotonic() + route.seconds, Response()
        try:
            while response.status is None:
                part = parts.get(timeout=max(0.0, until - time.monotonic()))
                if isinstance(part, Answer):
                    is_refused = part.status != OK
                    kind = "INTEGRATION_FAILURE" if is_refused else "DEFAULT_5XX"
                    return self._own(kind, 500 if is_refused else 502)
                response.add(part)
        except queue.Empty:
            return self._own("INTEGRATION_TIMEOUT", 504)
        except MalformedPreludeError:
            return self._own("DEFAULT_5XX", 502)
        body = _pass_on(response, parts, until)
        has_body = response.status != NO_CONTENT
        return response.status, response.headers, body if has_body else b"".join(body)

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
            if isinstance(body, bytes):
                self.reply(status, body, sent)
                return
            with suppress(CutOffError):
                self.reply_in_parts(status, body, sent)
                return
            self.close_connection = True

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = do_OPTIONS = _serve  # noqa: N815

    return serve(Listener)


def _pass_on(
    response: Response, parts: "queue.Queue[bytes | Answer]", until: float
) -> Iterator[bytes]:
    while True:
        if part := response.take():
            yield part
        try:
            came = parts.get(timeout=max(0.0, until - time.monotonic()))
        except queue.Empty:
            raise CutOffError from None
        if isinstance(came, Answer):
            if not came.ok:
                raise CutOffError
            return
        response.add(came)


def _event(
    route: Route,
    method: str,
    target: str,
    headers: Mapping[str, str],
    body: bytes,
    authorizer: dict[str, Any] | None,
) -> dict[str, Any]:
    parts = urlsplit(target)
    query = parse_qs(parts.query, keep_blank_values=True)
    return {
        "resource": route.path,
        "path": parts.path,
        "httpMethod": method,
        "headers": dict(headers),
        "multiValueHeaders": {name: [value] for name, value in headers.items()},
        "queryStringParameters": {name: values[-1] for name, values in query.items()} or None,
        "multiValueQueryStringParameters": query or None,
        "pathParameters": {"proxy": unquote(parts.path.removeprefix("/"))},
        "stageVariables": None,
        "requestContext": {
            "resourcePath": route.path,
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
