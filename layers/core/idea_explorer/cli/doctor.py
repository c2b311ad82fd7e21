"""`idea doctor`: what is configured, what is missing, and the command that fixes it."""

import argparse
import json
import os
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict

from idea_explorer.cli.checks import CHECKS, Finding
from idea_explorer.cli.environment import with_folder
from idea_explorer.domain.errors import InvalidSettingError
from idea_explorer.settings import Settings

SIGNS = {"ok": "✓", "note": "–", "problem": "✗"}


def run(arguments: argparse.Namespace) -> int:
    findings = list(examine(os.environ, arguments.research))
    if arguments.json:
        print(json.dumps([asdict(finding) for finding in findings], indent=2))
    else:
        for finding in findings:
            print(f"{SIGNS[finding.state]} {finding.subject:<12} {finding.text}")
            if finding.fix:
                print(f"  {'':<12} → {finding.fix}")
    return 1 if any(finding.state == "problem" for finding in findings) else 0


def examine(environment: Mapping[str, str], research: str | None = None) -> Iterator[Finding]:
    """A variable that is wrong is one finding among others: the rest is looked at without it."""
    left, settings = dict(environment), None
    while settings is None:
        try:
            settings = with_folder(Settings.from_environment(left), research)
        except InvalidSettingError as error:
            for variable, rule in error.variables.items():
                yield Finding("problem", "settings", f"{variable} {rule}", f"export {variable}=…")
                left.pop(variable, None)
    found = settings
    with ThreadPoolExecutor(len(CHECKS)) as at_once:
        for findings in at_once.map(lambda check: list(check(found, left)), CHECKS):
            yield from findings
