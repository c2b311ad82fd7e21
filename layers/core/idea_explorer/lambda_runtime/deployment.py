"""The dependencies of the functions, built from their environment.

Under `sam local` there is no deployment: the same functions then use the stores of a machine.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from idea_explorer.domain.exploration import Exploration
from idea_explorer.lambda_runtime.handlers import log, request_id
from idea_explorer.settings import Settings
from idea_explorer.usecases.deps import Deps
from idea_explorer.wiring.deps import cloud_deps, server_deps

if TYPE_CHECKING:
    from idea_explorer.ports import EventSink
    from idea_explorer.usecases.engine import Engine

START_SECONDS = 3.0  # a cold start, while the Task's timeout runs: the run must end before it
EMBEDDED = Path(tempfile.gettempdir()) / "idea-explorer"  # all that Lambda lets a function write to

UNREACHABLE = (
    "github_secret_id",
    "anthropic_secret_id",
    "qdrant_secret_id",
    "tidal_secret_id",
    "model_provider",
    "webhook_url",  # its messages could not be signed
    "webhook_secret_id",
)


@cache
def settings() -> Settings:
    found = Settings.from_environment(os.environ)
    return _embedded(found) if found.sam_local else found


def _embedded(found: Settings) -> Settings:
    """The settings without a deployment's secrets. Keys in the environment are still used."""
    EMBEDDED.mkdir(exist_ok=True)
    return found.model_copy(update={"research_dir": EMBEDDED, **dict.fromkeys(UNREACHABLE)})


@cache
def deps() -> Deps:
    build = cloud_deps if settings().in_cloud else server_deps
    built = build(settings(), log())

    def engine() -> Engine:
        return replace(built.engine(), start_seconds=START_SECONDS)

    return replace(built, sinks_for=_sinks_for, engine=engine)


def approval_seconds() -> int:
    """How long the workflow waits for a person."""
    return max(1, round(settings().approval_days * 86_400))


def _sinks_for(exploration: Exploration) -> Sequence[EventSink]:
    from idea_explorer.observability.log_sink import LogSink
    from idea_explorer.observability.metrics import MetricSink

    metrics = MetricSink(exploration, deps().clock, request_id())
    return [LogSink(log(), exploration), metrics]
