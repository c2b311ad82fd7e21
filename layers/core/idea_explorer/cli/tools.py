"""`idea tools`: the definitions as the model sees them."""

import argparse
import json

from idea_explorer.cli.environment import settings_for
from idea_explorer.domain.json import text_of
from idea_explorer.domain.toolsets import TOOLSETS
from idea_explorer.wiring.toolsets import toolset


def run(arguments: argparse.Namespace) -> int:
    settings = settings_for(arguments.research)
    names = [arguments.toolset] if arguments.toolset else list(TOOLSETS)
    found = {name: toolset(settings, name).definitions for name in names}
    if arguments.json:
        shown = found[arguments.toolset] if arguments.toolset else found
        print(json.dumps(shown, indent=2, ensure_ascii=False))
        return 0
    for name, definitions in found.items():
        print(f"{name}")
        for definition in definitions:
            description = text_of(definition.get("description")) or "runs at Anthropic"
            print(f"  {definition['name']}")
            for line in description.splitlines():
                print(f"      {line}")
    return 0
