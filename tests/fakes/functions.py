"""Handlers of the functions in this process, with a deployment's settings in the environment."""

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from idea_explorer.lambda_runtime import deployment
from idea_explorer.settings import Settings
from tests.fakes.settings import VARIABLES

FUNCTIONS = Path(__file__).parents[2] / "functions"


@dataclass
class Context:
    """What Lambda tells a handler of itself."""

    function_name: str = "explore"
    memory_limit_in_mb: int = 512
    invoked_function_arn: str = "arn:aws:lambda:us-east-1:123456789012:function:explore"
    aws_request_id: str = "a-request"
    seconds: float = 28.0

    def get_remaining_time_in_millis(self) -> int:
        return int(self.seconds * 1_000)


def set_environment(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    given = settings.model_dump(exclude_defaults=True)
    for name, field in VARIABLES.items():
        if field in given:
            monkeypatch.setenv(name, str(given[field]))
    monkeypatch.setenv("POWERTOOLS_METRICS_NAMESPACE", "stack")
    deployment.settings.cache_clear()
    deployment.deps.cache_clear()


def handler_of(function: str) -> Callable[[Any, Any], Any]:
    spec = importlib.util.spec_from_file_location(
        f"function_{function}", FUNCTIONS / function / "app.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found: Callable[[Any, Any], Any] = module.handler
    return found
