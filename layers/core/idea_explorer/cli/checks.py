"""The checks of `idea doctor`. They call what is configured, for seconds at most, and change nothing."""

import importlib.util
import math
import platform
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias
from urllib.parse import urlsplit

import httpx

from idea_explorer import __version__
from idea_explorer.agent.minimum import minimum_to_research
from idea_explorer.cli.arguments import missing_github_variable
from idea_explorer.cli.targets.client import ApiClient
from idea_explorer.domain.errors import ExplorerError
from idea_explorer.domain.paths import READABLE, RESEARCH_ROOT
from idea_explorer.domain.request import ExploreRequest
from idea_explorer.domain.text import pluralize
from idea_explorer.domain.usage import Usage
from idea_explorer.settings import Settings
from idea_explorer.wiring import music, publishing
from idea_explorer.wiring.engine import claude
from idea_explorer.wiring.local import system_clock
from idea_explorer.wiring.toolsets import folder_layout, research_repository

State = Literal["ok", "note", "problem"]
ANTHROPIC = "https://api.anthropic.com"
SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class CheckResult:
    state: State
    subject: str
    text: str
    fix: str = ""


Check: TypeAlias = Callable[[Settings, Mapping[str, str]], Iterator[CheckResult]]


def _check_program(_settings: Settings, _environment: Mapping[str, str]) -> Iterator[CheckResult]:
    yield CheckResult("ok", "idea", f"version {__version__} on Python {platform.python_version()}")


def _check_model(settings: Settings, _environment: Mapping[str, str]) -> Iterator[CheckResult]:
    if settings.provider == "offline":
        chosen = settings.model_provider is not None
        why = "set by IDEA_MODEL_PROVIDER" if chosen else "because ANTHROPIC_API_KEY is not set"
        fix = "unset IDEA_MODEL_PROVIDER" if chosen else "export ANTHROPIC_API_KEY=…"
        text = f"the offline model, {why}; it runs every step but does no research"
        yield CheckResult("note", "model", text, fix)
        return
    check = _check_aws_account if settings.provider == "aws" else _check_api_key
    if problem := check(settings):
        yield problem
        return
    at = f" at {settings.anthropic_base_url}" if settings.anthropic_base_url else ""
    if settings.provider == "aws":
        at = f" on AWS in {settings.aws_region}, workspace {settings.anthropic_workspace_id}"
    models = ", ".join(f"{name} is {model}" for name, model in settings.models.items())
    unpriced = [model for model in settings.models.values() if model not in settings.prices]
    if unpriced:
        yield CheckResult(
            "note",
            "model",
            f"Claude{at}; the price of {', '.join(unpriced)} is not known, so neither is the cost,"
            f" and a run may use {settings.max_total_tokens:,} tokens",
            'export IDEA_PRICES=\'{"MODEL": {"input": …, "output": …, "cache_write": …, "cache_read": …}}\'',
        )
    else:
        yield CheckResult("ok", "model", f"Claude{at}: {models}")


def _check_budget(settings: Settings, _environment: Mapping[str, str]) -> Iterator[CheckResult]:
    """The limit, and the models for which it is below the price of a first search: those are refused."""
    if not settings.uses_claude:
        return
    usd = settings.max_cost_usd
    text = f"an exploration may cost ${usd:.2f} if its request sets no limit (IDEA_MAX_COST_USD)"
    yield CheckResult("ok", "budget", text)
    calls = minimum_to_research(ExploreRequest(idea="An idea"), settings.search_tokens)
    for name, model in settings.models.items():
        price = settings.prices.get(model)
        if price is None and settings.max_total_tokens < Usage.total(calls).total_tokens:
            text = f"IDEA_MAX_TOTAL_TOKENS is too low for any research with {name}"
            fix = f"export IDEA_MAX_TOTAL_TOKENS={Settings().max_total_tokens}"
            yield CheckResult("note", "budget", text, fix)
        elif price and usd < price.total(calls):
            text = f"IDEA_MAX_COST_USD is too low for any research with {name}"
            cents = math.ceil(100 * price.total(calls))
            yield CheckResult("note", "budget", text, f"export IDEA_MAX_COST_USD={cents / 100:.2f}")


