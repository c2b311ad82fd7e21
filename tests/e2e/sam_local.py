"""`make invoke` and `make local-api` in containers, once without a key and once with a scripted Claude.

    python -m tests.e2e.sam_local

Uses Docker where it runs. Elsewhere, on Debian and as root, it sets up podman with a stand-in for Lambda's
image, in .aws-sam/engine.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

import docker
import httpx

from tests.e2e.harness.template import ROOT
from tests.fakes.anthropic_server import FakeAnthropic
from tests.fakes.anthropic_turns import answer, text
from tests.fakes.reports import business

ENGINE = ROOT / ".aws-sam" / "engine"
START_SECONDS = 600.0  # to install packages and to make an image
RUN_SECONDS = 300.0
STOP_SECONDS = 60.0
KEY = "sk-ant-a-key-for-tests"
REPORT = "A market that the scripted model found."


@contextmanager
def container_engine() -> Iterator[dict[str, str]]:
    """Variables with which `make` finds a container engine."""
    if (
        subprocess.run(
            [ROOT / "scripts" / "container-engine"], capture_output=True, check=False
        ).returncode
        == 0
    ):
        yield {}
        return
    with _process([ROOT / "scripts" / "stand-in-engine", ENGINE, sys.executable], {}):
        variables = {"DOCKER_HOST": f"unix://{ENGINE}/docker.sock", "FLAGS": "--skip-pull-image"}
        _wait_for(lambda: _engine_answers(variables["DOCKER_HOST"]), START_SECONDS)
        yield variables


def _engine_answers(url: str) -> bool:
    try:
        return bool(docker.DockerClient(url).ping())
    except docker.errors.DockerException:
        return False


def host_address(variables: Mapping[str, str]) -> str:
    """This machine as its containers reach it."""
    if sys.platform != "linux":
        return "host.docker.internal"
    client = docker.from_env(environment={**os.environ, **variables})
    network = next(n for n in client.networks.list() if n.name in {"bridge", "podman"})
    return str(network.attrs["IPAM"]["Config"][0]["Gateway"])


def show_invoke(variables: Mapping[str, str]) -> str:
    """Run an exploration in a container; returns the report that it left on this machine."""
    with tempfile.TemporaryDirectory() as reports:
        subprocess.run(
            ["make", "invoke", f"REPORTS={reports}"],
            cwd=ROOT,
            env={**os.environ, **variables},
            check=True,
            timeout=START_SECONDS,
        )
        (report,) = Path(reports).rglob("*.md")
        return report.read_text("utf-8")


def show_api(variables: Mapping[str, str]) -> str:
    """Submit an idea to the API in its container, follow it, and read its report."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    with _process(["make", "local-api", f"PORT={port}"], variables):
        _wait_for(lambda: _api_answers(url), START_SECONDS)
        headers = {"Authorization": "Bearer local"}
        with httpx.Client(base_url=url, headers=headers, timeout=RUN_SECONDS) as client:
            refused = client.get("/explorations", headers={"Authorization": "Bearer nobody"})
            # API Gateway answers 401 to an authorizer's "Unauthorized"; SAM CLI answers 502
            _check(refused.status_code == 502, f"an unknown token got {refused.status_code}")
            submitted = client.post("/explorations", json={"idea": "Urban bees"})
            _check(submitted.status_code == 202, submitted.text)
            path = f"/explorations/{submitted.json()['id']}"
            _wait_for(lambda: client.get(path).json()["status"] == "completed", RUN_SECONDS)
            return client.get(f"{path}/report").text


def _api_answers(url: str) -> bool:
    try:
        return httpx.get(f"{url}/health", timeout=RUN_SECONDS).status_code == 200
    except httpx.HTTPError:
        return False


@contextmanager
def _process(command: list[str | Path], variables: Mapping[str, str]) -> Iterator[None]:
    """A process in a group of its own, which is ended with all that it started."""
    started = subprocess.Popen(
        command, cwd=ROOT, env={**os.environ, **variables}, start_new_session=True
    )
    try:
        yield
    finally:
        os.killpg(started.pid, signal.SIGTERM)
        started.wait()
        _wait_for(lambda: not _has_processes(started.pid), STOP_SECONDS)  # they remove containers


def _has_processes(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def _wait_for(holds: Callable[[], bool], seconds: float) -> None:
    end = time.monotonic() + seconds
    while not holds():
        _check(time.monotonic() < end, "it took too long")
        time.sleep(1.0)


def _check(holds: bool, otherwise: str) -> None:
    if not holds:
        raise SystemExit(f"sam local: {otherwise}")


def main() -> None:
    with ExitStack() as stack:
        variables = {**stack.enter_context(container_engine())}
        offline = {
            **variables,
            "ANTHROPIC_API_KEY": "",
            "GITHUB_TOKEN": "",
            "SAM_CLI_CONTAINER_CONNECTION_TIMEOUT": "120",
        }
        _check("Offline run" in show_invoke(offline), "no offline report")
        claude = stack.enter_context(
            FakeAnthropic(
                [answer(text(business("Urban bees", said=REPORT)))],
                repeat_last=True,
                expected_key=KEY,
                host="0.0.0.0",
            )
        )
        with_key = {
            **offline,
            "ANTHROPIC_API_KEY": KEY,
            "ANTHROPIC_BASE_URL": claude.url.replace("0.0.0.0", host_address(variables)),
        }
        _check(REPORT in show_invoke(with_key), "not Claude's report")
        invoked = len(claude.requests)
        _check(REPORT in show_api(with_key), "not Claude's report from the API")
        requests = {"invoke": invoked, "API": len(claude.requests) - invoked}
        _check(min(requests.values()) > 0 and not claude.rejections, json.dumps(claude.rejections))
        print(f"Requests to the scripted Claude: {json.dumps(requests)}")


if __name__ == "__main__":
    main()
