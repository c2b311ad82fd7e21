"""Every command of the runbook, run in a shell as it stands there, against AWS by moto.

`aws` and `idea` of that shell are answered here. Of what moto lacks, and of commands that other tests run,
only the options are checked.
"""

import io
import json
import os
import re
import socketserver
import subprocess
import sys
import threading
import zipfile
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from idea_explorer.adapters.aws import dead_letters
from idea_explorer.adapters.aws.client import client
from idea_explorer.cli import main
from idea_explorer.cli.parser import build_parser
from idea_explorer.observability.logging import SilentLog
from idea_explorer.settings import Settings
from idea_explorer.wiring.deps import cloud_deps
from tests.fakes.aws_cli import AwsCli
from tests.fakes.explorations import an_exploration
from tests.fakes.stack import name_stack

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[3]
RUNBOOK = (ROOT / "docs" / "runbook.md").read_text("utf-8")
STACK = "idea-explorer-prod"
SECRETS = ["GitHub", "Anthropic", "Webhook", "ApiTokens", "Qdrant", "Tidal"]
# Names whatever is run by its last argument to the test, and prints what it says.
SHIM = """#!{python}
import json, os, socket, sys
call = [os.path.basename(sys.argv[0]), *sys.argv[1:]]
words = "" if sys.stdin.isatty() or call[0] != "idea" or "set" not in call else sys.stdin.read()
with socket.create_connection(("127.0.0.1", {port})) as peer:
    peer.sendall(json.dumps({{"call": call, "stdin": words}}).encode() + b"\\n")
    answer = json.loads(peer.makefile().read())
sys.stdout.write(answer["stdout"])
sys.stderr.write(answer["stderr"])
sys.exit(answer["code"])
"""


def blocks_of(section: str) -> list[str]:
    """The scripts of a section, up to the next heading of any level."""
    (text,) = re.findall(rf"^#+ {section}\n(.*?)(?=^#|\Z)", _without_comments(), re.M | re.S)
    return re.findall(r"^```sh\n(.*?)^```", text, re.M | re.S)


def _without_comments() -> str:
    assert not re.search(r"^#[^# ]", RUNBOOK, re.M)
    return RUNBOOK


def sections() -> list[str]:
    headings = re.findall(r"^#+ (.+)$", RUNBOOK, re.M)
    return [heading for heading in headings if blocks_of(heading)]


class Deployment:
    """A stack's parts in moto, and a shell in which an operator works on it."""

    def __init__(self, settings: Settings, folder: Path) -> None:
        self.settings = settings
        self.stores = cloud_deps(settings, SilentLog())
        self.aws = AwsCli(client, only_checked=["cancel_update_stack"])
        self.other: list[list[str]] = []
        self._folder = folder
        self._create()

    def _create(self) -> None:
        settings = self.settings
        assert settings.table_name is not None
        assert settings.bucket_name is not None
        client("s3").put_bucket_versioning(
            Bucket=settings.bucket_name, VersioningConfiguration={"Status": "Enabled"}
        )
        failed_calls = client("sqs").create_queue(QueueName="failed-calls")["QueueUrl"]
        outputs = {f"{name}SecretId": name.lower() for name in SECRETS}
        for name in outputs.values():
            client("secretsmanager").create_secret(Name=name)
        name_stack(
            STACK,
            ApiUrl="https://api.example.com/prod",
            TableName=settings.table_name,
            BucketName=settings.bucket_name,
            QueueUrl=str(settings.queue_url),
            DeadLetterQueueUrl=str(settings.dead_letter_queue_url),
            FailedCallsQueueUrl=failed_calls,
            **outputs,
        )

    def add_function(self, name: str, versions: int) -> None:
        """A function with an alias that points at the newest of its versions."""
        role = client("iam").create_role(
            RoleName=name, AssumeRolePolicyDocument="{}", Path="/tests/"
        )["Role"]["Arn"]
        functions = client("lambda")
        for number in range(versions):
            code = {"ZipFile": _zipped(f"number = {number}")}
            if number == 0:
                functions.create_function(
                    FunctionName=name, Role=role, Code=code, Runtime="python3.13", Handler="app.h"
                )
            else:
                functions.update_function_code(FunctionName=name, **code)
            functions.publish_version(FunctionName=name)
        functions.create_alias(FunctionName=name, Name="live", FunctionVersion=str(versions))

    def shell(self, script: str, **variables: str) -> str:
        """Run a script after the one that sets the shell up; it has to succeed."""
        setup, _ = blocks_of("Runbook")
        with self._answering() as path:
            done = subprocess.run(
                ["bash", "-euo", "pipefail", "-c", f"{setup}\nexport PATH={path}:$PATH\n{script}"],
                capture_output=True,
                text=True,
                cwd=ROOT,
                check=False,
                timeout=600,
                env={"PATH": os.environ["PATH"], "HOME": str(self._folder), **variables},
            )
        assert done.returncode == 0, f"{script}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def _answering(self) -> Any:
        return _Answering(self._answer, self._folder)

    def _answer(self, program: str, arguments: list[str], stdin: str) -> str:
        if program == "aws":
            return self.aws.run(arguments)
        if program == "idea":
            return self._idea(arguments, stdin)
        if program == "python" and arguments[:2] == ["-m", "scripts.restore_table"]:
            return _restore_table(arguments[2:])
        self.other.append([program, *arguments])
        return ""

    def _idea(self, arguments: list[str], stdin: str) -> str:
        build_parser().parse_args(arguments)
        if arguments[0] != "admin":
            self.other.append(["idea", *arguments])
            return ""
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("IDEA_STACK", STACK)
            patch.setattr(sys, "stdin", io.StringIO(stdin))
            said, failed = io.StringIO(), io.StringIO()
            with redirect_stdout(said), redirect_stderr(failed):
                code = main(arguments)
        assert code == 0, failed.getvalue()
        return said.getvalue()


