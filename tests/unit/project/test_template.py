"""The rules that template.yaml keeps."""

import json
import os
import re
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest

from idea_explorer.adapters.dynamodb import schema, streams
from idea_explorer.adapters.github.code import MAX_ARCHIVE_BYTES
from idea_explorer.adapters.music.embedders import BedrockEmbedder
from idea_explorer.adapters.snapshots import symbols
from idea_explorer.adapters.snapshots.cache import PREFIX as SNAPSHOTS
from idea_explorer.adapters.uploads import folder_of
from idea_explorer.api import events
from idea_explorer.domain import limits
from idea_explorer.domain.run import FINAL
from tests.e2e.harness.template import (
    ROOT,
    Resolver,
    listed,
    policies_of,
    properties,
    resources_of,
    state_machine,
    template,
    variables_of,
)
from tests.fakes.settings import VARIABLES
from tests.fakes.translated import translate

FUNCTIONS = resources_of("AWS::Serverless::Function")
ALARMS = resources_of("AWS::CloudWatch::Alarm")
ROLES = resources_of("AWS::IAM::Role")

# The only actions that may name every resource: their services know none.
EVERYWHERE = {
    "xray:PutTraceSegments", "xray:PutTelemetryRecords",
    "xray:GetSamplingRules", "xray:GetSamplingTargets",
    "logs:CreateLogDelivery", "logs:DeleteLogDelivery", "logs:DescribeLogGroups",
    "logs:DescribeResourcePolicies", "logs:GetLogDelivery", "logs:ListLogDeliveries",
    "logs:PutResourcePolicy", "logs:UpdateLogDelivery", "states:SendTaskSuccess",
}  # fmt: skip
ORDER = ["ExploreFunctionArn", "PublishFunctionArn", "NotifyFunctionArn"]
READS = {"dynamodb:GetItem", "dynamodb:Query"}
STREAM_PATH = "/explorations/{exploration_id}/events"
OPEN_ROUTES = ["/health", "/", "/console/{proxy+}"]
# Objects of our bucket can only be named by their prefix; and which regions an inference profile calls its
# model in is AWS's choice.
PREFIXES = re.compile(
    r"\$\{ExplorationsBucket\.Arn\}/[a-z-]+/(?:[0-9a-f]{32}/)?\*|\$\{ExplorationWorkflow\.Name\}:\*"
    r"|bedrock:\*::foundation-model/cohere\.embed-v4:0"
)


def declared(function: str) -> dict[str, Any]:
    """A function's properties, with what all functions share."""
    return {**template()["Globals"]["Function"], **properties(function)}


def statements(role: str) -> Iterator[tuple[list[str], list[Any]]]:
    """Actions and resources of each statement of a role and of what is attached to it."""
    for _, statement in policies_of(role):
        assert statement["Effect"] == "Allow"
        yield listed(statement["Action"]), listed(statement["Resource"])


def test_every_function_has_a_role_of_its_own() -> None:
    roles = [properties(function)["Role"]["Fn::GetAtt"][0] for function in FUNCTIONS]

    assert len(set(roles)) == len(roles) == 7
    assert set(roles) < set(ROLES)


def test_no_role_has_managed_policies() -> None:
    assert not [role for role in ROLES if "ManagedPolicyArns" in properties(role)]


@pytest.mark.parametrize("role", ROLES)
def test_a_role_allows_no_more_than_it_names(role: str) -> None:
    for actions, resources in statements(role):
        assert not [action for action in actions if "*" in action]
        for resource in resources:
            text = resource if isinstance(resource, str) else json.dumps(resource)
            if resource == "*":
                assert set(actions) <= EVERYWHERE
            else:
                assert "*" not in PREFIXES.sub("", text)


def test_dispatch_may_look_for_the_files_of_raw_messages_and_no_others() -> None:
    allowed = {
        json.dumps(resource): action
        for actions, resources in statements("DispatchRole")
        for action in actions
        if action.startswith("s3:")
        for resource in resources
        if "explorations/*" not in json.dumps(resource)
    }

    assert allowed == {
        json.dumps({"Fn::Sub": "${ExplorationsBucket.Arn}/" + f"{folder_of('queue')}/*"}): (
            "s3:GetObject"
        ),
        json.dumps({"Fn::GetAtt": ["ExplorationsBucket", "Arn"]}): "s3:ListBucket",
    }


