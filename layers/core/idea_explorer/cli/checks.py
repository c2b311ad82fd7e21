"""What `idea doctor` looks at. What can be asked is asked, for a few seconds at most; nothing is changed."""

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
from idea_explorer.agent.budget import Budget
from idea_explorer.agent.minimum_cost import estimate_first_step
from idea_explorer.agent.prompts import system_prompt
from idea_explorer.cli.environment import missing_for_github
from idea_explorer.cli.remote.client import Remote
from idea_explorer.domain.errors import ExplorerError
from idea_explorer.settings import Settings
from idea_explorer.usecases.request_policy import TOOLS_TOKENS
from idea_explorer.wiring import music, publishing
from idea_explorer.wiring.engine import claude
from idea_explorer.wiring.local import system_clock
from idea_explorer.wiring.toolsets import research_repository

State = Literal["ok", "note", "problem"]
ANTHROPIC = "https://api.anthropic.com"
SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Finding:
    state: State
    subject: str
    text: str
    fix: str = ""


Check: TypeAlias = Callable[[Settings, Mapping[str, str]], Iterator[Finding]]


def _program(_settings: Settings, _environment: Mapping[str, str]) -> Iterator[Finding]:
    yield Finding("ok", "idea", f"version {__version__} on Python {platform.python_version()}")


def _model(settings: Settings, _environment: Mapping[str, str]) -> Iterator[Finding]:
    if settings.provider == "offline":
        chosen = settings.model_provider is not None
        why = "as IDEA_MODEL_PROVIDER says" if chosen else "because there is no ANTHROPIC_API_KEY"
        fix = "unset IDEA_MODEL_PROVIDER" if chosen else "export ANTHROPIC_API_KEY=…"
        text = f"the offline model, {why}: it runs every step and does no research of its own"
        yield Finding("note", "model", text, fix)
        return
    wrong = _wrong_account(settings) if settings.provider == "aws" else _wrong_key(settings)
    if wrong:
        yield wrong
        return
    at = f" at {settings.anthropic_base_url}" if settings.anthropic_base_url else ""
    if settings.provider == "aws":
        at = f" on AWS in {settings.aws_region}, workspace {settings.anthropic_workspace_id}"
    models = ", ".join(f"{name} is {model}" for name, model in settings.models.items())
    unpriced = [model for model in settings.models.values() if model not in settings.prices]
    if unpriced:
        yield Finding(
            "note",
            "model",
            f"Claude{at}; no price is known for {', '.join(unpriced)}, so cost stays unknown"
            f" and a run may use {settings.max_total_tokens:,} tokens",
            'export IDEA_PRICES=\'{"MODEL": {"input": …, "output": …, "cache_write": …, "cache_read": …}}\'',
        )
    else:
        yield Finding("ok", "model", f"Claude{at}: {models}")


def _budget(settings: Settings, _environment: Mapping[str, str]) -> Iterator[Finding]:
    """A limit below the price of a first look is taken, but buys reports without research."""
    if not settings.uses_claude:
        return
    system = system_prompt("research", "business")
    least = estimate_first_step(system, TOOLS_TOKENS, Budget(search_tokens=settings.search_tokens))
    for name, model in settings.models.items():
        price, usd = settings.prices.get(model), settings.max_cost_usd
        if price is None and settings.max_total_tokens < least.total_tokens:
            text = f"IDEA_MAX_TOTAL_TOKENS pays for no research with {name}"
            fix = f"export IDEA_MAX_TOTAL_TOKENS={Settings().max_total_tokens}"
            yield Finding("note", "budget", text, fix)
        elif price and usd is not None and usd < price.cost(least):
            text = f"IDEA_MAX_COST_USD pays for no research with {name}"
            cents = math.ceil(100 * price.cost(least))
            yield Finding("note", "budget", text, f"export IDEA_MAX_COST_USD={cents / 100:.2f}")


