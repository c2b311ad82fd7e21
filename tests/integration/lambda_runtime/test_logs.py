"""What the functions of a deployment write to their logs: one line for each ending, and every line with
the id that Lambda gave the request."""

import io
import json
import logging
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from typing import Any

import pytest

from idea_explorer.adapters.aws.client import client
from idea_explorer.api.gateway import build_gateway_event
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.request import ExploreRequest
from idea_explorer.domain.tokens import dump_tokens, issue_token
from idea_explorer.lambda_runtime import deployment, handlers
from idea_explorer.observability.logging import SilentLog
from idea_explorer.settings import Settings
from idea_explorer.usecases.request_policy import RequestPolicy
from idea_explorer.usecases.submit import submit
from idea_explorer.wiring import local, publishing
from idea_explorer.wiring.deps import cloud_deps
from tests.fakes.functions import Context, handler_of, set_environment

IDEA = "Bees that nobody may read of in a log"


class Functions:
    """Invokes functions one after the other, each request with an id of its own, and reads their lines."""

    def __init__(self, settings: Settings, written: Callable[[], str]) -> None:
        self.stores = cloud_deps(settings, SilentLog())
        self._written = written
        self._numbers = count(1)
        self.lines: list[dict[str, Any]] = []
        self.request_id = ""

    def invoke(self, function: str, event: Any) -> Any:
        self.request_id = f"request-{next(self._numbers)}"
        self._written()
        try:
            return handler_of(function)(event, Context(aws_request_id=self.request_id))
        finally:
            text = self._written()
            lines = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
            assert {line.get("function_request_id") for line in lines} <= {self.request_id}, text
            assert IDEA not in text
            self.lines += lines

    def api(self, method: str, path: str, body: object = None) -> Any:
        data = b"" if body is None else json.dumps(body).encode()
        event = build_gateway_event(method, path, {"Accept": "application/json"}, data, "ada")
        return json.loads(self.invoke("api", event)["body"])

    def dispatch(self, body: object) -> Any:
        record = {"messageId": "m-1", "body": json.dumps(body)}
        return self.invoke("dispatch", {"Records": [record]})

    def submitted(self, **request: Any) -> Exploration:
        wanted = ExploreRequest(idea=IDEA, **request)
        return submit(wanted, "ada", replace(self.stores, policy=RequestPolicy()))

    def messages(self) -> list[str]:
        return [line["message"] for line in self.lines if "message" in line]

    def finished(self) -> list[dict[str, Any]]:
        return [line for line in self.lines if line.get("message") == "exploration_finished"]


@pytest.fixture
def functions(
    aws: Settings, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Functions:
    set_environment(aws.model_copy(update={"model_provider": "offline"}), monkeypatch)
    handler = handlers._logger().registered_handler
    assert isinstance(handler, logging.StreamHandler)
    buffer = io.StringIO()
    monkeypatch.setattr(handler, "stream", buffer)  # Powertools made it for the stream at first

    def written() -> str:
        text = buffer.getvalue()
        buffer.seek(0)
        buffer.truncate()
        return text + capsys.readouterr().out

    return Functions(aws, written)


def test_a_run_is_summed_up_once_and_every_line_names_its_request(functions: Functions) -> None:
    made = functions.api("POST", "/explorations", {"idea": IDEA, "context": "secret words"})
    named = {"id": made["id"], "run": 1}
    functions.dispatch(named)
    functions.invoke("explore", {**named, "deadline_seconds": 120})
    assert functions.finished() == []
    functions.invoke("publish", named)
    functions.invoke("publish", named)  # a repetition ends nothing a second time
    functions.invoke("notify", named)

    (line,) = functions.finished()
    stats = functions.stores.explorations.load(made["id"]).run.stats
    assert (line["explorationId"], line["run"], line["status"]) == (made["id"], 1, "completed")
    assert (line["steps"], line["inputTokens"]) == (stats.steps, stats.usage.input_tokens)
    assert (line["outputTokens"], line["cost"]) == (stats.usage.output_tokens, stats.cost_usd)
    assert line["stopReason"] == stats.stop_reason
    assert line["toolCalls"] == len(stats.tool_calls) == sum(line["tools"].values())
    assert line["stepDurationsMs"] == list(stats.step_durations)
    assert line["durationMs"] > 0
    assert {"request", "message_dispatched", "step_finished"} <= {*functions.messages()}
    counted = [line for line in functions.lines if "_aws" in line]
    assert counted  # lines of metrics name the request too
    assert "secret words" not in json.dumps(functions.lines)


def cancelled(functions: Functions) -> str:
    functions.api("POST", f"/explorations/{functions.submitted().id}/cancel")
    return "cancelled"


def poisoned(functions: Functions) -> str:
    functions.dispatch({"id": functions.submitted().id, "run": 9})
    return "failed"


def timed_out(functions: Functions) -> str:
    event = {"id": functions.submitted().id, "run": 1, "settle": True, "cause": "States.Timeout"}
    for _ in range(2):  # the second one finds it closed
        functions.invoke("explore", event)
    return "timed_out"


def never_set_up(functions: Functions) -> str:
    """Explore itself ends what no other attempt can cure."""
    exploration = functions.submitted(toolset="discover")
    functions.invoke("explore", {"id": exploration.id, "run": 1, "deadline_seconds": 120})
    return "failed"


def nothing_to_follow(functions: Functions) -> str:
    """Refused before the first step; publish gives it its final status."""
    exploration = functions.submitted()
    gone = {"continue_from": "019a8c3e-7c00-7000-8000-000000000009"}
    request = exploration.request.model_copy(update=gone)
    functions.stores.explorations.take_over(exploration.id, lambda e: e.replace(request=request))
    named = {"id": exploration.id, "run": 1}
    functions.invoke("explore", {**named, "deadline_seconds": 120})
    functions.invoke("publish", named)
    return "failed"


def reused(functions: Functions) -> str:
    earlier = functions.submitted()
    functions.stores.explorations.save(earlier.replace(document="ideas/bees/research.md"))
    functions.stores.reports.save_report(earlier.id, earlier.lease, "# Bees")
    document = (
        f"---\nidea: {IDEA}\nmode: business\nstatus: completed\nexploration_id: {earlier.id}\n---\n"
    )
    index = publishing.research_index(deployment.settings())
    index.add("ideas/bees/research.md", document + "# Bees", earlier.created_at)
    functions.api("POST", "/explorations", {"idea": IDEA, "if_exists": "reuse"})
    return "completed"


@pytest.mark.parametrize(
    "end", [cancelled, poisoned, timed_out, never_set_up, nothing_to_follow, reused]
)
def test_every_ending_is_one_line(functions: Functions, end: Callable[[Functions], str]) -> None:
    status = end(functions)

    assert [line["status"] for line in functions.finished()] == [status]


def test_a_sweep_names_its_request(functions: Functions) -> None:
    functions.invoke("dispatch", {"source": "aws.events"})

    assert functions.messages() == ["swept"]


def test_the_authorizer_names_its_request(
    aws: Settings, functions: Functions, monkeypatch: pytest.MonkeyPatch
) -> None:
    token, stored = issue_token("ada", now=local.system_clock().now())
    secret = client("secretsmanager").create_secret(
        Name="tokens", SecretString=dump_tokens([stored])
    )
    set_environment(aws.model_copy(update={"api_tokens_secret_id": secret["ARN"]}), monkeypatch)
    arn = "arn:aws:execute-api:eu-central-1:123456789012:api/dev/GET/explorations"

    functions.invoke("authorize", {"authorizationToken": f"Bearer {token}", "methodArn": arn})

    assert handlers.request_id() == functions.request_id
