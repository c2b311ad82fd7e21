"""The settings of a command: the environment, and the flags that override it."""

import os
from pathlib import Path

from idea_explorer.settings import Settings


def settings_for(research: str | None) -> Settings:
    settings = Settings.from_environment(os.environ)
    return settings.model_copy(update={"research_dir": Path(research)}) if research else settings
