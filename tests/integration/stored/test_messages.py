"""What an earlier version sent and logged: queue messages, executions, webhooks and log lines.

The functions of a deployment go on from the stored table and bucket, and answer, send and log under the same
names as they did.
"""

import io
import json
import logging
import os
import shutil
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

import pytest

from idea_explorer.adapters.aws.client import client
from idea_explorer.lambda_runtime import handlers
from tests.fakes.aws import REGION, fake_aws
from tests.fakes.command import idea
from tests.fakes.functions import Context, handler_of
from tests.fakes.stored import STORED, DeployedApi, EmbeddedApi, committed

Deployed: TypeAlias = tuple[DeployedApi, io.StringIO]
IDEA = "A subscription box for urban beekeepers"


def test_a_webhook_is_sent_again_byte_for_byte(tmp_path: Path) -> None:
    before, told = EmbeddedApi(tmp_path), committed("webhook.json")

    for name in ("delivered", "delivery-pending", "delivery-failed"):
        reply = before.api.post(f"/explorations/{before.ids[name]}/webhook", owner="local")
        assert (reply.status, reply.json["status"]) == (200, "delivered")

    (url, body, headers), *_ = before.api.webhooks.posted
    assert (url, body.decode()) == ("https://hooks.invalid/ideas", told["body"])
    sent = {name.lower(): value for name, value in headers.items()}
    timed = {"webhook-timestamp", "webhook-signature"}
    assert sent.keys() == told["headers"].keys()
    assert {n: sent[n] for n in sent.keys() - timed} == {
        n: told["headers"][n] for n in sent.keys() - timed
    }


def keys_of(lines: Sequence[str]) -> dict[str, set[str]]:
    """The fields of log lines by their message, and of metric lines by the metrics they hold."""
    found: dict[str, set[str]] = defaultdict(set)
    for line in lines:
        fields = json.loads(line)
        found[fields.get("message", "metrics")] |= fields.keys()
    return found


def test_a_run_logs_and_prints_under_the_names_it_did(
    tmp_path: Path,
) -> None:
    before = [*lines_of("explore.log"), *lines_of("explore-tools.log")]
    shutil.copytree(STORED / "ideas" / "market", tmp_path / "ideas" / "market")
    flags = ("--collect-tool-stats", "--context", "A roof.", "--json")

    done = idea("explore", IDEA, *flags, env={}, folder=tmp_path)

    assert done.returncode == 0
    now = keys_of([line for line in done.stderr.splitlines() if line.startswith("{")])
    now["exploration_finished"] -= {"verification", "depth"}  # newer than what is stored
    assert now == keys_of(lines_of("explore.log"))
    assert keys_of(before)["tool_call"] >= {
        "name",
        "path",
        "durationMs",
        "ok",
        "bytes",
        "errorType",
    }
    outcome = json.loads(done.stdout)
    assert outcome["stats"].pop("private_text_read")  # it has read the team's research
    assert outcome["stats"].pop("verification")  # newer than what is stored
    assert shape(outcome) == shape(committed("explore.json"))


def lines_of(name: str) -> list[str]:
    lines = (STORED / name).read_text("utf-8").splitlines()
    return [line for line in lines if line.startswith("{")]


def shape(value: object) -> object:
    """Names and kinds, without the values."""
    if isinstance(value, dict):
        return {name: shape(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [shape(value[0])] if value else []
    return type(value).__name__


@pytest.fixture(scope="module")
def deployed() -> Iterator[Deployed]:
    """A deployment that goes on with the stored table and bucket, and its log."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
        monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
        log = io.StringIO()
        handler = handlers._logger().registered_handler
        assert isinstance(handler, logging.StreamHandler)
        monkeypatch.setattr(handler, "stream", log)
        with fake_aws() as aws:
            settings = aws.model_copy(update={"model_provider": "offline"})
            yield DeployedApi(settings, monkeypatch), log


def test_what_was_in_the_queue_runs_through_functions_that_answer_as_they_did(
    deployed: Deployed, capsys: pytest.CaptureFixture[str]
) -> None:
    before, log = deployed
    sent = committed("messages.json")
    body = sent["queue"][-1]["body"]
    queued = json.loads(body)
    assert queued == {"id": before.ids["queued"], "run": 1}

    answered = [
        handler_of("dispatch")({"Records": [{"messageId": "m-1", "body": body}]}, Context())
    ]
    started = client("stepfunctions").list_executions(
        stateMachineArn=os.environ["STATE_MACHINE_ARN"]
    )
    (execution,) = started["executions"]
    given = client("stepfunctions").describe_execution(executionArn=execution["executionArn"])
    work = json.loads(given["input"])
    assert shape(work) == shape(json.loads(sent["executions"][0]["input"]))
    assert execution["name"] == f"{queued['id']}-1"
    answered.append(handler_of("explore")(work, Context()))
    answered += [handler_of(name)(queued, Context()) for name in ("publish", "notify")]

    as_before = [call for call in sent["invocations"] if call["function"] != "api"][:4]
    assert [call["function"] for call in as_before] == ["dispatch", "explore", "publish", "notify"]
    assert [shape(found) for found in answered] == [shape(call["output"]) for call in as_before]
    assert before.get(f"/explorations/{queued['id']}")[1]["status"] == "completed"
    lines = [*log.getvalue().splitlines(), *capsys.readouterr().out.splitlines()]
    now, known = (
        keys_of([n for n in lines if n.startswith("{")]),
        keys_of(lines_of("functions.log")),
    )
    now["exploration_finished"] -= {"verification", "depth"}  # newer than what is stored
    for message in (
        "message_dispatched",
        "step_finished",
        "status_changed",
        "exploration_finished",
    ):
        assert now[message] == known[message]
    assert now["metrics"] >= {"_aws", "Steps", "InputTokens", "CostUsd", "ExplorationDuration"}


def test_functions_that_are_called_again_find_what_they_had_done(
    deployed: Deployed,
) -> None:
    before, _ = deployed
    final = {
        before.ids[name]: (answers["details"]["run"], answers["details"]["status"])
        for name, answers in before.answers.items()
        if answers["details"]["finished_at"]
    }
    repeated = 0
    for call in committed("messages.json")["invocations"]:
        event = call["event"]
        ended = final.get(event.get("id"), (0, ""))
        settles = call["function"] == "explore" and "settle" in event
        if ended[0] != event.get("run") or not (call["function"] == "publish" or settles):
            continue
        output = handler_of(call["function"])(event, Context())
        assert output == call["output"]
        assert output["status"] == ended[1]
        repeated += 1
    assert repeated > 8


def test_a_change_that_waits_in_a_deployment_is_decided_and_ends_its_wait(
    deployed: Deployed,
) -> None:
    before, _ = deployed
    waiting = before.ids["awaiting-approval"]
    for approval in before.answers["awaiting-approval"]["approvals"]["approvals"]:
        own = f"/explorations/{waiting}/approvals/{approval['id']}"
        status, decided = before.post(own, {"decision": "reject", "reason": "Cold is fine."})
        changed = {name for name in approval if approval[name] != decided[name]}
        assert (status, decided["reason"]) == (200, "Cold is fine.")
        assert changed == {"status", "content", "reason", "decided_by", "decided_at"}
    output = handler_of("explore")({"id": waiting, "run": 1, "token": "another"}, Context())
    (waited,) = [c for c in committed("messages.json")["invocations"] if "token" in c["event"]][:1]
    assert output == waited["output"]