def _restore_table(arguments: list[str]) -> str:
    from scripts import restore_table

    said = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(said), redirect_stderr(said):
        patch.setattr(sys, "argv", ["restore_table", *arguments])
        code = restore_table.main()
    assert code == 0, said.getvalue()
    return said.getvalue()


def _zipped(text: str) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("app.py", text)
    return packed.getvalue()


class _Answering:
    """A folder with programs whose calls are answered in this process, where moto is."""

    def __init__(self, answer: Callable[[str, list[str], str], str], folder: Path) -> None:
        self._answer = answer
        self._folder = folder / "bin"

    def __enter__(self) -> Path:
        answer = self._answer

        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                asked = json.loads(self.rfile.readline())
                program, *arguments = asked["call"]
                try:
                    said = {
                        "stdout": answer(program, arguments, asked["stdin"]),
                        "stderr": "",
                        "code": 0,
                    }
                except Exception as error:  # noqa: BLE001  the shell is told, and fails
                    said = {"stdout": "", "stderr": f"{type(error).__name__}: {error}", "code": 1}
                self.wfile.write(json.dumps(said).encode())

        self._server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self._folder.mkdir(exist_ok=True)
        port = self._server.server_address[1]
        for program in ("aws", "curl", "idea", "make", "python"):
            file = self._folder / program
            file.write_text(SHIM.format(python=sys.executable, port=port))
            file.chmod(0o755)
        return self._folder

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def deployment(aws: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Deployment:
    monkeypatch.setattr(dead_letters, "WAIT_SECONDS", 0)  # moto has but one server to ask
    return Deployment(aws, tmp_path)


def test_these_are_all_sections_with_commands() -> None:
    """Each has a test below that runs its commands."""
    assert sections() == [
        "Runbook",
        "Stop and start",
        "DeadLettersAlarm",
        "ThrottlesAlarm",
        "Release and roll back",
        "Restore the table",
        "Restore a file",
        "Rotate keys and tokens",
        "Delete",
        "Streams of events",
        "Music discovery",
    ]


def test_commands_on_explorations_call_the_stacks_api(deployment: Deployment) -> None:
    _, api = blocks_of("Runbook")

    assert deployment.shell(f"{api}\nenv").count("IDEA_API_URL=https://api.example.com/prod\n") == 1


def test_the_stop_button_stops_starts_and_messages(deployment: Deployment) -> None:
    pause, unpause, disable = blocks_of("Stop and start")
    deployment.add_function(f"{STACK}-dispatch", 1)
    queue = "arn:aws:sqs:eu-central-1:123456789012:work"
    source = client("lambda").create_event_source_mapping(
        FunctionName=f"{STACK}-dispatch", EventSourceArn=queue, Enabled=True
    )["UUID"]

    deployment.shell(pause)
    assert deployment.stores.admission.slots().paused
    deployment.shell(unpause)
    assert not deployment.stores.admission.slots().paused
    deployment.shell(disable)
    assert client("lambda").get_event_source_mapping(UUID=source)["State"] == "Disabled"


def test_dead_letters_of_dispatch_are_listed_and_sent_again(deployment: Deployment) -> None:
    show, retry = blocks_of("DeadLettersAlarm")
    deployment.stores.queue().dead_letter('{"id": "x", "run": 1}', "It could not be started.")

    assert "It could not be started." in deployment.shell(show)
    assert "Sent 1 dead letter again." in deployment.shell(retry)
    sent = client("sqs").receive_message(QueueUrl=deployment.settings.queue_url)["Messages"]
    assert [message["Body"] for message in sent] == ['{"id": "x", "run": 1}']
    assert "nothing" in deployment.shell(show)


def test_the_limit_of_the_account_is_shown(deployment: Deployment) -> None:
    (show,) = blocks_of("ThrottlesAlarm")
    deployment.aws = AwsCli(client, only_checked=["get_account_settings"])

    deployment.shell(show)

    assert deployment.aws.called == ["lambda get-account-settings"]


def test_a_release_is_taken_back(deployment: Deployment) -> None:
    cancel, go_back = blocks_of("Release and roll back")
    deployment.add_function(f"{STACK}-api", versions=3)

    deployment.shell(cancel)
    deployment.shell(go_back)

    alias = client("lambda").get_alias(FunctionName=f"{STACK}-api", Name="live")
    assert alias["FunctionVersion"] == "2"


def test_the_table_is_restored_to_what_it_was(deployment: Deployment) -> None:
    copy, bring_back = blocks_of("Restore the table")
    explorations = deployment.stores.explorations
    kept, damaged = an_exploration(), an_exploration()
    for exploration in (kept, damaged):
        assert explorations.create(exploration)
    before = explorations.load(damaged.id)

    deployment.shell(copy, WHEN="2026-11-17T09:00:00+00:00")
    explorations.take_over(damaged.id, lambda e: e.replace(title="Overwritten by mistake"))
    later = an_exploration()
    assert explorations.create(later)
    said = deployment.shell(bring_back)

    assert explorations.load(damaged.id) == before
    assert explorations.load(kept.id) == kept
    table = client("dynamodb")
    assert table.list_tables()["TableNames"] == [deployment.settings.table_name]
    assert re.search(r"Would write \d+ items and delete \d+\.\nWrote", said)
    assert not deployment.stores.admission.slots().paused
    found = table.scan(TableName=deployment.settings.table_name)["Items"]
    assert later.id not in {item["pk"]["S"] for item in found}


def test_a_table_is_not_restored_under_running_explorations(deployment: Deployment) -> None:
    with pytest.raises(AssertionError, match="is not paused"):
        _restore_table([STACK, str(deployment.settings.table_name), "--write"])


def test_a_file_is_brought_back_in_its_first_version(deployment: Deployment) -> None:
    (restore,) = blocks_of("Restore a file")
    bucket, key = deployment.settings.bucket_name, "explorations/x/report.md"
    for text in (b"# The report", b"# Overwritten"):
        client("s3").put_object(Bucket=bucket, Key=key, Body=text)
    client("s3").delete_object(Bucket=bucket, Key=key)

    deployment.shell(restore, KEY=key)

    assert client("s3").get_object(Bucket=bucket, Key=key)["Body"].read() == b"# The report"


def test_keys_and_tokens_are_rotated(deployment: Deployment) -> None:
    keys, tokens, webhook, back = blocks_of("Rotate keys and tokens")
    secrets = client("secretsmanager")

    def value_of(name: str) -> str:
        return str(secrets.get_secret_value(SecretId=name)["SecretString"])

    secrets.put_secret_value(SecretId="github", SecretString="old-token")
    deployment.shell("idea admin token add ada")
    deployment.shell(keys, NEW_GITHUB_TOKEN="new-token", NEW_ANTHROPIC_KEY="new-key")
    assert (value_of("github"), value_of("anthropic")) == ("new-token", "new-key")
    deployment.shell(tokens)
    assert len(json.loads(value_of("apitokens"))) == 1
    deployment.shell(webhook, NEW_WEBHOOK_SECRET="new-secret")
    assert value_of("webhook") == "new-secret"
    deployment.shell(back)
    assert value_of("github") == "old-token"


def test_what_a_deleted_stack_leaves_behind_is_deleted_with_all_its_versions(
    deployment: Deployment,
) -> None:
    note, delete = blocks_of("Delete")
    bucket = deployment.settings.bucket_name
    for _ in range(2):
        client("s3").put_object(Bucket=bucket, Key="explorations/x/report.md", Body=b"# Report")
    client("s3").delete_object(Bucket=bucket, Key="explorations/x/report.md")

    deployment.shell(note + delete)

    assert client("s3").list_buckets()["Buckets"] == []
    assert client("dynamodb").list_tables()["TableNames"] == []


def test_a_stream_is_looked_at_and_streams_are_switched_off(deployment: Deployment) -> None:
    look, switch_off = blocks_of("Streams of events")

    api = {"IDEA_API_URL": "https://api.example.com/prod", "IDEA_API_TOKEN": "t", "ID": "1"}
    deployment.shell(f"{look}\n{switch_off}", **api)

    curl, make = deployment.other
    assert curl[-1] == "https://api.example.com/prod/explorations/1/events"
    assert make == ["make", "deploy", f"STACK={STACK}", "PARAMETERS=MaxStreams=0"]


def test_music_is_set_up(deployment: Deployment) -> None:
    (set_up,) = blocks_of("Music discovery")

    deployment.shell(
        set_up,
        QDRANT_URL="https://q.example",
        QDRANT_API_KEY="k",
        TIDAL_ID="i",
        TIDAL_SECRET="s",
    )

    assert [call[:2] for call in deployment.other] == [
        ["make", "deploy"],
        ["idea", "index"],
        ["idea", "library"],
    ]
    tidal = client("secretsmanager").get_secret_value(SecretId="tidal")["SecretString"]
    assert json.loads(tidal) == {"client_id": "i", "client_secret": "s"}