def test_only_functions_that_need_a_secret_may_read_it() -> None:
    readers = {
        (role, resource["Ref"])
        for role in ROLES
        for actions, resources in statements(role)
        if "secretsmanager:GetSecretValue" in actions
        for resource in resources
    }

    assert readers == {
        ("ApiRole", "WebhookSecret"),
        ("AuthorizeRole", "ApiTokensSecret"),
        ("ExploreRole", "AnthropicSecret"),
        ("ExploreRole", "GitHubSecret"),
        ("ExploreRole", "QdrantSecret"),
        ("ExploreRole", "TidalSecret"),
        ("NotifyRole", "WebhookSecret"),
        ("PublishRole", "GitHubSecret"),
    }


@pytest.mark.parametrize("function", FUNCTIONS)
def test_no_variable_holds_a_secret(function: str) -> None:
    """Those that `sam local` may set are empty here, and no parameter fills them."""
    variables = variables_of(function)

    assert not {"QDRANT_API_KEY", "TIDAL_CLIENT_SECRET", "IDEA_WEBHOOK_SECRET"} & set(variables)
    for name in ("ANTHROPIC_API_KEY", "GITHUB_TOKEN", "IDEA_API_TOKEN"):
        assert variables.get(name, "") == ""


def test_what_a_default_webhook_needs_exists_only_where_there_is_one() -> None:
    resources = template()["Resources"]
    conditions = {resources[name]["Condition"] for name in ("WebhookSecret", "WebhookPolicy")}

    assert conditions == {"HasWebhook"}
    assert "GenerateSecretString" in properties("WebhookSecret")  # so nothing goes out unsigned
    assert template()["Outputs"]["WebhookSecretId"]["Condition"] == "HasWebhook"


@pytest.mark.parametrize("function", ["ApiFunction", "DispatchFunction", "NotifyFunction"])
def test_whoever_takes_or_ends_explorations_knows_of_the_default_webhook(function: str) -> None:
    assert variables_of(function)["IDEA_WEBHOOK_URL"] == {"Ref": "WebhookUrl"}


def test_what_music_needs_exists_only_where_it_is_asked_for() -> None:
    conditions = {
        name: template()["Resources"][name]["Condition"]
        for name in (
            "QdrantSecret",
            "QdrantPolicy",
            "EmbeddingPolicy",
            "TidalSecret",
            "TidalPolicy",
        )
    }

    assert conditions == {
        "QdrantSecret": "HasQdrant",
        "QdrantPolicy": "HasQdrant",
        "EmbeddingPolicy": "HasEmbeddingModel",
        "TidalSecret": "UsesTidal",
        "TidalPolicy": "UsesTidal",
    }


def test_every_embedding_model_that_can_be_chosen_is_one_that_is_known() -> None:
    offered = template()["Parameters"]["EmbeddingModel"]["AllowedValues"]

    for model in filter(None, offered):
        BedrockEmbedder(lambda: None, model)


def test_a_model_of_another_region_is_called_through_the_chosen_profile_only() -> None:
    (everywhere,) = [
        statement
        for _, statement in policies_of("ExploreRole")
        if "bedrock:*" in json.dumps(statement["Resource"])
    ]

    assert everywhere["Condition"] == {
        "StringEquals": {
            "bedrock:InferenceProfileArn": {
                "Fn::Sub": "arn:${AWS::Partition}:bedrock:${AWS::Region}:${AWS::AccountId}"
                ":inference-profile/${EmbeddingModel}"
            }
        }
    }


