"""How a process that runs a module of ours is started.

It is a new interpreter, never a copy of this process, whose threads may hold locks. It is told where to find
us and what we use, and nothing else: the environment may hold keys.
"""

import os
import sys


def child_command(module: str, *arguments: str) -> list[str]:
    """It loads modules from where this process does and, because of -P, not from its own folder. It leaves
    bytecode where this process would, or none."""
    bytecode = ["-B"] if sys.dont_write_bytecode else []
    if sys.pycache_prefix:
        bytecode += ["-X", f"pycache_prefix={sys.pycache_prefix}"]
    return [sys.executable, "-P", *bytecode, "-m", module, *arguments]


def child_environment() -> dict[str, str]:
    return {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
