"""`idea doctor`: what is configured, what is missing, and the command that fixes it."""

import argparse
import importlib.util
import json
import os
import platform
import shutil
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from idea_explorer import __version__
from idea_explorer.cli.environment import settings_for
from idea_explorer.settings import Settings

State = Literal["ok", "note", "problem"]
SIGNS = {"ok": "✓", "note": "–", "problem": "✗"}


@dataclass(frozen=True, slots=True)
class Finding:
    state: State
    subject: str
    text: str
    fix: str = ""


def run(arguments: argparse.Namespace) -> int:
    settings = settings_for(arguments.research)
    findings = list(examine(settings))
    if arguments.json:
        print(json.dumps([asdict(finding) for finding in findings], indent=2))
    else:
        for finding in findings:
            print(f"{SIGNS[finding.state]} {finding.subject:<12} {finding.text}")
            if finding.fix:
                print(f"  {'':<12} → {finding.fix}")
    return 1 if any(finding.state == "problem" for finding in findings) else 0


def examine(settings: Settings) -> Iterator[Finding]:
    version = platform.python_version()
    yield Finding("ok", "idea", f"version {__version__} on Python {version}")
    yield _model(settings)
    yield _repository(settings)
    yield from _folder(settings)
    yield _deployment()
    yield from _spans(settings)
    yield _sam()


def _model(settings: Settings) -> Finding:
    if settings.anthropic_api_key is None:
        return Finding(
            "note",
            "model",
            "no ANTHROPIC_API_KEY: the offline model runs, without research of its own",
            "export ANTHROPIC_API_KEY=…",
        )
    at = f" at {settings.anthropic_base_url}" if settings.anthropic_base_url else ""
    models = ", ".join(f"{name} is {model}" for name, model in settings.models.items())
    unpriced = [model for model in settings.models.values() if model not in settings.prices]
    if unpriced:
        return Finding(
            "note",
            "model",
            f"Claude{at}; no price is known for {', '.join(unpriced)}, so cost stays unknown",
            'export IDEA_PRICES=\'{"MODEL": {"input": …, "output": …, "cache_write": …, "cache_read": …}}\'',
        )
    return Finding("ok", "model", f"Claude{at}: {models}")


def _repository(settings: Settings) -> Finding:
    if settings.uses_github:
        branch = f", branch {settings.github_branch}" if settings.github_branch else ""
        return Finding("ok", "repository", f"GitHub {settings.github_repository}{branch}")
    if settings.github_token or settings.github_repository:
        missing = "GITHUB_REPOSITORY" if settings.github_token else "GITHUB_TOKEN"
        return Finding(
            "problem",
            "repository",
            f"{missing} is not set, so GitHub is not used",
            f"export {missing}=…",
        )
    return Finding(
        "ok",
        "repository",
        f"the folder {settings.research_dir.resolve()}; for GitHub set GITHUB_TOKEN, GITHUB_REPOSITORY",
    )


def _folder(settings: Settings) -> Iterator[Finding]:
    folder = settings.research_dir
    if not folder.is_dir():
        yield Finding(
            "problem", "folder", f"{folder} does not exist", f"mkdir -p {folder / 'ideas'}"
        )
        return
    ideas = folder / "ideas"
    count = sum(1 for _ in ideas.rglob("*.md")) if ideas.is_dir() else 0
    if count:
        yield Finding("ok", "research", f"{count} documents below {ideas}")
    else:
        yield Finding(
            "note", "research", f"none yet below {ideas}; explorations start from the idea alone"
        )
    if not os.access(folder, os.W_OK):
        yield Finding("problem", "folder", f"{folder} cannot be written to", f"chmod u+w {folder}")


def _deployment() -> Finding:
    url = os.environ.get("IDEA_API_URL")
    token = os.environ.get("IDEA_API_TOKEN")
    if url and token:
        return Finding("ok", "deployment", url)
    if url or token:
        missing = "IDEA_API_TOKEN" if url else "IDEA_API_URL"
        return Finding("problem", "deployment", f"{missing} is not set", f"export {missing}=…")
    return Finding(
        "note",
        "deployment",
        "none: commands such as `idea submit` need IDEA_API_URL, IDEA_API_TOKEN",
    )


def _spans(settings: Settings) -> Iterator[Finding]:
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


def _sam() -> Finding:
    beside = Path(sys.executable).with_name("sam")
    if beside.exists() or shutil.which("sam"):
        engine = next((name for name in ("docker", "finch", "podman") if shutil.which(name)), None)
        run_locally = f"`sam local invoke` through {engine}" if engine else "no container engine"
        return Finding("ok", "deploying", f"SAM CLI is there; {run_locally}")
    return Finding("note", "deploying", "no SAM CLI", "make setup")