@pytest.mark.parametrize("function", FUNCTIONS)
def test_every_variable_is_one_that_is_read(function: str) -> None:
    ours = {name for name in variables_of(function) if not name.startswith("POWERTOOLS_")}

    # read by sam_local.LocalTokens, by Lambda, and by the C library
    others = {"IDEA_API_TOKEN", "AWS_LAMBDA_EXEC_WRAPPER", "MALLOC_ARENA_MAX", "GLIBC_TUNABLES"}
    assert ours <= {*VARIABLES, *others}


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_function_runs_logs_and_traces_as_the_others_do(function: str) -> None:
    settings = declared(function)

    assert settings["Runtime"] == "python3.13"
    assert settings["Architectures"] == [{"Ref": "Architecture"}]
    assert settings["Tracing"] == "Active"
    assert settings["LoggingConfig"]["LogFormat"] == "JSON"
    assert settings["LoggingConfig"]["ApplicationLogLevel"] == {"Ref": "LogLevel"}
    assert variables_of(function)["POWERTOOLS_LOG_LEVEL"] == {"Ref": "LogLevel"}
    group = properties(settings["LoggingConfig"]["LogGroup"]["Ref"])
    assert group["RetentionInDays"] == {"Ref": "LogRetentionDays"}
    assert (
        group["LogGroupName"]["Fn::Sub"].removeprefix("/aws/lambda/")
        == (settings["FunctionName"]["Fn::Sub"])
    )


@pytest.mark.parametrize("handler", sorted(ROOT.glob("functions/*/app.py")), ids=str)
def test_a_handler_is_thin(handler: Path) -> None:
    assert len(handler.read_text("utf-8").splitlines()) <= 40


def test_all_log_groups_forget() -> None:
    groups = resources_of("AWS::Logs::LogGroup")

    assert all("RetentionInDays" in properties(group) for group in groups)


def test_architecture_and_stage_take_only_what_is_allowed() -> None:
    parameters = template()["Parameters"]

    assert parameters["Architecture"]["AllowedValues"] == ["arm64", "x86_64"]
    assert parameters["Architecture"]["Default"] == "arm64"
    assert parameters["Stage"]["AllowedValues"] == ["dev", "prod"]


def test_the_queue_waits_long_enough_and_ends_in_the_dead_letter_queue() -> None:
    queue = properties("ExplorationsQueue")

    assert queue["VisibilityTimeout"] >= 6 * declared("DispatchFunction")["Timeout"]
    redrive = queue["RedrivePolicy"]
    assert redrive["deadLetterTargetArn"] == {"Fn::GetAtt": ["DeadLetterQueue", "Arn"]}
    assert redrive["maxReceiveCount"] == 20  # each throttled delivery counts
    assert properties("DeadLetterQueue")["MessageRetentionPeriod"] == 1_209_600
    assert queue["SqsManagedSseEnabled"]


