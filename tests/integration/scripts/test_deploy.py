"""`make deploy` against CloudFormation's rules: what is in force afterwards, and what is refused before."""

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import boto3
import botocore.session
import pytest
from moto.server import ThreadedMotoServer

from idea_explorer.adapters.aws import client as aws
from idea_explorer.adapters.clock import SystemClock
from idea_explorer.domain.errors import ConfigurationError, InvalidRequestError
from scripts.deploy.__main__ import main as run_script
from scripts.deploy.answers import Answers
from scripts.deploy.builds import record_architecture
from scripts.deploy.deploy import Request, Tools, deploy
from scripts.deploy.parameters import parse_overrides, read_template
from scripts.deploy.stack import Account
from scripts.deploy.undeploy import undeploy
from tests.e2e.harness.template import ROOT
from tests.fakes.cloudformation_server import FakeCloudFormation, FakeStack
from tests.unit.scripts.test_deploy_builds import AARCH64, X86_64, library

pytestmark = pytest.mark.long

REGION = "us-east-1"
CREDENTIALS = {"AWS_ACCESS_KEY_ID": "testing", "AWS_SECRET_ACCESS_KEY": "testing"}
KEYS = {"GITHUB_TOKEN": "ghp-never-shown", "ANTHROPIC_API_KEY": "sk-never-shown"}
FIRST = Request(stack="ideas", parameters={"GitHubRepository": "acme/ideas"})


@dataclass
class Operator:
    """Whoever runs `make deploy`: their terminal, and what they have seen of it."""

    cloudformation: FakeCloudFormation
    clients: Mapping[str, Any]
    root: Path
    said: list[str] = field(default_factory=list)
    sam_calls: list[Sequence[str]] = field(default_factory=list)
    smoked: list[str] = field(default_factory=list)
    smoke_code: int = 0
    machine: int = AARCH64
    is_terminal: bool = False

    def tools(self, environment: Mapping[str, str], region: str | None = REGION) -> Tools:
        return Tools(
            root=self.root,
            sam=self.sam,
            smoke=self.smoke,
            say=self.said.append,
            answers=Answers(environment, self.is_terminal, _never, _never),
            account=Account(self.clients.__getitem__),
            clock=SystemClock(),
            use_region=lambda _: None,
            known_region=lambda: region,
        )

    def sam(self, arguments: Sequence[str], variables: Mapping[str, str]) -> int:
        """SAM as far as it matters here: builds a library, and hands parameters to CloudFormation."""
        self.sam_calls.append(arguments)
        values = dict(zip(arguments[1::2], arguments[2::2], strict=False))
        if arguments[0] == "build":
            make_build(Path(values["--build-dir"]), self.machine)
            return 0
        at = arguments.index("--parameter-overrides") + 1
        given = {
            name: value.strip('"') for name, value in parse_overrides([*arguments[at:]]).items()
        }
        template = (ROOT / "template.yaml").read_text("utf-8")
        stack = self.cloudformation.apply("ideas", template, given)
        return 1 if "ROLLBACK" in stack.status else 0

    def smoke(self, stack: str) -> int:
        self.smoked.append(stack)
        return self.smoke_code

    def deploy(self, request: Request, **environment: str) -> int:
        return deploy(request, self.tools({"ALARM_EMAIL": "ops@example.com", **environment}))

    @property
    def parameters(self) -> dict[str, str]:
        return self.cloudformation.stacks["ideas"].parameters

    def secret(self, output: str) -> str:
        name = self.cloudformation.stacks["ideas"].outputs[output]
        value: str = self.clients["secretsmanager"].get_secret_value(SecretId=name)["SecretString"]
        return value


def _never(prompt: str) -> str:
    raise AssertionError(f"nothing may be asked here: {prompt}")


