"""The settings of a command: the environment, and the flags that override it."""

import os
import sys
from pathlib import Path

from idea_explorer.settings import Settings


def settings_for(research: str | None) -> Settings:
    """Says so where GitHub is half set up: the folder would be written to without a word."""
    settings = with_folder(Settings.from_environment(os.environ), research)
    if missing := missing_for_github(settings):
        print(
            f"idea: {missing} is not set, so GitHub is not used but the folder"
            f" {settings.research_dir.resolve()}.",
            file=sys.stderr,
        )
    return settings


def with_folder(settings: Settings, research: str | None) -> Settings:
    return settings.model_copy(update={"research_dir": Path(research)}) if research else settings


def missing_for_github(settings: Settings) -> str | None:
    """The variable without which the other one does nothing."""
    if bool(settings.github_token) == bool(settings.github_repository):
        return None
    return "GITHUB_REPOSITORY" if settings.github_token else "GITHUB_TOKEN"
