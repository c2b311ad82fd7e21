"""Who answers: Anthropic with a key, Claude on AWS with a role, or nobody; and what a wrong setting gets."""

import json
from pathlib import Path

import pytest

from idea_explorer.domain.errors import InvalidSettingError
from idea_explorer.settings import Settings
from tests.fakes.anthropic_aws import AwsAccount
from tests.fakes.anthropic_server import FakeAnthropic
from tests.fakes.anthropic_turns import answer, text, tool_use
from tests.fakes.command import Done, idea
from tests.fakes.reports import business

REPORT = answer(text(business("Urban bees")))
ACCOUNT = AwsAccount()
CREDENTIALS = {
    "AWS_ACCESS_KEY_ID": ACCOUNT.access_key,
    "AWS_SECRET_ACCESS_KEY": ACCOUNT.secret_key,
    "AWS_REGION": ACCOUNT.region,
    "AWS_CONFIG_FILE": "/dev/null",
    "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
    "AWS_EC2_METADATA_DISABLED": "true",
}
ON_AWS = {
    "IDEA_MODEL_PROVIDER": "aws",
    "ANTHROPIC_AWS_WORKSPACE_ID": ACCOUNT.workspace,
    **CREDENTIALS,
}


def explore(server: FakeAnthropic, folder: Path, *flags: str, **changes: str) -> Done:
    env = {**ON_AWS, "ANTHROPIC_AWS_BASE_URL": server.url, **changes}
    return idea("explore", "Bees in towns", "--json", *flags, env=env, folder=folder)


def test_claude_on_aws_is_asked_with_a_signature_and_no_key(tmp_path: Path) -> None:
    script = [answer(tool_use("list_research", {})), REPORT]
    (tmp_path / "ideas").mkdir()
    with FakeAnthropic(script, aws=ACCOUNT) as server:
        done = explore(server, tmp_path)
    assert (done.returncode, server.rejections) == (0, []), done.stderr
    outcome = json.loads(done.stdout)
    assert (outcome["status"], outcome["stats"]["steps"]) == ("completed", 2)
    assert outcome["stats"]["cost_usd"] > 0
    headers = server.requests[0].headers
    assert headers["anthropic-workspace-id"] == "wrkspc_team"
    assert "/us-east-1/aws-external-anthropic/aws4_request" in headers["authorization"]
    assert "x-api-key" not in headers
    assert any(tool["name"] == "web_search" for tool in server.requests[0].body["tools"])


@pytest.mark.parametrize(
    ("account", "changes", "said"),
    [
        (
            AwsAccount(allowed=()),
            {},
            "Allow the role aws-external-anthropic:CreateInference on the workspace",
        ),
        (AwsAccount(workspace="wrkspc_other"), {}, "ANTHROPIC_AWS_WORKSPACE_ID"),
        (AwsAccount(secret_key="another"), {}, "Check the role or profile that signs"),
        (ACCOUNT, {"IDEA_MODELS": '{"sonnet": "claude-none"}'}, "Check IDEA_MODELS."),
    ],
)
def test_what_aws_refuses_is_one_sentence_that_names_what_to_set(
    tmp_path: Path, account: AwsAccount, changes: dict[str, str], said: str
) -> None:
    with FakeAnthropic([REPORT], aws=account) as server:
        done = explore(server, tmp_path, "--quiet", **changes)
        billed = server.billed
    assert done.returncode == 1
    assert said in json.loads(done.stdout)["error"]["message"]
    assert billed.output_tokens == 0


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"IDEA_MODEL_PROVIDER": "bedrock"}, "IDEA_MODEL_PROVIDER"),
        ({"ANTHROPIC_AWS_WORKSPACE_ID": ""}, "ANTHROPIC_AWS_WORKSPACE_ID must be set where"),
        ({"AWS_REGION": ""}, "AWS_REGION must be set where IDEA_MODEL_PROVIDER is aws"),
        ({"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""}, "There are no AWS credentials"),
        (
            {"IDEA_EFFORTS": '{"claude-haiku-5-5": {"gathering": "high", "writing": "low"}}'},
            "IDEA_EFFORTS must give claude-haiku-5-5 one effort",
        ),
        (
            {"IDEA_EFFORTS": '{"claude-opus-5-5": {"gathering": "huge", "writing": "low"}}'},
            "IDEA_EFFORTS",
        ),
        ({"IDEA_EFFORTS": "low"}, "IDEA_EFFORTS must be a JSON object"),
    ],
)
def test_a_wrong_setting_is_one_sentence_before_anything_is_asked(
    tmp_path: Path, changes: dict[str, str], said: str
) -> None:
    with FakeAnthropic([REPORT], aws=ACCOUNT) as server:
        done = explore(server, tmp_path, "--quiet", **changes)
    assert done.returncode != 0
    assert said in done.stderr + done.stdout
    assert "Traceback" not in done.stderr
    assert server.requests == []


@pytest.mark.parametrize(
    ("flags", "changes", "said"),
    [
        (["--effort", "max"], {}, "--effort must be one of: low, medium or high."),
        (["--model", "gpt"], {}, "--model must be one of: sonnet, opus, haiku or offline."),
        (
            ["--effort", "low"],
            {"IDEA_MODELS": '{"sonnet": "claude-sonnet-4-5"}'},
            "--effort is not known of claude-sonnet-4-5",
        ),
    ],
)
def test_an_effort_or_model_that_is_not_taken_is_refused_at_once(
    tmp_path: Path, flags: list[str], changes: dict[str, str], said: str
) -> None:
    with FakeAnthropic([REPORT], aws=ACCOUNT) as server:
        done = explore(server, tmp_path, *flags, **changes)
    assert said in done.stderr + done.stdout
    assert (done.returncode, server.requests) == (2, [])


def test_doctor_says_who_answers_and_whether_they_do(tmp_path: Path) -> None:
    with FakeAnthropic([REPORT], aws=ACCOUNT) as server:
        env = {**ON_AWS, "ANTHROPIC_AWS_BASE_URL": server.url}
        well = idea("doctor", env=env, folder=tmp_path).stdout
        wrong = {**env, "ANTHROPIC_AWS_WORKSPACE_ID": "wrkspc_none"}
        ill = idea("doctor", env=wrong, folder=tmp_path).stdout
    flat = " ".join(well.split())
    assert "Claude on AWS in us-east-1, workspace wrkspc_team" in flat
    assert "haiku is claude-haiku-5-5" in flat
    assert "Claude on AWS: Claude refused the request (403)" in " ".join(ill.split())


def test_the_provider_is_the_one_that_is_named_or_the_one_with_a_key() -> None:
    def provider(**environment: str) -> str:
        return Settings.from_environment(environment).provider

    assert provider() == "offline"
    assert provider(ANTHROPIC_API_KEY="k") == "anthropic"
    assert provider(ANTHROPIC_API_KEY="k", IDEA_MODEL_PROVIDER="offline") == "offline"
    assert provider(**{k: v for k, v in ON_AWS.items() if v}) == "aws"
    with pytest.raises(InvalidSettingError, match="IDEA_MODEL_PROVIDER"):
        provider(IDEA_MODEL_PROVIDER="claude")
