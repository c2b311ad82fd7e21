"""What a function loads when it starts. Anthropic's client alone takes longer than all the rest."""

import subprocess
import sys

import pytest

from tests.e2e.harness.template import ROOT

HEAVY = (
    *("anthropic", "httpx", "httpx2", "idea_explorer.tools", "rich", "numpy", "bs4"),
    "aws_lambda_powertools.utilities.batch",  # docs/adr/0009
)


def loaded_by(function: str) -> set[str]:
    ran = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", "import app"],
        cwd=ROOT / "functions" / function,
        env={"POWERTOOLS_SERVICE_NAME": "test", "PATH": ""},
        capture_output=True,
        text=True,
        check=True,
    )
    return {line.rpartition("|")[2].strip() for line in ran.stderr.splitlines()}


@pytest.mark.parametrize("function", ["dispatch", "explore", "publish", "notify"])
def test_starting_a_function_loads_neither_model_nor_http_nor_tools(function: str) -> None:
    loaded = loaded_by(function)

    assert "idea_explorer.lambda_runtime.handlers" in loaded
    assert not [
        name for name in loaded if name in HEAVY or name.startswith(tuple(f"{h}." for h in HEAVY))
    ]
