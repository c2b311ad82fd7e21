"""`idea explore` as a program, with and without somewhere to send its spans."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.fakes.command import Done, idea
from tests.fakes.otlp_collector import FakeCollector

IDEA = "A subscription box for urban beekeepers"
RUN = "import sys; from idea_explorer.cli import main; main(sys.argv[1:]);"
LOADED = f"{RUN}print(*{{name.partition('.')[0] for name in sys.modules}}, file=sys.stderr)"


def explore(folder: Path, **env: str) -> Done:
    """Runs the offline model."""
    return idea("explore", IDEA, "--json", env=env, folder=folder)


def fresh(
    code: str, *arguments: str, folder: Path, env: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    """With an interpreter of its own; LOADED makes it name in its last line what it has loaded."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    coverage = {k: v for k, v in os.environ.items() if k.startswith("COV")}
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env={**kept, **coverage, **env},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_an_offline_run_without_an_endpoint_loads_no_client(tmp_path: Path) -> None:
    done = fresh(LOADED, "explore", IDEA, "--json", folder=tmp_path, env={})
    assert json.loads(done.stdout)["status"] == "completed"
    loaded = set(done.stderr.splitlines()[-1].split())
    assert "idea_explorer" in loaded
    assert not {"opentelemetry", "anthropic", "boto3", "httpx"} & loaded


def test_a_run_arrives_whole_before_the_program_ends(tmp_path: Path) -> None:
    with FakeCollector() as collector:
        done = explore(
            tmp_path,
            OTEL_EXPORTER_OTLP_ENDPOINT=collector.url,
            OTEL_EXPORTER_OTLP_HEADERS="Authorization=Basic%20cGs6c2s=",
        )
    assert json.loads(done.stdout)["status"] == "completed"
    assert collector.names.count("invoke_agent idea-explorer") == 1
    assert collector.names.count("chat offline") == json.loads(done.stdout)["stats"]["steps"]
    assert {export.path for export in collector.exports} == {"/v1/traces"}
    assert {export.headers["authorization"] for export in collector.exports} == {"Basic cGs6c2s="}
    assert collector.services == {"idea-explorer"}
    assert not any(b"beekeepers" in spans.SerializeToString() for spans in collector.sent)


def test_the_environment_names_the_service_and_asks_for_contents(tmp_path: Path) -> None:
    with FakeCollector() as collector:
        explore(
            tmp_path,
            OTEL_EXPORTER_OTLP_ENDPOINT=collector.url,
            OTEL_SERVICE_NAME="ideas-of-acme",
            IDEA_TRACE_CONTENT="1",
        )
    assert collector.services == {"ideas-of-acme"}
    assert any(b"beekeepers" in spans.SerializeToString() for spans in collector.sent)


@pytest.mark.long
def test_a_collector_that_is_not_there_fails_no_run(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound, not listening: connections are refused
        port = taken.getsockname()[1]
        done = explore(tmp_path, OTEL_EXPORTER_OTLP_ENDPOINT=f"http://127.0.0.1:{port}")
    assert json.loads(done.stdout)["status"] == "completed"


# As in an installation without the extra.
BARE = "import sys; sys.modules['opentelemetry.sdk'] = None;"
ENDPOINT = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://user:hidden@collector.test:4318"}


def test_an_endpoint_without_the_extra_is_said_and_the_run_goes_on(tmp_path: Path) -> None:
    done = fresh(BARE + LOADED, "explore", IDEA, "--json", folder=tmp_path, env=ENDPOINT)
    assert json.loads(done.stdout)["status"] == "completed"
    assert "spans_not_exported" in done.stderr


def test_doctor_says_where_spans_go_and_no_password(tmp_path: Path) -> None:
    said = idea("doctor", env=ENDPOINT, folder=tmp_path).stdout
    assert "exported to collector.test, without contents" in said
    assert "hidden" not in said