def _check_aws_account(settings: Settings) -> CheckResult | None:
    """Whether AWS accepts this machine's credentials, by a call that costs nothing."""
    try:
        claude(settings).check(SECONDS)
    except ExplorerError as error:
        return CheckResult("problem", "model", f"Claude on AWS: {error.message}", error.hint)
    return None


def _check_api_key(settings: Settings) -> CheckResult | None:
    """Whether Anthropic accepts the key, by a call that costs nothing."""
    if settings.anthropic_api_key is None:
        fix = "export ANTHROPIC_API_KEY=…"
        return CheckResult("problem", "model", "ANTHROPIC_API_KEY is not set", fix)
    key = settings.anthropic_api_key.get_secret_value()
    url = (settings.anthropic_base_url or ANTHROPIC).rstrip("/")
    headers = {"x-api-key": key, "anthropic-version": "2023-06-01"}
    try:
        status = httpx.get(
            f"{url}/v1/models", params={"limit": 1}, headers=headers, timeout=SECONDS
        ).status_code
    except httpx.HTTPError:
        return CheckResult(
            "problem",
            "model",
            f"Claude could not be reached at {url}",
            "check the network, and ANTHROPIC_BASE_URL if it is set",
        )
    if status in {401, 403}:
        return CheckResult(
            "problem",
            "model",
            f"Anthropic does not accept this key ({status})",
            "export ANTHROPIC_API_KEY=…",
        )
    return None


def _check_repository(settings: Settings, _environment: Mapping[str, str]) -> Iterator[CheckResult]:
    yield from _check_github(settings) if settings.uses_github else _check_folder(settings)


def _check_github(settings: Settings) -> Iterator[CheckResult]:
    branch = f", branch {settings.github_branch}" if settings.github_branch else ""
    repository = f"GitHub {settings.github_repository}{branch}"
    try:
        publishing.publisher(settings).check()
        research = research_repository(settings)
        paths = [document.path for document in research.list()] if research else []
    except ExplorerError as error:
        fix = error.hint or "export GITHUB_TOKEN=… GITHUB_REPOSITORY=owner/name"
        yield CheckResult("problem", "repository", f"{repository}: {error.message}", fix)
        return
    yield CheckResult("ok", "repository", repository)
    yield _count_documents(paths, f"in {settings.github_repository}")


def _check_folder(settings: Settings) -> Iterator[CheckResult]:
    try:
        research = research_repository(settings)
        publishing.publisher(settings).check()
    except ExplorerError as error:
        absent = not settings.research_dir.exists()
        fix = f"mkdir -p {settings.research_dir / 'ideas'}" if absent else error.hint
        yield CheckResult("problem", "repository", error.message, fix)
        return
    folder = settings.research_dir.resolve()
    if missing := missing_github_variable(settings):
        text = f"{missing} is not set, so the folder {folder} is used instead of GitHub"
        yield CheckResult("problem", "repository", text, f"export {missing}=…")
    else:
        text = f"the folder {folder}; for GitHub, set GITHUB_TOKEN and GITHUB_REPOSITORY"
        yield CheckResult("ok", "repository", text)
    paths = [document.path for document in research.list()] if research else []
    below = folder / folder_layout(settings).locate(RESEARCH_ROOT)
    yield _count_documents(paths, f"below {below}")


def _count_documents(paths: Sequence[str], where: str) -> CheckResult:
    count = sum(path.lower().endswith(READABLE) for path in paths)
    if count:
        return CheckResult("ok", "research", f"{pluralize(count, 'document')} {where}")
    text = f"no readable documents yet {where}"
    return CheckResult("note", "research", text, 'idea explore "IDEA"')


def _check_deployment(_settings: Settings, environment: Mapping[str, str]) -> Iterator[CheckResult]:
    url, token = environment.get("IDEA_API_URL"), environment.get("IDEA_API_TOKEN")
    if not (url or token):
        yield CheckResult(
            "note",
            "deployment",
            "none; `idea submit` needs IDEA_API_URL and IDEA_API_TOKEN",
            "run `idea serve`, which prints both, or deploy: see README.md",
        )
        return
    try:
        with ApiClient.from_environment(environment, seconds=SECONDS) as api:
            api.get("/explorations", limit=1)
    except ExplorerError as error:
        where = f"{url}: " if url and url not in error.message else ""
        fix = error.hint or "export IDEA_API_URL=… IDEA_API_TOKEN=…"
        yield CheckResult("problem", "deployment", f"{where}{error.message}", fix)
    else:
        yield CheckResult("ok", "deployment", str(url))


