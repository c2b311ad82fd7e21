"""The dependencies of the functions, built from their environment.

Under `sam local` there is no deployment: the same functions then use the stores of a machine.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from idea_explorer.domain.errors import MissingError
from idea_explorer.domain.exploration import Exploration
from idea_explorer.lambda_runtime import sam_local
from idea_explorer.lambda_runtime.handlers import Work, log, request_id
from idea_explorer.settings import Settings
from idea_explorer.usecases.deps import Deps
from idea_explorer.wiring.deps import cloud_deps, server_deps
from idea_explorer.wiring.local import local_queue

if TYPE_CHECKING:
    from idea_explorer.ports import EventSink

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
OF_A_MACHINE = ("anthropic_api_key", "github_token")  # the template declares them for `sam local`


@cache
def settings() -> Settings:
    """In a deployment keys come from its secrets alone: variables are readable by whoever may list them."""
    found = Settings.from_environment(os.environ)
    if found.sam_local:
        return _embedded(found)
    return found.model_copy(update=dict.fromkeys(OF_A_MACHINE)) if found.in_cloud else found


def _embedded(found: Settings) -> Settings:
    """The settings without a deployment's secrets. Keys in the environment are still used."""
    EMBEDDED.mkdir(exist_ok=True)
    return found.model_copy(update={"research_dir": EMBEDDED, **dict.fromkeys(UNREACHABLE)})


@cache
def deps() -> Deps:
    build = cloud_deps if settings().in_cloud else server_deps
    built = replace(build(settings(), log()), sinks_for=_sinks_for)
    return sam_local.replace_services(built, log()) if settings().sam_local else built


def prepare(work: Work, bring: Callable[[Work, Deps], None]) -> None:
    """Under `sam local`, make the exploration that an event names, and bring it to where the event comes."""
    if not settings().sam_local:
        return
    try:
        deps().explorations.load(work.id)
    except MissingError:
        bring(work, deps())


def start_workers() -> None:
    """Under `sam local`, work the queue here."""
    if settings().sam_local:
        sam_local.start_workers(deps(), local_queue(settings()))


def approval_seconds() -> int:
    """How long the workflow waits for a person."""
    return max(1, round(settings().approval_days * 86_400))


def _sinks_for(exploration: Exploration) -> Sequence[EventSink]:
    from idea_explorer.observability.log_sink import LogSink
    from idea_explorer.observability.metrics import MetricSink

    metrics = MetricSink(exploration, deps().clock, request_id())
    return [LogSink(log(), exploration), metrics]
