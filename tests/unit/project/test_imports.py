"""What a function loads when it starts, and that its layers have it. docs/adr/0012 says why."""

import subprocess
import sys
from functools import cache

import pytest

from tests.e2e.harness.template import ROOT

FUNCTIONS = ["api", "follow", "authorize", "dispatch", "explore", "publish", "notify"]
# The model's client, HTTP clients, the AWS SDK and tools are loaded by the calls that use them.
HEAVY = (
    *(
        "anthropic",
        "httpx",
        "httpx2",
        "boto3",
        "botocore.session",
        "asyncio",
        "idea_explorer.tools",
    ),
    *("aws_xray_sdk", "rich", "numpy", "bs4", "opentelemetry", "pypdfium2"),
    "aws_lambda_powertools.utilities.batch",  # docs/adr/0009
    "aws_lambda_powertools.event_handler",
    "aws_lambda_powertools.utilities.data_classes",
)
# Packages of one layer only.
OF_LAYERS = {
    "explore": ("anthropic", "re2", "tree_sitter"),
    "api": ("markdown_it", "nh3"),
}
ENVIRONMENT = {
    "POWERTOOLS_SERVICE_NAME": "test",
    "TABLE_NAME": "table",
    "BUCKET_NAME": "bucket",
    "API_TOKENS_SECRET_ID": "tokens",
    "PATH": "",
}


@cache
def loaded_by(function: str) -> frozenset[str]:
    ran = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", "import app"],
        cwd=ROOT / "functions" / function,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=True,
    )
    return frozenset(line.rpartition("|")[2].strip() for line in ran.stderr.splitlines())


def found(loaded: frozenset[str], packages: tuple[str, ...]) -> list[str]:
    within = tuple(f"{package}." for package in packages)
    return [name for name in loaded if name in packages or name.startswith(within)]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_function_starts_without_what_only_some_calls_use(function: str) -> None:
    loaded = loaded_by(function)

    assert "idea_explorer.lambda_runtime" in loaded
    assert found(loaded, HEAVY) == []
    others = [OF_LAYERS[name] for name in OF_LAYERS if name != function]
    assert found(loaded, tuple(package for packages in others for package in packages)) == []


def test_the_authorizer_starts_without_pydantic_and_powertools() -> None:
    assert found(loaded_by("authorize"), ("pydantic", "aws_lambda_powertools", "botocore")) == []


@pytest.mark.parametrize("function", ["dispatch", "notify"])
def test_a_function_that_runs_no_model_loads_nothing_of_the_agent(function: str) -> None:
    assert (
        found(loaded_by(function), ("idea_explorer.agent", "idea_explorer.domain.transcript")) == []
    )
