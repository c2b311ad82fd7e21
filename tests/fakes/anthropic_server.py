"""A stand-in for Anthropic's Messages API on loopback, for the real SDK to talk to.

    with FakeAnthropic([answer(text("Hello"))]) as server:
        client = anthropic.Anthropic(base_url=server.url, api_key="test", max_retries=0)

It says what its script says, refuses what the API would refuse, and keeps account of what it was
asked (`requests`), refused (`rejections`) and sent (`billed`), and of clients that rewrite history
(`violations`). As a program: `python -m tests.fakes.anthropic_server --script FILE --port 0`; there
GET /fake/state gives the same account as JSON.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import signal
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Self

from tests.fakes.anthropic_answers import assemble
from tests.fakes.anthropic_aws import AwsAccount
from tests.fakes.anthropic_counting import PromptCache, count_input
from tests.fakes.anthropic_faults import API_ERRORS, ApiError
from tests.fakes.anthropic_history import Histories
from tests.fakes.anthropic_http import Failure, Listener, Reply
from tests.fakes.anthropic_models import known_models
from tests.fakes.anthropic_scripts import (
    ByConversation,
    Entry,
    Model,
    ScriptExhaustedError,
    in_order,
    load_script,
)
from tests.fakes.anthropic_turns import Usage
from tests.fakes.anthropic_validation import complaint_about
from tests.fakes.anthropic_verdicts import Judge, is_about_sentences, judge_by_words
from tests.fakes.anthropic_wire import JsonObject

MAX_REQUEST_BYTES = 32 * 1024 * 1024
PING_SECONDS = 15.0  # while a model thinks; the service takes up to twice as long
NO_LOG_HEADERS = frozenset({"x-api-key", "authorization"})


@dataclass(frozen=True)
class RecordedRequest:
    """A request for a message as it came; header names are lower case."""

    body: JsonObject
    headers: dict[str, str]


class FakeAnthropic:
    """The fake API. Everything it records may be read while it runs."""

    def __init__(
        self,
        script: Sequence[Entry] | Model,
        *,
        repeat_last: bool = False,
        force_json: bool = False,
        expected_key: str | None = None,
        count: bool = False,
        requests_log: Path | None = None,
        port: int = 0,
        host: str = "127.0.0.1",
        ping_seconds: float = PING_SECONDS,
        aws: AwsAccount | None = None,
        judge: Judge = judge_by_words,
    ) -> None:
        """`repeat_last`: the last turn goes on for ever instead of a 500. `force_json`: no stream,
        even if asked for. `count`: usage with prompt caching, and max_tokens kept. `judge` answers
        requests to verify sentences, which no script has."""
        self._model = script if callable(script) else in_order(script, repeat_last=repeat_last)
        self._judge = judge
        self._force_json = force_json
        self._host = host
        self.ping_seconds = ping_seconds
        self._aws = aws
        self._expected_key = expected_key
        self._cache = PromptCache() if count else None
        self._requests_log = requests_log
        self._lock = threading.Lock()
        self._histories = Histories()
        self._received = 0
        self._asked = 0
        self.requests: list[RecordedRequest] = []  # but those that verify sentences
        self.verifications: list[RecordedRequest] = []
        self.rejections: list[str] = []
        self.violations: list[str] = []
        self._bills: dict[str, Usage] = {}
        self._models: dict[str, str] = {}  # by request
        self._listener = Listener(self, port, host)

    @property
    def url(self) -> str:
        return f"http://{self._host}:{self._listener.port}"

    def start(self) -> Self:
        self._listener.start()
        return self

    def stop(self) -> None:
        self._listener.stop()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def billed(self) -> Usage:
        """What all answers cost, with output only as far as it was sent."""
        with self._lock:
            return sum(self._bills.values(), Usage())

    def billed_by_model(self) -> dict[str, list[Usage]]:
        """What each answer of each model cost."""
        with self._lock:
            bills: dict[str, list[Usage]] = {}
            for request_id, usage in self._bills.items():
                bills.setdefault(self._models[request_id], []).append(usage)
            return bills

    def state(self) -> JsonObject:
        return {
            "requests": len(self.requests),
            "verifications": len(self.verifications),
            "rejections": list(self.rejections),
            "violations": list(self.violations),
            "billed": dataclasses.asdict(self.billed),
        }

    def bill(self, request_id: str, usage: Usage) -> None:
        """Set what the answer to a request has cost so far."""
        with self._lock:
            self._bills[request_id] = usage

    def reply_to(
        self, method: str, path: str, headers: dict[str, str], body: bytes
    ) -> tuple[str, Reply]:
        """The request's id and the answer to it."""
        with self._lock:
            self._received += 1
            number = self._received
        self._query = path.partition("?")[2]
        reply = self._reply(method, path.partition("?")[0], headers, body, number)
        if isinstance(reply, Failure):
            with self._lock:
                self.rejections.append(reply.error.message)
        return f"req_{number:06d}", reply

    def _reply(
        self, method: str, path: str, headers: dict[str, str], body: bytes, number: int
    ) -> Reply:
        if (method, path) == ("GET", "/fake/state"):
            return self.state()
        if (method, path) == ("GET", "/v1/models"):
            refused = self._refusal(method, path, headers, body)
            return refused or {"data": [], "has_more": False}
        if method != "POST" or path not in ("/v1/messages", "/v1/messages/count_tokens"):
            return Failure(ApiError(404, "not_found_error", f"Not found: {method} {path}"))
        if len(body) > MAX_REQUEST_BYTES:
            return Failure(API_ERRORS[413])
        refused = self._refusal(method, path, headers, body)
        if refused is not None:
            return refused
        try:
            request = json.loads(body)
        except ValueError:
            return _bad_request("The request body is not valid JSON")
        if not isinstance(request, dict):
            return _bad_request("The request body should be an object")
        if path.endswith("/count_tokens"):
            return {"input_tokens": count_input(request)}
        return self._message(request, headers, number)

    def _refusal(
        self, method: str, path: str, headers: dict[str, str], body: bytes
    ) -> Failure | None:
        if self._aws is None:
            return self._refusal_of_key(headers)
        url = f"http://{headers['host']}{path}" + (f"?{self._query}" if self._query else "")
        error = self._aws.refusal_of(method, url, headers, body)
        return Failure(error) if error else None

    def _refusal_of_key(self, headers: dict[str, str]) -> Failure | None:
        # The SDK sends the key as a bearer token, other clients in its own header.
        key = headers.get("x-api-key") or headers.get("authorization", "").removeprefix("Bearer ")
        if not key:
            return Failure(ApiError(401, "authentication_error", "x-api-key header is required"))
        if self._expected_key is not None and key != self._expected_key:
            return Failure(API_ERRORS[401])
        if "anthropic-version" not in headers:
            return _bad_request("anthropic-version: header is required")
        return None

    def _message(self, request: JsonObject, headers: dict[str, str], number: int) -> Reply:
        with self._lock:
            self._record(request, headers)
            self._models[f"req_{number:06d}"] = str(request.get("model"))
            betas = headers.get("anthropic-beta", "")
            complaint = complaint_about(
                request, self._histories.paused_calls, betas
            ) or self._histories.complaint_about(request)
            if complaint is not None:
                return _bad_request(complaint)
            if request["model"] not in known_models():
                unknown = f"model: {request['model']}"
                return Failure(ApiError(HTTPStatus.NOT_FOUND, "not_found_error", unknown))
            is_verification = is_about_sentences(request)
            if is_verification:
                self.verifications.append(self.requests.pop())
            else:
                self.violations += self._histories.violations_of(request, len(self.requests))
            index = self._asked
            self._asked += not is_verification
        try:
            # without the lock: a model may wait
            turn = self._judge(request) if is_verification else self._model(request, index)
        except ScriptExhaustedError as exhausted:
            return Failure(ApiError(500, "api_error", str(exhausted)))
        except Exception as broken:  # noqa: BLE001 - the client sees what the test got wrong
            return Failure(ApiError(500, "api_error", f"The scripted model failed: {broken!r}"))
        with self._lock:
            answer = assemble(request, turn, number, self._cache, force_json=self._force_json)
            whole = answer.message if turn.fault is None else None
            if not is_verification:
                self._histories.record(request, len(self.requests), whole)
        return answer

    def _record(self, request: JsonObject, headers: dict[str, str]) -> None:
        self.requests.append(RecordedRequest(request, headers))
        if self._requests_log is None:
            return
        public = {name: value for name, value in headers.items() if name not in NO_LOG_HEADERS}
        with self._requests_log.open("a", encoding="utf-8") as log:
            log.write(json.dumps({"headers": public, "body": request}) + "\n")


def _bad_request(message: str) -> Failure:
    return Failure(ApiError(HTTPStatus.BAD_REQUEST, "invalid_request_error", message))


def main(arguments: Sequence[str] | None = None) -> None:
    """Serve a script until terminated."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--script", type=Path, required=True, help="JSON list of turns")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--requests-log", type=Path, help="append each request as a JSON line")
    parser.add_argument("--expected-key")
    for flag in ("--by-conversation", "--repeat-last", "--force-json", "--count"):
        parser.add_argument(flag, action="store_true")
    given = parser.parse_args(arguments)
    turns = load_script(given.script.read_text(encoding="utf-8"))
    arrange = ByConversation if given.by_conversation else in_order
    ended = threading.Event()
    for stop_signal in (signal.SIGTERM, signal.SIGINT):
        signal.signal(stop_signal, lambda *_: ended.set())
    with FakeAnthropic(
        arrange(turns, repeat_last=given.repeat_last),
        force_json=given.force_json,
        expected_key=given.expected_key,
        count=given.count,
        requests_log=given.requests_log,
        port=given.port,
    ) as server:
        print(f"listening on {server.url}", flush=True)
        ended.wait()


if __name__ == "__main__":
    main()
