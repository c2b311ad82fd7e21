"""Following a guide of docs/ in a copy of the project, exactly as it is written.

A block after the mention of a file is that file's content or, as a diff, a change to it. In a `console`
block, each line after `$ ` is a command, and the lines below it are all that it prints.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

PROJECT = Path(__file__).parents[2]
PARTS = ("layers/core", "tests", "docs", "examples", "pyproject.toml", "template.yaml")
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_PATH = re.compile(r"`([\w./-]+\.(?:py|md))`")


class Newcomer:
    """Somebody with a copy of the project who does what a guide says."""

    def __init__(self, root: Path) -> None:
        self.root = root
        # Compiled files go along, for the sake of speed; those that a worker is still writing do not.
        ignored = shutil.ignore_patterns("*.pyc.*", "*.egg-info", "transcripts")
        for part in PARTS:
            if (PROJECT / part).is_dir():
                shutil.copytree(PROJECT / part, root / part, ignore=ignored)
            else:
                shutil.copy(PROJECT / part, root / part)
        programs = root / "bin"
        programs.mkdir()
        idea = programs / "idea"
        idea.write_text(f'#!/bin/sh\nexec {sys.executable} -m idea_explorer "$@"\n')
        idea.chmod(0o755)
        self._environment = {
            "PATH": os.pathsep.join([str(programs), str(Path(sys.executable).parent), os.defpath]),
            "PYTHONPATH": str(root / "layers/core"),
            "HOME": str(root),
            "PYTEST_ADDOPTS": "-rp",  # names the tests that pass
        }

    def follow(self, guide: str) -> str:
        """Do all of it; what the commands print that the guide does not show is returned."""
        text = (PROJECT / "docs" / guide).read_text("utf-8")
        unshown = ""
        for block in _BLOCK.finditer(text):
            language, content = block[1], block[2]
            if language == "console":
                unshown += self._run_all(content)
                continue
            path = self._path([*_PATH.finditer(text, 0, block.start())][-1][1])
            if language == "diff":
                self._change(path, content)
            else:
                assert not path.exists(), path
                path.write_text(content, "utf-8")
        return unshown

    def run(self, command: str) -> str:
        done = subprocess.run(
            ["sh", "-c", command],
            cwd=self.root,
            env=self._environment,
            capture_output=True,
            text=True,
            check=False,
        )
        failed_tool = done.stdout.startswith('{"ok": false')  # which a guide may show
        assert done.returncode == (1 if failed_tool else 0), (command, done.stdout, done.stderr)
        return done.stdout

    def _path(self, named: str) -> Path:
        inside = self.root / "layers/core/idea_explorer" / named
        return self.root / named if named.startswith(("tests/", "docs/")) else inside

    def _change(self, path: Path, diff: str) -> None:
        lines = diff.splitlines(keepends=True)
        before = "".join(line[1:] for line in lines if line[0] in " -")
        after = "".join(line[1:] for line in lines if line[0] in " +")
        source = path.read_text("utf-8")
        assert source.count(before) == 1, (path, before)
        path.write_text(source.replace(before, after), "utf-8")

    def _run_all(self, console: str) -> str:
        unshown = ""
        for step in console.split("$ ")[1:]:
            command, _, expected = step.partition("\n")
            printed = self.run(command)
            if expected or not command.startswith("pytest"):
                assert printed == expected, command
            else:
                unshown += printed
        return unshown
