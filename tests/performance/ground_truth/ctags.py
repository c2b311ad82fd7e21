"""Definitions by universal-ctags."""

import json
import subprocess
from pathlib import Path

# of each language, the kinds that define a name: not packages, modules, labels and parameters
KINDS = {
    "Java": "acefgim",
    "Rust": "sigftvMmeP",
    "C": "defgmstuv",
}


def read_definitions(root: Path, language: str, endings: str) -> set[tuple[str, int, str]]:
    command = [
        *("ctags", "--recurse", "--output-format=json", "--fields=+n", "--sort=no"),
        *("--links=no", f"--languages={language}", f"--langmap={language}:{endings}"),
        *(f"--kinds-{language}={KINDS[language]}", "-f", "-", "."),
    ]
    ran = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    tags = [json.loads(line) for line in ran.stdout.splitlines()]
    return {
        (tag["path"].removeprefix("./"), tag["line"], tag["name"])
        for tag in tags
        if not tag["name"].startswith("__anon")
    }