def make_build(folder: Path, machine: int) -> None:
    """What `sam build` leaves, with next to nothing in it."""
    for part in ("function", "layer/python"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    (folder / "function" / "app.py").write_text("")
    (folder / "layer" / "python" / "_re2.so").write_bytes(library(machine))
    (folder / "workflow.yaml").write_text("{}")
    (folder / "template.yaml").write_text(built_template())


@cache
def built_template() -> str:
    template = read_template(ROOT / "template.yaml")
    places = {
        "AWS::Serverless::Function": ("CodeUri", "function"),
        "AWS::Serverless::LayerVersion": ("ContentUri", "layer"),
        "AWS::Serverless::StateMachine": ("DefinitionUri", "workflow.yaml"),
    }
    for resource in template["Resources"].values():
        if place := places.get(resource["Type"]):
            resource["Properties"][place[0]] = place[1]
    return json.dumps(template)


@pytest.fixture(scope="module")
def moto() -> Iterator[str]:
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def operator(moto: str, tmp_path: Path) -> Iterator[Operator]:
    connect: Any = boto3.client
    keys = {"aws_access_key_id": "testing", "aws_secret_access_key": "testing"}
    clients = {
        service: connect(service, endpoint_url=moto, region_name=REGION, **keys)
        for service in ("s3", "secretsmanager")
    }
    for secret in clients["secretsmanager"].list_secrets()["SecretList"]:
        clients["secretsmanager"].delete_secret(
            SecretId=secret["ARN"], ForceDeleteWithoutRecovery=True
        )
    with FakeCloudFormation(clients["secretsmanager"], clients["s3"]) as cloudformation:
        for service in ("cloudformation", "lambda"):
            clients[service] = connect(
                service, endpoint_url=cloudformation.url, region_name=REGION, **keys
            )
        for name in ("template.yaml", "samconfig.toml"):
            (tmp_path / name).symlink_to(ROOT / name)
        yield Operator(cloudformation, clients, tmp_path)


def test_the_first_deploy_sets_the_stage_secrets_and_a_token_and_tests_the_stack(
    operator: Operator,
) -> None:
    operator.is_terminal = True
    assert operator.deploy(replace(FIRST, stage="prod"), **KEYS) == 0

    in_force = operator.parameters
    assert in_force["Stage"] == "prod"
    assert in_force["LogRetentionDays"] == "90"  # samconfig's, for prod
    assert in_force["DailySpendLimitUsd"] == "100"
    assert in_force["GitHubRepository"] == "acme/ideas"
    assert in_force["AlarmEmail"] == "ops@example.com"
    assert (in_force["ApiReservedConcurrency"], in_force["ExploreReservedConcurrency"]) == (
        "50",
        "24",
    )
    assert operator.secret("GitHubSecretId") == KEYS["GITHUB_TOKEN"]
    assert operator.secret("AnthropicSecretId") == KEYS["ANTHROPIC_API_KEY"]
    assert [token["owner"] for token in json.loads(operator.secret("ApiTokensSecretId"))] == [
        "admin"
    ]
    assert operator.smoked == ["ideas"]
    said = "\n".join(operator.said)
    assert "https://api.example.com/prod" in said
    assert "idea submit" in said
    assert "Dashboard: https://console.example.com/dashboard" in said
    assert "Confirm the e-mail that AWS sends to ops@example.com" in said
    shown = said + str(operator.sam_calls)
    assert not [key for key in KEYS.values() if key in shown]


def test_an_update_asks_nothing_and_keeps_what_nobody_names(operator: Operator) -> None:
    changed = {**FIRST.parameters, "MaxCostUsd": "7", "WebhookUrl": "https://hooks.example.com/x"}
    operator.deploy(replace(FIRST, stage="prod", parameters=changed), **KEYS)
    tokens = operator.secret("ApiTokensSecretId")

    assert deploy(Request(stack="ideas"), operator.tools({})) == 0

    in_force = operator.parameters
    assert (in_force["Stage"], in_force["LogRetentionDays"]) == ("prod", "90")
    assert (in_force["MaxCostUsd"], in_force["WebhookUrl"]) == ("7", "https://hooks.example.com/x")
    assert in_force["GitHubRepository"] == "acme/ideas"
    assert in_force["AlarmEmail"] == "ops@example.com"
    assert operator.secret("GitHubSecretId") == KEYS["GITHUB_TOKEN"]
    assert operator.secret("ApiTokensSecretId") == tokens


def test_a_changed_parameter_changes_the_code_that_is_deployed(operator: Operator) -> None:
    """Otherwise the functions behind an alias would go on with their old environment."""
    release = operator.root / ".aws-sam" / "deploy-arm64" / "function" / "release"

    def deploy_with(max_running: str) -> str:
        request = replace(FIRST, parameters={**FIRST.parameters, "MaxRunning": max_running})
        assert operator.deploy(request, **KEYS) == 0
        return release.read_text()

    deploy_with("3")  # the first names what the others keep
    before, same, other = deploy_with("3"), deploy_with("3"), deploy_with("4")

    assert before == same != other


def test_on_an_account_of_ten_nothing_is_reserved_and_the_api_keeps_half(
    operator: Operator,
) -> None:
    operator.cloudformation.total = 10

    assert operator.deploy(replace(FIRST, stage="prod"), **KEYS) == 0

    in_force = operator.parameters
    assert (in_force["MaxRunning"], in_force["ApiReservedConcurrency"]) == ("5", "0")
    assert "MaxRunning is set to 5, not 20" in "\n".join(operator.said)
    named = {**FIRST.parameters, "ExploreReservedConcurrency": "6"}
    with pytest.raises(ConfigurationError, match="more than the 0 that can be reserved"):
        operator.deploy(replace(FIRST, parameters=named), **KEYS)


def test_without_a_terminal_it_lists_what_is_missing_before_it_builds(operator: Operator) -> None:
    with pytest.raises(ConfigurationError) as missing:
        deploy(FIRST, operator.tools({}))

    assert missing.value.message.endswith(
        "ALARM_EMAIL, GITHUB_TOKEN, ANTHROPIC_API_KEY are not set."
    )
    with pytest.raises(ConfigurationError, match="AWS_REGION is not set"):
        deploy(FIRST, operator.tools({}, region=None))
    assert operator.sam_calls == []


def test_only_the_keys_that_are_needed_are_asked_for(operator: Operator) -> None:
    offline = Request(stack="ideas", parameters={"Provider": "offline"})

    assert operator.deploy(offline) == 0

    assert operator.parameters["Provider"] == "offline"


@pytest.mark.parametrize("architecture", ["arm64", "x86_64"])
def test_it_builds_for_the_architecture_it_deploys_in_a_folder_of_its_own(
    operator: Operator, architecture: str
) -> None:
    operator.machine = {"arm64": AARCH64, "x86_64": X86_64}[architecture]

    operator.deploy(replace(FIRST, architecture=architecture), **KEYS)

    build, deployed = operator.sam_calls
    folder = operator.root / ".aws-sam" / f"deploy-{architecture}"
    assert build[build.index("--build-dir") + 1] == str(folder)
    assert deployed[deployed.index("--template-file") + 1] == str(folder / "template.yaml")
    assert operator.parameters["Architecture"] == architecture
    assert '"bomFormat": "CycloneDX"' in (folder / "sbom.cdx.json").read_text("utf-8")


def test_a_stack_built_for_another_architecture_is_refused(
    operator: Operator, tmp_path: Path
) -> None:
    operator.machine = X86_64  # what a build got that took ARCHITECTURE from elsewhere

    with pytest.raises(
        ConfigurationError, match=r"_re2\.so is for x86_64, but Architecture is arm64"
    ):
        operator.deploy(FIRST, **KEYS)

    make_build(tmp_path / "local", X86_64)
    record_architecture(tmp_path / "local", "x86_64")
    with pytest.raises(ConfigurationError, match="built for x86_64, but Architecture is arm64"):
        operator.deploy(replace(FIRST, built=tmp_path / "local"), **KEYS)
    assert operator.cloudformation.stacks == {}


@pytest.mark.parametrize(
    ("request_", "sentence"),
    [
        (replace(FIRST, parameters={"MaxRuning": "5"}), "no parameter MaxRuning"),
        (replace(FIRST, stage="test"), "no stage test"),
        (replace(FIRST, architecture="riscv"), "no architecture riscv"),
        (replace(FIRST, stack="my_stack"), "'my_stack' is not a valid stack name"),
        (replace(FIRST, owner="a b"), "An owner is named by"),
        (replace(FIRST, parameters={"MaxRunning": "abc"}), "MaxRunning must be a number"),
        (replace(FIRST, parameters={"GitHubRepository": "ideas"}), "as owner/name"),
    ],
)
def test_what_cannot_be_deployed_is_refused_at_once(
    operator: Operator, request_: Request, sentence: str
) -> None:
    with pytest.raises(InvalidRequestError, match=sentence):
        deploy(request_, operator.tools({}, region=None))  # nothing is asked before
    assert operator.sam_calls == []


@pytest.mark.parametrize(
    ("parameters", "email", "sentence"),
    [
        ({"Provider": "aws"}, "", "Set AnthropicWorkspaceId if Provider is aws"),
        ({"Provider": "offline"}, "nobody", "AlarmEmail does not have the right form"),
    ],
)
def test_what_the_template_forbids_is_refused_before_the_build(
    operator: Operator, parameters: Mapping[str, str], email: str, sentence: str
) -> None:
    with pytest.raises(InvalidRequestError, match=sentence):
        operator.deploy(replace(FIRST, parameters=parameters), **KEYS, ALARM_EMAIL=email)
    assert operator.sam_calls == []


def test_a_region_that_only_this_command_knows_is_printed_to_be_exported(
    operator: Operator,
) -> None:
    assert operator.deploy(replace(FIRST, region=REGION), **KEYS) == 0
    assert "export AWS_REGION" not in "\n".join(operator.said)

    elsewhere = operator.tools({"ALARM_EMAIL": "", **KEYS}, region="eu-west-1")
    assert deploy(replace(FIRST, region=REGION), elsewhere) == 0

    assert f"  export AWS_REGION={REGION}" in operator.said
    assert f"Make the first token with: AWS_REGION={REGION} idea admin token add" in "\n".join(
        operator.said
    )


@pytest.mark.parametrize("exists", [False, True])
def test_a_failed_deploy_says_what_is_left(operator: Operator, exists: bool) -> None:
    if exists:
        operator.deploy(FIRST, **KEYS)
    tools = replace(
        operator.tools({"ALARM_EMAIL": "", **KEYS}),
        sam=lambda arguments, variables: (
            operator.sam(arguments, variables) if arguments[0] == "build" else 1
        ),
    )

    with pytest.raises(ConfigurationError) as failed:
        deploy(FIRST, tools)

    assert ("is still running" in failed.value.hint) is exists
    assert ("make undeploy STACK=ideas" in failed.value.hint) is not exists


def test_a_stack_that_does_not_work_ends_with_the_code_of_the_smoke_test(
    operator: Operator,
) -> None:
    operator.smoke_code = 1
    operator.is_terminal = True

    assert operator.deploy(FIRST, **KEYS) == 1

    said = "\n".join(operator.said)
    assert "Token of admin" in said  # it is not shown again
    assert "Once that is repaired: idea admin smoke --stack ideas" in said


def test_without_a_terminal_no_token_is_printed_into_a_log(operator: Operator) -> None:
    assert operator.deploy(FIRST, **KEYS) == 0

    said = "\n".join(operator.said)
    assert "idea admin token add admin --stack ideas" in said
    assert "Token of admin" not in said
    assert json.loads(operator.secret("ApiTokensSecretId")) == []


def test_reservations_of_samconfig_stay_as_they_are(operator: Operator) -> None:
    samconfig = operator.root / "samconfig.toml"
    text = samconfig.read_text("utf-8")
    samconfig.unlink()  # a link to the project's own
    samconfig.write_text(
        text.replace("Stage=dev ", "Stage=dev ApiReservedConcurrency=20 "), "utf-8"
    )

    assert operator.deploy(FIRST, **KEYS) == 0

    assert operator.parameters["ApiReservedConcurrency"] == "20"
    assert operator.parameters["ExploreReservedConcurrency"] == "0"


@pytest.mark.parametrize(
    ("status", "hint"),
    [
        ("ROLLBACK_COMPLETE", "make undeploy STACK=ideas"),
        ("CREATE_FAILED", "make undeploy STACK=ideas"),
        ("UPDATE_ROLLBACK_FAILED", "continue-update-rollback --stack-name ideas"),
    ],
)
def test_a_stack_that_cannot_be_updated_is_left_alone(
    operator: Operator, status: str, hint: str
) -> None:
    operator.deploy(FIRST, **KEYS)
    operator.cloudformation.stacks["ideas"].status = status

    with pytest.raises(ConfigurationError, match=hint):
        operator.deploy(FIRST, **KEYS)


FOREIGN = '{"Resources": {"Website": {"Type": "AWS::S3::Bucket"}}}'


@pytest.mark.parametrize("status", ["CREATE_COMPLETE", "ROLLBACK_COMPLETE"])
def test_a_stack_of_something_else_is_never_deleted(operator: Operator, status: str) -> None:
    operator.cloudformation.stacks["other"] = FakeStack("other", template=FOREIGN, status=status)
    account = operator.tools({}).account

    with pytest.raises(ConfigurationError, match="other is not a stack of Idea Explorer"):
        undeploy("other", ROOT / "template.yaml", account, _never, operator.said.append)
    assert "other" in operator.cloudformation.stacks


def test_what_a_failed_first_deploy_left_is_deleted(operator: Operator) -> None:
    operator.deploy(FIRST, **KEYS)
    failed = operator.cloudformation.stacks["ideas"]
    failed.status, failed.outputs = "ROLLBACK_COMPLETE", {}
    operator.said.clear()
    account = operator.tools({}).account

    template = ROOT / "template.yaml"
    assert undeploy("ideas", template, account, lambda _: "ideas", operator.said.append) == 0

    assert "ideas" not in operator.cloudformation.stacks
    assert "keeps" not in "\n".join(operator.said)  # CloudFormation has deleted the table as well


def test_undeploying_says_what_stays_and_deletes_only_what_is_confirmed(
    operator: Operator,
) -> None:
    operator.deploy(FIRST, **KEYS)
    operator.said.clear()
    account = operator.tools({}).account

    def confirm(answer: str) -> int:
        template = ROOT / "template.yaml"
        return undeploy("ideas", template, account, lambda _: answer, operator.said.append)

    assert confirm("yes") == 1
    assert "ideas" in operator.cloudformation.stacks
    assert confirm("ideas") == 0
    assert "ideas" not in operator.cloudformation.stacks
    said = "\n".join(operator.said)
    assert "aws dynamodb delete-table --table-name ideas-explorationstable" in said
    assert "ideas-explorationsbucket  (delete it with: the commands under 'Delete'" in said
    with pytest.raises(ConfigurationError, match="no stack ideas"):
        confirm("ideas")


@pytest.mark.parametrize(
    ("action", "variables", "sentence"),
    [
        ("deploy", {"AWS_PROFILE": "nope"}, "There is no AWS profile nope."),
        ("deploy", {"AWS_PROFILE": "\x1b[2Jnope"}, "There is no AWS profile \\x1b[2Jnope."),
        ("deploy", {"PARAMETERS": "MaxRunning='5"}, "The parameters cannot be read"),
        ("deploy", {"AWS_REGION": "europe"}, "'europe' is not an AWS region."),
        ("undeploy", {"AWS_PROFILE": "nope"}, "There is no AWS profile nope."),
    ],
)
def test_what_is_wrong_in_the_environment_is_one_sentence(
    action: str,
    variables: Mapping[str, str],
    sentence: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name in ("AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION", "PARAMETERS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(aws, "_session", botocore.session.get_session)  # one that has read nothing
    monkeypatch.setattr(sys, "argv", ["make", action, "--stack", "ideas"])

    assert run_script() == 2

    said = capsys.readouterr().err
    assert said.startswith(f"idea: {sentence}")
    assert len(said.splitlines()) == 1


@pytest.mark.slow
def test_sam_itself_puts_the_settings_in_force_and_keeps_the_others(
    operator: Operator, moto: str, tmp_path: Path
) -> None:
    build = tmp_path / "built"
    make_build(build, AARCH64)
    record_architecture(build, "arm64")
    operator.cloudformation.add_bucket_stack("sam-uploads")
    loopback = {
        "AWS_ENDPOINT_URL_CLOUDFORMATION": operator.cloudformation.url,
        "AWS_ENDPOINT_URL": moto,
        "SAM_CLI_TELEMETRY": "0",
        "PATH": "/usr/bin:/bin",
        "HOME": str(tmp_path),
        **CREDENTIALS,
    }

    def sam(arguments: Sequence[str], variables: Mapping[str, str]) -> int:
        command = [str(ROOT / ".venv" / "bin" / "sam"), *arguments]
        done = subprocess.run(
            command, cwd=ROOT, env=loopback, check=False, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return 0

    first = replace(
        FIRST, stage="prod", built=build, parameters={**FIRST.parameters, "MaxCostUsd": "7"}
    )
    environment = {"ALARM_EMAIL": "", **KEYS}
    assert deploy(first, replace(operator.tools(environment), sam=sam)) == 0
    before = dict(operator.parameters)
    again = Request(stack="ideas", built=build, parameters={"CodeRepositories": "acme/a acme/b"})
    assert deploy(again, replace(operator.tools({}), sam=sam)) == 0

    assert (before["Stage"], before["LogRetentionDays"], before["MaxCostUsd"]) == (
        "prod",
        "90",
        "7",
    )
    assert operator.parameters == {**before, "CodeRepositories": "acme/a acme/b"}
    assert operator.cloudformation.stacks["ideas"].status == "UPDATE_COMPLETE"
