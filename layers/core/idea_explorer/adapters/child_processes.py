"""How a process that runs a module of ours is started.

It is a new interpreter, never a copy of this process, whose threads may hold locks. It is told where to find
us and what we use, and nothing else: the environment may hold keys.
"""

import os
import sys


def child_command(module: str, *arguments: str) -> list[str]:
    # -P: the current folder holds documents of whomever, not modules of ours
    return [sys.executable, "-P", "-m", module, *arguments]


def child_environment() -> dict[str, str]:
    return {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
