"""The `idea` command as a program of its own, with nothing of this environment."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def idea(*arguments: str, env: Mapping[str, str], folder: Path) -> subprocess.CompletedProcess[str]:
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    coverage = {k: v for k, v in os.environ.items() if k.startswith("COV")}
    return subprocess.run(
        [sys.executable, "-m", "idea_explorer", *arguments],
        env={**kept, **coverage, **env},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def log_lines(stderr: str, message: str) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in stderr.splitlines() if line.startswith("{")]
    return [line for line in lines if line["message"] == message]
