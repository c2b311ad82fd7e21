"""What a command's arguments and the environment ask for: settings, a request, files, limits."""

import argparse
import os
import re
import sys
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from idea_explorer.cli.streams import warn
from idea_explorer.domain import limits
from idea_explorer.domain.errors import InvalidRequestError
from idea_explorer.domain.names import split_names
from idea_explorer.domain.request import ExploreRequest, ResumeRequest, invalid_request
from idea_explorer.domain.text import is_header_safe
from idea_explorer.domain.web_scope import parse_location
from idea_explorer.ports import UploadedFiles
from idea_explorer.settings import Settings
from idea_explorer.usecases.request_policy import check_takes_files
from idea_explorer.wiring.local import given_files, read_given_file

MAX_CONTEXT_BYTES = 4 * limits.MAX_CONTEXT  # UTF-8 has at most four for a character
MAX_NAMED = 1_000  # characters: no longer context is taken for the name of a file
MAX_SECRET = 10_000
MAX_PATH = 200  # a longer word is text in a language without spaces
SUFFIX = re.compile(r"\.[A-Za-z0-9]{1,8}$")
REQUEST_FLAGS = (
    "toolset", "mode", "depth", "model", "effort", "context", "update", "continue_from", "if_exists",
    "collect_tool_stats", "max_cost_usd", "max_steps", "deadline_seconds", "webhook_url",
    "callback_secret", "repository", "ref", "allow_fetch_after_private", "review_plan",
    "allowed_domains", "blocked_domains", "user_location",
)  # fmt: skip


def read_settings(research: str | None, *, reads_research: bool = False) -> Settings:
    """The environment, and `--research`. Says so where GitHub is only half set up, and where a command
    that reads research is given a folder but uses GitHub. Raises ConfigurationError if there is no folder
    of that name."""
    settings = with_folder(Settings.from_environment(os.environ), research)
    if not settings.research_dir.exists():
        from idea_explorer.wiring.toolsets import check_folder

        check_folder(settings)
    if missing := missing_github_variable(settings):
        folder = settings.research_dir.resolve()
        warn(f"{missing} is not set, so the folder {folder} is used instead of GitHub.")
    if research and reads_research and settings.uses_github:
        warn(
            f"GitHub is configured, so research is in {settings.github_repository};"
            f" {research} only holds the run's records."
        )
    return settings


def with_folder(settings: Settings, research: str | None) -> Settings:
    named = {"research_dir": Path(research), "research_is_named": True} if research else {}
    return settings.model_copy(update=named)


def with_absolute_folder(settings: Settings) -> Settings:
    """For `idea serve`: its clients are in other folders, so the paths that they get are absolute."""
    return settings.model_copy(update={"research_dir": settings.research_dir.resolve()})


def missing_github_variable(settings: Settings) -> str | None:
    """The one of the two that is not set."""
    if bool(settings.github_token) == bool(settings.github_repository):
        return None
    return "GITHUB_REPOSITORY" if settings.github_token else "GITHUB_TOKEN"


def read_request(arguments: argparse.Namespace) -> ExploreRequest:
    given = _given(arguments, REQUEST_FLAGS)
    given["idea"] = _read_idea(arguments.idea)
    if context := given.get("context"):
        given["context"] = _read_context(context)
    for name in ("allowed_domains", "blocked_domains"):
        if name in given:
            given[name] = split_names(given[name])
    try:
        if "user_location" in given:
            given["user_location"] = parse_location(given["user_location"])
    except ValueError as error:
        raise InvalidRequestError(f"--user-location: {error}.") from error
    try:
        return ExploreRequest.model_validate(given)
    except ValidationError as error:
        raise invalid_request(error) from error


def read_limits(arguments: argparse.Namespace) -> ResumeRequest:
    try:
        return ResumeRequest.model_validate(_given(arguments, tuple(ResumeRequest.model_fields)))
    except ValidationError as error:
        raise invalid_request(error) from error


def read_files(paths: list[str] | None, toolset: str) -> UploadedFiles:
    """Raises InvalidRequestError where a file is missing or too large, or the toolset takes none."""
    if paths:
        check_takes_files(toolset)
    return given_files([Path(path) for path in paths or ()])


def read_secret(name: str) -> str:
    """From the terminal without showing it, or from a pipe. Raises InvalidRequestError where it is none."""
    if sys.stdin.isatty():
        from getpass import getpass

        value = getpass(f"{name}: ").strip()
    else:
        value = sys.stdin.read(MAX_SECRET + 1).strip()
    if len(value) > MAX_SECRET or not is_header_safe(value):
        raise InvalidRequestError(
            "stdin does not hold a token or key.", hint="Send exactly one, without spaces."
        )
    return value


def _given(arguments: argparse.Namespace, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: value for name in names if (value := getattr(arguments, name)) is not None}


def _read_idea(given: str | None) -> str:
    if given not in {None, "-"}:
        return str(given)
    if sys.stdin.isatty():
        raise InvalidRequestError("There is no idea.", hint='Try: idea explore "…".')
    # one character more than allowed is enough to refuse, however long the input is
    return sys.stdin.read(limits.MAX_IDEA * 2)


def _read_context(given: str) -> str:
    if _is_there(given):
        try:
            return read_given_file(Path(given), MAX_CONTEXT_BYTES).decode("utf-8")
        except InvalidRequestError as error:
            raise InvalidRequestError(f"--context: {error.sentence}") from error
        except UnicodeDecodeError as error:
            raise InvalidRequestError(f"--context: {given} is not UTF-8 text.") from error
    if _looks_like_path(given):
        raise InvalidRequestError(
            f"--context: there is no file {given}.",
            hint="To pass text instead, use more than one word.",
        )
    return given


def _is_there(given: str) -> bool:
    """Whether there is a file, or something in its place that is refused as one; a folder may have the name
    of what the context is about."""
    try:
        return len(given) < MAX_NAMED and Path(given).exists() and not Path(given).is_dir()
    except (OSError, ValueError):
        return False


def _looks_like_path(given: str) -> bool:
    """A mistyped file name must not become the context; a URL is text."""
    if len(given.split()) != 1 or len(given) > MAX_PATH or "://" in given:
        return False
    return "/" in given or SUFFIX.search(given) is not None or Path(given).is_dir()