def test_messages_come_in_batches_and_fail_one_by_one() -> None:
    source = properties("DispatchFunction")["Events"]["Messages"]["Properties"]

    assert source["BatchSize"] == 10
    assert source["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
    assert source["ScalingConfig"] == {"MaximumConcurrency": 2}


def test_the_sweep_comes_every_minute() -> None:
    sweep = properties("DispatchFunction")["Events"]["Sweep"]["Properties"]

    assert sweep["Schedule"] == "rate(1 minute)"


def test_the_rule_tells_of_every_end_that_is_not_success() -> None:
    pattern = properties("ExploreFunction")["Events"]["Stopped"]["Properties"]["Pattern"]

    assert pattern["detail"]["status"] == ["FAILED", "TIMED_OUT", "ABORTED"]
    assert pattern["detail"]["stateMachineArn"] == [{"Ref": "ExplorationWorkflow"}]


def test_explore_outlives_the_longest_deadline_and_its_task_keeps_the_asked_one() -> None:
    task = state_machine(dict.fromkeys(substitutions(), "x"))["States"]["Explore"]

    assert declared("ExploreFunction")["Timeout"] >= limits.MAX_DEADLINE_SECONDS + 60
    assert task["TimeoutSecondsPath"] == "$.deadline_seconds"


def test_explore_has_room_for_all_that_the_code_toolset_keeps() -> None:
    room = declared("ExploreFunction")["EphemeralStorage"]["Size"] * 1_048_576
    code = limits.CodeLimits()

    kept = max(code.max_kept_bytes, code.max_unpacked_bytes)
    assert room > kept + code.max_unpacked_bytes + MAX_ARCHIVE_BYTES + 2 * symbols.MAX_BYTES


@pytest.mark.parametrize(
    ("state", "function"), [("Publish", "PublishFunction"), ("Notify", "NotifyFunction")]
)
def test_a_task_waits_longer_than_its_function_runs(state: str, function: str) -> None:
    task = state_machine(dict.fromkeys(substitutions(), "x"))["States"][state]

    assert task["TimeoutSeconds"] > declared(function)["Timeout"]


def substitutions() -> dict[str, Any]:
    given: dict[str, Any] = properties("ExplorationWorkflow")["DefinitionSubstitutions"]
    return given


def test_the_workflow_may_invoke_the_functions_it_names_and_no_other() -> None:
    named = {name for name in substitutions() if name.endswith("FunctionArn")}
    invoked = [
        resources
        for actions, resources in statements("WorkflowRole")
        if "lambda:InvokeFunction" in actions
    ]

    assert invoked == [[substitutions()[name] for name in sorted(named, key=ORDER.index)]]
    assert substitutions()["ExploreFunctionArn"] == {"Ref": "ExploreFunction.Alias"}


def test_the_table_is_the_one_that_the_code_expects() -> None:
    table = properties("ExplorationsTable")
    expected = schema.TABLE

    assert {name: table[name] for name in expected} == expected
    assert table["PointInTimeRecoverySpecification"] == {"PointInTimeRecoveryEnabled": True}
    assert table["SSESpecification"] == {"SSEEnabled": True}
    assert table["TimeToLiveSpecification"] == {"AttributeName": schema.EXPIRES, "Enabled": True}


def test_the_bucket_is_private_encrypted_and_forgets() -> None:
    bucket = properties("ExplorationsBucket")

    assert set(bucket["PublicAccessBlockConfiguration"].values()) == {True}
    assert bucket["BucketEncryption"]
    assert {rule["Status"] for rule in bucket["LifecycleConfiguration"]["Rules"]} == {"Enabled"}
    (statement,) = properties("ExplorationsBucketPolicy")["PolicyDocument"]["Statement"]
    assert statement["Effect"] == "Deny"
    assert statement["Condition"] == {"Bool": {"aws:SecureTransport": False}}


def test_what_can_be_fetched_again_expires() -> None:
    rules = properties("ExplorationsBucket")["LifecycleConfiguration"]["Rules"]
    days = {rule.get("Prefix"): rule.get("ExpirationInDays") for rule in rules}

    assert days[f"{SNAPSHOTS}/"] == 14
    assert days["explorations/"] is None


@pytest.mark.parametrize("resource", ["ExplorationsTable", "ExplorationsBucket"])
def test_research_survives_the_stack_but_not_a_failed_creation(resource: str) -> None:
    assert template()["Resources"][resource]["DeletionPolicy"] == "RetainExceptOnCreate"
    assert template()["Resources"][resource]["UpdateReplacePolicy"] == "Retain"


def test_what_is_overwritten_or_deleted_can_be_brought_back_for_as_long_as_the_table() -> None:
    bucket = properties("ExplorationsBucket")
    rules = {rule["Id"]: rule for rule in bucket["LifecycleConfiguration"]["Rules"]}

    assert bucket["VersioningConfiguration"] == {"Status": "Enabled"}
    old = rules["ForgetOldVersions"]
    assert old["NoncurrentVersionExpiration"] == {
        "NoncurrentDays": 35
    }  # DynamoDB's recovery window
    assert old["ExpiredObjectDeleteMarker"]
    assert "Prefix" not in old
    for rule in ("ForgetUploads", "ForgetSnapshots"):
        assert rules[rule]["NoncurrentVersionExpiration"] == {"NoncurrentDays": 1}


def test_every_route_but_health_and_the_page_needs_a_token() -> None:
    auth = properties("Api")["Auth"]
    routes = [
        event["Properties"]
        for function in ("ApiFunction", "FollowFunction")
        for event in properties(function)["Events"].values()
    ]

    assert auth["DefaultAuthorizer"] == "BearerToken"
    assert auth["Authorizers"]["BearerToken"]["Identity"]["ReauthorizeEvery"] == 60
    assert [route["Path"] for route in routes if "Auth" in route] == OPEN_ROUTES


def test_what_api_gateway_answers_by_itself_has_our_shape_and_headers() -> None:
    answers = properties("Api")["GatewayResponses"]

    assert {"UNAUTHORIZED", "DEFAULT_4XX", "DEFAULT_5XX"} <= set(answers)
    for answer in answers.values():
        body = json.loads(answer["ResponseTemplates"]["application/json"])
        assert set(body) == {"error"}
        assert set(body["error"]) == {"type", "message"}
        headers = answer["ResponseParameters"]["Headers"]
        assert {"X-Content-Type-Options", "Strict-Transport-Security"} <= set(headers)
        assert all(value.startswith("'") and value.endswith("'") for value in headers.values())
        assert all("'" not in value[1:-1] for value in headers.values())


@pytest.mark.parametrize("alarm", ALARMS)
def test_an_alarm_tells_somebody_and_the_runbook_knows_it(alarm: str) -> None:
    assert properties(alarm)["AlarmActions"] == [{"Ref": "AlarmTopic"}]
    assert f"## {alarm}" in Path(ROOT / "docs" / "runbook.md").read_text("utf-8")


def metrics_of(alarm: str) -> list[dict[str, Any]]:
    """The metrics that an alarm watches."""
    declared = properties(alarm)
    if "Metrics" not in declared:
        return [declared]
    found = [entry["MetricStat"] for entry in declared["Metrics"] if "MetricStat" in entry]
    return [stat["Metric"] for stat in found]


@pytest.mark.parametrize("alarm", [name for name in ALARMS if "Metrics" in properties(name)])
def test_the_math_of_an_alarm_takes_missing_data_for_zero(alarm: str) -> None:
    """A metric without data would make the whole expression missing."""
    result, *metrics = properties(alarm)["Metrics"]
    used = re.findall(r"\b[a-z][A-Za-z]*\b", result["Expression"])
    filled = re.findall(r"FILL\((\w+), [01]\)", result["Expression"])

    assert sorted(used) == sorted(filled)
    assert set(used) == {metric["Id"] for metric in metrics}
    assert not any(metric["ReturnData"] for metric in metrics)
    assert len(metrics) <= 10  # CloudWatch's limit


def test_only_a_sweep_that_says_nothing_is_an_alarm() -> None:
    silent = [name for name in ALARMS if properties(name)["TreatMissingData"] != "notBreaching"]

    assert silent == ["SweepsAlarm"]
    assert properties("SweepsAlarm")["TreatMissingData"] == "breaching"


def test_the_alarms_watch_what_matters() -> None:
    watched = {
        alarm: {str(metric["MetricName"]) for metric in metrics_of(alarm)} for alarm in ALARMS
    }

    assert watched == {
        "DeadLettersAlarm": {"ApproximateNumberOfMessagesVisible"},
        "FailedCallsAlarm": {
            "ApproximateNumberOfMessagesVisible",
            "AsyncEventsDropped",
            "DestinationDeliveryFailures",
        },
        "BacklogAlarm": {"OldestWaitingSeconds"},
        "SweepsAlarm": {"Sweeps"},
        "OldestMessageAlarm": {"ApproximateAgeOfOldestMessage"},
        "ThrottlesAlarm": {"Throttles"},
        "RecursionAlarm": {"RecursiveInvocationsDropped"},
        "FailedExecutionsAlarm": {"ExecutionsFailed", "ExecutionsTimedOut"},
        "FailedExplorationsAlarm": {"Explorations"},
        "ApiErrorsAlarm": {"5XXError", "Count"},
        "WebhooksAlarm": {"WebhooksGivenUp"},
        "ApiReleaseAlarm": {"Errors", "Invocations"},
        "ExploreReleaseAlarm": {"Errors", "Invocations"},
        "SpendAlarm": {"CostUsd"},
    }


@pytest.mark.parametrize("alarm", ["ThrottlesAlarm", "RecursionAlarm"])
def test_an_alarm_on_functions_watches_all_of_them(alarm: str) -> None:
    """By name: where no function streams, a reference to it would be invalid, and a metric has no data."""
    names = {
        function: Resolver({"AWS::StackName": "stack"}).resolve(
            properties(function)["FunctionName"]
        )
        for function in FUNCTIONS
    }
    resolver = Resolver({"AWS::StackName": "stack", **names})
    watched = [resolver.resolve(metric["Dimensions"][0]["Value"]) for metric in metrics_of(alarm)]

    assert sorted(watched) == sorted(names.values())


def test_what_streams_is_there_only_where_streams_are_allowed() -> None:
    resources = template()["Resources"]
    conditions = {
        resources[name].get("Condition") for name in ("FollowFunction", "FollowRole", "FollowLogs")
    }

    assert conditions == {"StreamsEvents"}
    assert template()["Parameters"]["MaxStreams"]["Default"] == 0
    assert not Resolver({}).holds("StreamsEvents")
    assert Resolver({"MaxStreams": 1}).holds("StreamsEvents")


def test_a_stream_ends_by_itself_before_lambda_or_api_gateway_cut_it_off() -> None:
    route = properties("FollowFunction")["Events"]["Stream"]["Properties"]

    longest = events.STREAM_SECONDS + events.MARGIN_SECONDS
    assert longest < declared("FollowFunction")["Timeout"] <= route["TimeoutInMillis"] / 1_000
    assert route["TimeoutInMillis"] <= 900_000  # API Gateway's limit for streams


def test_streams_have_their_route_in_the_api_and_without_them_it_is_not_there() -> None:
    """A resource without a method would keep the path from the function that answers it otherwise."""
    paths = translate()["Resources"]["Api"]["Properties"]["Body"]["paths"]
    condition, route, otherwise = paths[STREAM_PATH]["Fn::If"]

    assert (condition, otherwise) == ("StreamsEvents", {"Ref": "AWS::NoValue"})
    integration = json.dumps(route)
    assert '"responseTransferMode": "STREAM"' in integration
    assert '"timeoutInMillis": 75000' in integration
    assert (
        "2021-11-15/functions/${FollowFunction.Arn}/response-streaming-invocations" in integration
    )
    parents = [*accumulate(STREAM_PATH.split("/")[1:-1], lambda path, part: f"{path}/{part}")]
    assert {f"/{path}" for path in parents} <= {*paths}


def test_who_follows_writes_nothing_but_the_count_of_streams() -> None:
    writes = [
        statement
        for _, statement in policies_of("FollowRole")
        if {*listed(statement["Action"])} - READS and "dynamodb" in json.dumps(statement)
    ]

    (only,) = writes
    assert only["Condition"] == {
        "ForAllValues:StringEquals": {"dynamodb:LeadingKeys": [streams.KEY[schema.PK]]}
    }


def test_the_wrapper_is_a_program_that_comes_with_the_code() -> None:
    wrapper = variables_of("FollowFunction")["AWS_LAMBDA_EXEC_WRAPPER"].removeprefix("/var/task/")

    assert os.access(ROOT / properties("FollowFunction")["CodeUri"] / wrapper, os.X_OK)


def test_the_failure_rate_counts_every_way_to_end() -> None:
    counted = {metric["Dimensions"][1]["Value"] for metric in metrics_of("FailedExplorationsAlarm")}

    assert counted == FINAL


def test_the_dashboard_is_valid_and_shows_every_alarm() -> None:
    body = properties("Dashboard")["DashboardBody"]["Fn::Sub"]
    widgets = json.loads(body)["widgets"]

    assert {f"${{{alarm}.Arn}}" for alarm in ALARMS} == set(widgets[0]["properties"]["alarms"])