def _wrong_account(settings: Settings) -> Finding | None:
    """Whether AWS lets this machine's credentials in, asked by a call that costs nothing."""
    try:
        claude(settings).check(SECONDS)
    except ExplorerError as error:
        return Finding("problem", "model", f"Claude on AWS: {error.message}", error.hint)
    return None


def _wrong_key(settings: Settings) -> Finding | None:
    """Whether the key is known, asked by a call that costs nothing."""
    if settings.anthropic_api_key is None:
        fix = "export ANTHROPIC_API_KEY=…"
        return Finding("problem", "model", "there is no key for Claude", fix)
    key = settings.anthropic_api_key.get_secret_value()
    url = (settings.anthropic_base_url or ANTHROPIC).rstrip("/")
    headers = {"x-api-key": key, "anthropic-version": "2023-06-01"}
    try:
        status = httpx.get(
            f"{url}/v1/models", params={"limit": 1}, headers=headers, timeout=SECONDS
        ).status_code
    except httpx.HTTPError:
        return Finding(
            "problem",
            "model",
            f"Claude could not be reached at {url}",
            "check the network, and ANTHROPIC_BASE_URL if it is set",
        )
    if status in {401, 403}:
        return Finding(
            "problem",
            "model",
            f"Anthropic does not accept this key ({status})",
            "export ANTHROPIC_API_KEY=…",
        )
    return None


def _repository(settings: Settings, _environment: Mapping[str, str]) -> Iterator[Finding]:
    yield from _on_github(settings) if settings.uses_github else _in_folder(settings)


def _on_github(settings: Settings) -> Iterator[Finding]:
    branch = f", branch {settings.github_branch}" if settings.github_branch else ""
    repository = f"GitHub {settings.github_repository}{branch}"
    try:
        publishing.publisher(settings).check()
        research = research_repository(settings)
        paths = [document.path for document in research.list()] if research else []
    except ExplorerError as error:
        fix = error.hint or "export GITHUB_TOKEN=… GITHUB_REPOSITORY=owner/name"
        yield Finding("problem", "repository", f"{repository}: {error.message}", fix)
        return
    yield Finding("ok", "repository", repository)
    yield _counted(paths, f"in {settings.github_repository}")


def _in_folder(settings: Settings) -> Iterator[Finding]:
    if missing := missing_for_github(settings):
        text = f"{missing} is not set, so GitHub is not used"
        yield Finding("problem", "repository", text, f"export {missing}=…")
    try:
        research = research_repository(settings)
        publishing.publisher(settings).check()
    except ExplorerError as error:
        absent = not settings.research_dir.exists()
        fix = f"mkdir -p {settings.research_dir / 'ideas'}" if absent else error.hint
        yield Finding("problem", "repository", error.message, fix)
        return
    folder = settings.research_dir.resolve()
    text = f"the folder {folder}; for GitHub set GITHUB_TOKEN, GITHUB_REPOSITORY"
    yield Finding("ok", "repository", text)
    paths = [document.path for document in research.list()] if research else []
    yield _counted(paths, f"below {folder / 'ideas'}")


def _counted(paths: Sequence[str], where: str) -> Finding:
    count = sum(path.endswith(".md") for path in paths)
    if count:
        return Finding("ok", "research", f"{count} document{'s' * (count > 1)} {where}")
    return Finding("note", "research", f"none yet {where}", 'idea explore "IDEA"')


def _deployment(_settings: Settings, environment: Mapping[str, str]) -> Iterator[Finding]:
    url, token = environment.get("IDEA_API_URL"), environment.get("IDEA_API_TOKEN")
    if not (url or token):
        yield Finding(
            "note",
            "deployment",
            "none: commands such as `idea submit` need IDEA_API_URL, IDEA_API_TOKEN",
            "idea serve, which prints both; or deploy, as README.md says",
        )
        return
    try:
        with Remote.from_environment(environment, seconds=SECONDS) as remote:
            remote.get("/explorations", limit=1)
    except ExplorerError as error:
        where = f"{url}: " if url and url not in error.message else ""
        fix = error.hint or "export IDEA_API_URL=… IDEA_API_TOKEN=…"
        yield Finding("problem", "deployment", f"{where}{error.message}", fix)
    else:
        yield Finding("ok", "deployment", str(url))


