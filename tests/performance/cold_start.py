"""CPU time of a cold start, for each function: before, after, and their ratio.

    python -m tests.performance.cold_start [--before REVISION] [--repeat N]

Both revisions are built by `sam build` for this machine and started by AWS's runtime emulator with
Lambda's own runtime client. AWS is moto, GitHub and Claude are servers on loopback. One exploration goes
through all functions, each started for its part alone:

- init: from the start of the process until it asks for its first event, less an empty handler's.
- init + call: until its first event is answered, less the same.
- ready: explore, until its first request reaches Claude's server.

The figure is the least of several starts, because other work on the machine only ever adds to it. The
webhook's host does not exist, so notify does everything but connect.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import uuid
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import boto3
import samcli
from samtranslator.yaml_helper import yaml_parse

from idea_explorer.domain.tokens import dump_tokens, make_token_record
from tests.e2e.harness.minds import REPORT
from tests.fakes.anthropic_server import FakeAnthropic
from tests.fakes.anthropic_turns import Turn, answer, text
from tests.fakes.anthropic_wire import JsonObject
from tests.fakes.github_server import FakeGitHub

ROOT = Path(__file__).parents[2]
MACHINE = "arm64" if os.uname().machine in {"arm64", "aarch64"} else "x86_64"
EMULATOR = Path(samcli.__file__).parent / "local" / "rapid" / f"aws-lambda-rie-{MACHINE}"
PYTHON = getattr(
    sys, "_base_executable", sys.executable
)  # without the packages of this environment
# What Lambda's Python runtime brings along.
RUNTIME = (
    *("awslambdaric", "boto3", "botocore", "dateutil", "jmespath", "s3transfer", "simplejson"),
    *("six.py", "urllib3", "runtime_client.*"),
)
WORKING_TREE = "working tree"
FUNCTIONS = ("api", "authorize", "dispatch", "explore", "publish", "notify")
WEBHOOK = "https://receiver.invalid/hook"
UNDELIVERED = "UndeliveredError"  # what notify says of it
START_SECONDS = 120.0  # a busy machine takes its time

EMPTY = "def handler(event, context):\n    return {}\n"
# Runs around the function's own module, and reports the CPU time that its process has used.
AROUND = """\
import os
import resource
import pathlib

import app


def used():
    spent = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(s.ru_utime + s.ru_stime for s in spent) * 1000


init = used()
pathlib.Path(os.environ["PID_FILE"]).write_text(str(os.getpid()))


def handler(event, context):
    answer, error = None, None
    try:
        answer = app.handler(event, context)
    except Exception as raised:
        error = f"{type(raised).__name__}: {raised}"
    return {"init": init, "total": used(), "answer": answer, "error": error}