def _check_music(settings: Settings, _environment: Mapping[str, str]) -> Iterator[CheckResult]:
    where = f"Qdrant at {settings.qdrant_url}" if settings.qdrant_url else "a file on this machine"
    empty = CheckResult(
        "note", "music", "no tracks are indexed", "idea index examples/music/tracks.jsonl"
    )
    if not settings.qdrant_url and not music.music_file(settings).exists():
        yield empty
        return
    try:
        found = music.track_index(settings).search("music", 1)
    except ExplorerError as error:
        fix = error.hint or "check QDRANT_URL, QDRANT_COLLECTION and QDRANT_API_KEY"
        yield CheckResult("problem", "music", f"{where}: {error.message}", fix)
    else:
        yield empty if found.index_is_empty else CheckResult("ok", "music", f"tracks in {where}")


def _check_tidal(settings: Settings, _environment: Mapping[str, str]) -> Iterator[CheckResult]:
    given = {
        "TIDAL_CLIENT_ID": settings.tidal_client_id,
        "TIDAL_CLIENT_SECRET": settings.tidal_client_secret,
    }
    missing = [name for name, value in given.items() if not value]
    fix = " ".join(["export", *(f"{name}=…" for name in missing)])
    catalogue = music.catalogue(settings, system_clock())
    if catalogue is None:
        state: State = "note" if len(missing) == len(given) else "problem"
        text = f"{' and '.join(missing)} not set: `discover` has no catalogue to search"
        yield CheckResult(state, "tidal", text, fix)
        return
    try:
        catalogue.search("music", ["tracks"], 1)
    except ExplorerError as error:
        fix = error.hint or "export TIDAL_CLIENT_ID=… TIDAL_CLIENT_SECRET=…"
        yield CheckResult("problem", "tidal", error.message, fix)
    else:
        yield CheckResult("ok", "tidal", f"the catalogue for {settings.tidal_country}")


def _check_spans(settings: Settings, _environment: Mapping[str, str]) -> Iterator[CheckResult]:
    if settings.otlp_endpoint is None:
        return
    if importlib.util.find_spec("opentelemetry.sdk") is None:
        yield CheckResult(
            "problem",
            "spans",
            "OTEL_EXPORTER_OTLP_ENDPOINT is set, but the extra `otel` is not installed",
            "pip install --editable '.[otel]'",
        )
        return
    contents = "with" if settings.trace_content else "without"
    to = urlsplit(settings.otlp_endpoint).hostname  # the address may hold a password
    yield CheckResult("ok", "spans", f"exported to {to}, {contents} contents")


def _check_webhook(settings: Settings, _environment: Mapping[str, str]) -> Iterator[CheckResult]:
    if settings.webhook_url is None:
        return
    to = urlsplit(settings.webhook_url).hostname  # the rest of the address may be a secret
    text = f"{to} is notified of every exploration that has no webhook of its own"
    if settings.webhook_secret:
        yield CheckResult("ok", "webhook", f"{text}; messages are signed")
    else:
        fix = "export IDEA_WEBHOOK_SECRET=…"
        yield CheckResult("note", "webhook", f"{text}; messages are not signed", fix)


def _check_sam(_settings: Settings, _environment: Mapping[str, str]) -> Iterator[CheckResult]:
    beside = Path(sys.executable).with_name("sam")
    if beside.exists() or shutil.which("sam"):
        engine = next((name for name in ("docker", "finch", "podman") if shutil.which(name)), None)
        # whether it is running takes seconds to find out; `make invoke` does
        run_locally = (
            f"{engine} for `sam local invoke`, if it is running"
            if engine
            else "no container engine"
        )
        yield CheckResult("ok", "deploying", f"SAM CLI is installed; {run_locally}")
    else:
        yield CheckResult("note", "deploying", "SAM CLI is not installed", "make setup")


CHECKS: tuple[Check, ...] = (
    _check_program,
    _check_model,
    _check_budget,
    _check_repository,
    _check_deployment,
    _check_music,
    _check_tidal,
    _check_spans,
    _check_webhook,
    _check_sam,
)