def _music(settings: Settings, _environment: Mapping[str, str]) -> Iterator[Finding]:
    where = f"Qdrant at {settings.qdrant_url}" if settings.qdrant_url else "a file on this machine"
    empty = Finding(
        "note", "music", "no track is indexed", "idea index examples/music/tracks.jsonl"
    )
    if not settings.qdrant_url and not music.music_file(settings).exists():
        yield empty
        return
    try:
        found = music.track_index(settings).search("music", 1)
    except ExplorerError as error:
        fix = error.hint or "check QDRANT_URL, QDRANT_COLLECTION and QDRANT_API_KEY"
        yield Finding("problem", "music", f"{where}: {error.message}", fix)
    else:
        yield empty if found.index_is_empty else Finding("ok", "music", f"tracks in {where}")


def _tidal(settings: Settings, _environment: Mapping[str, str]) -> Iterator[Finding]:
    given = {
        "TIDAL_CLIENT_ID": settings.tidal_client_id,
        "TIDAL_CLIENT_SECRET": settings.tidal_client_secret,
    }
    missing = [name for name, value in given.items() if not value]
    fix = " ".join(["export", *(f"{name}=…" for name in missing)])
    catalogue = music.catalogue(settings, system_clock())
    if catalogue is None:
        state: State = "note" if len(missing) == len(given) else "problem"
        text = f"no {' and '.join(missing)}: `discover` has no catalogue to search"
        yield Finding(state, "tidal", text, fix)
        return
    try:
        catalogue.search("music", ["tracks"], 1)
    except ExplorerError as error:
        fix = error.hint or "export TIDAL_CLIENT_ID=… TIDAL_CLIENT_SECRET=…"
        yield Finding("problem", "tidal", error.message, fix)
    else:
        yield Finding("ok", "tidal", f"the catalogue of {settings.tidal_country}")


def _spans(settings: Settings, _environment: Mapping[str, str]) -> Iterator[Finding]:
    if settings.otlp_endpoint is None:
        return
    if importlib.util.find_spec("opentelemetry.sdk") is None:
        yield Finding(
            "problem",
            "spans",
            "OTEL_EXPORTER_OTLP_ENDPOINT is set, but the extra `otel` is not installed",
            "pip install --editable '.[otel]'",
        )
        return
    contents = "with" if settings.trace_content else "without"
    to = urlsplit(settings.otlp_endpoint).hostname  # the address may hold a password
    yield Finding("ok", "spans", f"exported to {to}, {contents} contents")


def _webhook(settings: Settings, _environment: Mapping[str, str]) -> Iterator[Finding]:
    if settings.webhook_url is None:
        return
    to = urlsplit(settings.webhook_url).hostname  # the rest of the address may be a secret
    told = f"{to} is told of every exploration that names no webhook of its own"
    if settings.webhook_secret:
        yield Finding("ok", "webhook", f"{told}, signed")
    else:
        fix = "export IDEA_WEBHOOK_SECRET=…"
        yield Finding("note", "webhook", f"{told}, without a signature", fix)


def _sam(_settings: Settings, _environment: Mapping[str, str]) -> Iterator[Finding]:
    beside = Path(sys.executable).with_name("sam")
    if beside.exists() or shutil.which("sam"):
        engine = next((name for name in ("docker", "finch", "podman") if shutil.which(name)), None)
        # whether its engine answers takes seconds to find out; `make invoke` does
        run_locally = (
            f"{engine} for `sam local invoke`, if its engine runs"
            if engine
            else "no container engine"
        )
        yield Finding("ok", "deploying", f"SAM CLI is there; {run_locally}")
    else:
        yield Finding("note", "deploying", "no SAM CLI", "make setup")


CHECKS: tuple[Check, ...] = (
    _program,
    _model,
    _budget,
    _repository,
    _deployment,
    _music,
    _tidal,
    _spans,
    _webhook,
    _sam,
)