"""


@dataclass(frozen=True)
class Package:
    """A function as Lambda unpacks it, and what it weighs."""

    code: Path
    opt: Path
    variables: Mapping[str, str]  # those that the template gives a fixed value
    unzipped: int
    zipped: int


@dataclass
class Figures:
    """Milliseconds of CPU, one of each per start."""

    init: list[float] = field(default_factory=list)
    total: list[float] = field(default_factory=list)
    ready: list[float] = field(default_factory=list)

    def add(self, reported: Mapping[str, Any], ready: float | None = None) -> None:
        self.init.append(reported["init"])
        self.total.append(reported["total"])
        if ready is not None:
            self.ready.append(ready)


@dataclass(frozen=True)
class Revision:
    name: str
    folder: Path
    template: dict[str, Any]
    packages: Mapping[str, Package]


def build(name: str, tree: Path, folder: Path) -> Revision:
    command = [f"{sys.prefix}/bin/sam", "build", "--build-dir", str(folder / "build")]
    done = subprocess.run(
        [*command, "--parameter-overrides", f"Architecture={MACHINE}"],
        cwd=tree,
        env={
            **os.environ,
            "PATH": f"{sys.prefix}/bin:{os.environ['PATH']}",
            "PYTHON": sys.executable,
            "ARCHITECTURE": MACHINE,
            "SAM_CLI_TELEMETRY": "0",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(f"sam build failed for {name}:\n{done.stderr[-3_000:]}")
    template = yaml_parse((tree / "template.yaml").read_text("utf-8"))
    sizes = {
        layer: (_size_of(folder / "build" / layer), _zipped(folder / "build" / layer))
        for layer, declared in template["Resources"].items()
        if declared["Type"] == "AWS::Serverless::LayerVersion"
    }
    packages = {}
    for function in FUNCTIONS:
        resource = f"{function.capitalize()}Function"
        shared = template["Globals"]["Function"].get("Layers", [])
        own = template["Resources"][resource]["Properties"].get("Layers", [])
        layers = [layer["Ref"] for layer in [*shared, *own]]
        opt = folder / "opt" / function
        for layer in layers:  # Lambda unpacks one over the other
            shutil.copytree(
                folder / "build" / layer, opt, copy_function=os.link, dirs_exist_ok=True
            )
        weights = [sizes[layer] for layer in layers]
        unzipped, zipped = (sum(part) for part in zip(*weights, strict=True))
        code = folder / "build" / resource
        variables = _fixed_variables(template, resource)
        packages[function] = Package(code, opt, variables, unzipped, zipped)
    return Revision(name, folder, template, packages)


def _fixed_variables(template: Mapping[str, Any], resource: str) -> dict[str, str]:
    parts = (template["Globals"]["Function"], template["Resources"][resource]["Properties"])
    declared = [part.get("Environment", {}).get("Variables", {}) for part in parts]
    merged = {**declared[0], **declared[1]}
    return {name: value for name, value in merged.items() if isinstance(value, str)}


def _size_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _zipped(folder: Path) -> int:
    with tempfile.TemporaryFile() as file:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
            for path in folder.rglob("*"):
                archive.write(path, path.relative_to(folder))
        return file.tell()


@contextmanager
def checked_out(revision: str, folder: Path) -> Iterator[Path]:
    tree = folder / "tree"
    subprocess.run(
        ["git", "worktree", "add", "--quiet", "--detach", str(tree), revision], cwd=ROOT, check=True
    )
    try:
        yield tree
    finally:
        subprocess.run(["git", "worktree", "remove", "--force", str(tree)], cwd=ROOT, check=False)


class World:
    """AWS, GitHub and Claude on loopback, and one deployment's resources in it."""

    def __init__(self, folder: Path, template: Mapping[str, Any], around: ExitStack) -> None:
        self._folder = folder
        self.claude_called: float | None = None
        self.pid_file = folder / "pid"
        self._port = free_port()
        moto = subprocess.Popen(
            [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(self._port)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        around.callback(moto.wait)
        around.callback(moto.kill)
        claude = around.enter_context(FakeAnthropic(self._answer))
        github = around.enter_context(FakeGitHub(folder / "github", token="a-token"))
        github.create_repository("acme/ideas", {"README.md": "# Ideas"})
        await_port(self._port)
        self.token = uuid.uuid4().hex
        self.variables = self._create(template, claude.url, github.url)

    def _answer(self, request: JsonObject, index: int) -> Turn:
        if self.claude_called is None:
            self.claude_called = cpu_of(int(self.pid_file.read_text()))
        return answer(text(REPORT))

    def client(self, service: str) -> Any:
        connect: Any = boto3.client
        return connect(
            service,
            endpoint_url=f"http://127.0.0.1:{self._port}",
            region_name="us-east-1",
            aws_access_key_id="testing",
            aws_secret_access_key="testing",
        )

    def _create(
        self, template: Mapping[str, Any], claude_url: str, github_url: str
    ) -> dict[str, str]:
        declared = template["Resources"]["ExplorationsTable"]["Properties"]
        kept = ("AttributeDefinitions", "KeySchema", "GlobalSecondaryIndexes", "BillingMode")
        self.client("dynamodb").create_table(
            TableName="table", **{name: declared[name] for name in kept}
        )
        self.client("s3").create_bucket(Bucket="bucket")
        sqs = self.client("sqs")
        queues = [sqs.create_queue(QueueName=name)["QueueUrl"] for name in ("work", "dead")]
        record = make_token_record(self.token, "ada", now=datetime.now(UTC))
        secrets = {
            "anthropic": "sk-ant-a-key",
            "github": "a-token",
            "tokens": dump_tokens([record]),
        }
        for name, value in secrets.items():
            self.client("secretsmanager").create_secret(Name=name, SecretString=value)
        machine = self.client("stepfunctions").create_state_machine(
            name="machine",
            definition='{"StartAt": "A", "States": {"A": {"Type": "Succeed"}}}',
            roleArn="arn:aws:iam::123456789012:role/workflow",
        )
        return {
            "AWS_ACCESS_KEY_ID": "testing",
            "AWS_SECRET_ACCESS_KEY": "testing",
            "AWS_REGION": "us-east-1",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{self._port}",
            "TABLE_NAME": "table",
            "BUCKET_NAME": "bucket",
            "QUEUE_URL": queues[0],
            "DEAD_LETTER_QUEUE_URL": queues[1],
            "STATE_MACHINE_ARN": machine["stateMachineArn"],
            "NOTIFY_FUNCTION_NAME": "notify",
            "GITHUB_REPOSITORY": "acme/ideas",
            "GITHUB_SECRET_ID": "github",
            "GITHUB_API_URL": github_url,
            "ANTHROPIC_SECRET_ID": "anthropic",
            "ANTHROPIC_BASE_URL": claude_url,
            "API_TOKENS_SECRET_ID": "tokens",
            "IDEA_MODEL_PROVIDER": "anthropic",
            "POWERTOOLS_SERVICE_NAME": "idea-explorer",
            "POWERTOOLS_METRICS_NAMESPACE": "stack",
            "POWERTOOLS_LOG_LEVEL": "INFO",
        }

    def take_message(self) -> dict[str, Any]:
        sqs = self.client("sqs")
        (message,) = sqs.receive_message(QueueUrl=self.variables["QUEUE_URL"], WaitTimeSeconds=2)[
            "Messages"
        ]
        sqs.delete_message(
            QueueUrl=self.variables["QUEUE_URL"], ReceiptHandle=message["ReceiptHandle"]
        )
        return {"messageId": message["MessageId"], "body": message["Body"], "attributes": {}}


@dataclass
class Measured:
    revision: Revision
    world: World
    empty: Figures = field(default_factory=Figures)
    functions: dict[str, Figures] = field(
        default_factory=lambda: {function: Figures() for function in FUNCTIONS}
    )

    def least(self, function: str, kind: str) -> float:
        base = self.empty.init if kind == "init" else self.empty.total
        return float(min(getattr(self.functions[function], kind)) - min(base))


def start(package: Package, event: object, world: World, runtime: Path) -> dict[str, Any]:
    """Start a function for one event; what `AROUND` reports of it."""
    emulator, api = free_port(), free_port()
    path = [world.pid_file.parent / "around", package.code, package.opt / "python", runtime]
    world.pid_file.unlink(missing_ok=True)
    world.claude_called = None
    command = [
        str(EMULATOR),
        *("--runtime-interface-emulator-address", f"127.0.0.1:{emulator}"),
        *("--runtime-api-address", f"127.0.0.1:{api}"),
        *(PYTHON, "-S", "-m", "awslambdaric", "around.handler"),
    ]
    with (world.pid_file.parent / "functions.log").open("ab") as log:
        process = subprocess.Popen(
            command,
            cwd=package.code,
            env={
                "PATH": os.environ["PATH"],
                "HOME": str(world.pid_file.parent),
                "PYTHONPATH": os.pathsep.join(map(str, path)),
                "LAMBDA_TASK_ROOT": str(package.code),
                "AWS_LAMBDA_FUNCTION_TIMEOUT": "120",
                "AWS_LAMBDA_FUNCTION_NAME": "function",
                "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "1769",
                "PID_FILE": str(world.pid_file),
                **package.variables,
                **world.variables,
            },
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    try:
        await_port(emulator)
        connection = http.client.HTTPConnection("127.0.0.1", emulator, timeout=START_SECONDS)
        connection.request("POST", "/2015-03-31/functions/function/invocations", json.dumps(event))
        reported = json.loads(connection.getresponse().read())
    finally:
        os.killpg(process.pid, signal.SIGKILL)  # the emulator and the function
        process.wait()
    if "total" not in reported:
        sys.exit(f"{package.code.name} did not start: {json.dumps(reported)[:2_000]}")
    return dict(reported)


def cpu_of(pid: int) -> float:
    """CPU time of a process and the children it waited for, in ms."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) * 1_000 / os.sysconf("SC_CLK_TCK")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def await_port(port: int) -> None:
    until = time.monotonic() + START_SECONDS
    while True:
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=1):
                return
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.05)


def measure(revisions: Sequence[Revision], repeat: int, runtime: Path) -> list[Measured]:
    """The revisions take turns, so that whatever else the machine does slows down all of them."""
    with ExitStack() as stack:
        measured = []
        for revision in revisions:
            around = revision.folder / "around"
            around.mkdir()
            (around / "around.py").write_text(AROUND)
            measured.append(Measured(revision, World(revision.folder, revision.template, stack)))
        empty = revisions[0].folder / "empty"
        empty.mkdir()
        (empty / "app.py").write_text(EMPTY)
        nothing = Package(empty, empty, {}, 0, 0)
        start(nothing, {}, measured[0].world, runtime)  # writes bytecode
        for number in range(repeat):
            for each in measured:
                each.empty.add(start(nothing, {}, each.world, runtime))
                explore_once(each, runtime, f"Idea number {number}")
                print(".", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return measured


def explore_once(measured: Measured, runtime: Path, idea: str) -> None:
    """Send one exploration through all functions."""
    revision, world = measured.revision, measured.world

    def call(function: str, event: object) -> Any:
        reported = start(revision.packages[function], event, world, runtime)
        measured.functions[function].add(reported, world.claude_called)
        if (reported["error"] or "").partition(":")[0] not in {"", UNDELIVERED}:
            sys.exit(f"{function} of {revision.name} failed: {reported['error']}")
        return reported["answer"]

    call(
        "authorize",
        {
            "type": "TOKEN",
            "authorizationToken": f"Bearer {world.token}",
            "methodArn": "arn:aws:execute-api:us-east-1:123456789012:api/dev/POST/explorations",
        },
    )
    response = call("api", submission(idea))
    if response["statusCode"] != 202:
        sys.exit(f"The API of {revision.name} refused the exploration: {response['body']}")
    work = {"id": json.loads(response["body"])["id"], "run": 1}
    call("dispatch", {"Records": [world.take_message()]})
    call("explore", {**work, "deadline_seconds": 120})
    published = call("publish", work)
    if published["status"] != "completed":
        sys.exit(f"The exploration of {revision.name} ended as {published['status']}.")
    call("notify", work)


def submission(idea: str) -> dict[str, Any]:
    """A request as API Gateway hands it on."""
    body = {"idea": idea, "webhook_url": WEBHOOK}
    headers = {"Content-Type": "application/json", "Idempotency-Key": uuid.uuid4().hex}
    return {
        "resource": "/{proxy+}",
        "path": "/explorations",
        "httpMethod": "POST",
        "headers": headers,
        "multiValueHeaders": {name: [value] for name, value in headers.items()},
        "queryStringParameters": None,
        "multiValueQueryStringParameters": None,
        "pathParameters": {"proxy": "explorations"},
        "stageVariables": None,
        "requestContext": {
            "resourcePath": "/{proxy+}",
            "httpMethod": "POST",
            "path": "/dev/explorations",
            "stage": "dev",
            "accountId": "123456789012",
            "requestId": str(uuid.uuid4()),
            "identity": {"sourceIp": "127.0.0.1"},
            "authorizer": {"principalId": "ada", "owner": "ada"},
        },
        "body": json.dumps(body),
        "isBase64Encoded": False,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--before", help="a git revision to compare with")
    parser.add_argument("--repeat", type=int, default=3, help="starts of each function")
    options = parser.parse_args()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        runtime = lay_out_runtime(folder / "runtime")
        revisions: list[Revision] = []
        for name in [*([options.before] if options.before else []), WORKING_TREE]:
            place = folder / str(len(revisions))
            place.mkdir()
            tree = ROOT if name == WORKING_TREE else stack.enter_context(checked_out(name, place))
            print(f"Building {name}", file=sys.stderr)
            revisions.append(build(name, tree, place))
        report(measure(revisions, options.repeat, runtime))


def lay_out_runtime(folder: Path) -> Path:
    folder.mkdir()
    installed = Path(boto3.__file__).parents[1]
    for pattern in RUNTIME:
        for package in installed.glob(pattern):
            (folder / package.name).symlink_to(package)
    return folder


def report(measured: Sequence[Measured]) -> None:
    print(f"CPU ms of a cold start less an empty handler's, on {MACHINE}")
    for title, kind in (("init", "init"), ("init + first call", "total"), ("ready", "ready")):
        print(f"\n{title}")
        for function in FUNCTIONS if kind != "ready" else ("explore",):
            print_row(function, [each.least(function, kind) for each in measured], "ms")
    for title in ("unzipped", "zipped"):
        print(f"\nlayers, {title}")
        for function in FUNCTIONS:
            packages = [each.revision.packages[function] for each in measured]
            print_row(function, [getattr(package, title) / 1e6 for package in packages], "MB")


def print_row(name: str, values: Sequence[float], unit: str) -> None:
    row = f"  {name:<10}" + "".join(f"{value:>10.1f} {unit}" for value in values)
    print(f"{row}{values[-1] / values[0]:>8.2f}" if len(values) > 1 else row, flush=True)


if __name__ == "__main__":
    main()
