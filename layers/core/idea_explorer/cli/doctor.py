"""`idea doctor`: what is configured, what is missing, and the command that fixes it."""

import argparse
import json
import os
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict

from idea_explorer.cli.checks import CHECKS, Finding
from idea_explorer.cli.columns import NARROW, terminal_width, wrapped
from idea_explorer.cli.environment import with_folder
from idea_explorer.domain.errors import InvalidSettingError
from idea_explorer.settings import Settings

SIGNS = {"ok": "✓", "note": "–", "problem": "✗"}


def run(arguments: argparse.Namespace) -> int:
    findings = list(examine(os.environ, arguments.research))
    if arguments.json:
        print(json.dumps([asdict(finding) for finding in findings], indent=2))
    else:
        width = terminal_width()
        for finding in findings:
            print("\n".join(lines(finding, width)))
    return 1 if any(finding.state == "problem" for finding in findings) else 0


def lines(finding: Finding, width: int | None) -> list[str]:
    """A finding as a person reads it. A fix stays on one line, however long, to be copied whole."""
    narrow = width is not None and width < NARROW
    sign, indent = SIGNS[finding.state], 2 if narrow else 15
    subject = f"{finding.subject}: " if narrow else f"{finding.subject:<12} "
    fix = [f"{' ' * indent}→ {finding.fix}"] if finding.fix else []
    return [*wrapped(f"{sign} {subject}{finding.text}", width, indent), *fix]


def examine(environment: Mapping[str, str], research: str | None = None) -> Iterator[Finding]:
    """A variable that is wrong is one finding among others: the rest is looked at without it."""
    left, settings = dict(environment), None
    while settings is None:
        try:
            settings = with_folder(Settings.from_environment(left), research)
        except InvalidSettingError as error:
            for variable, rule in error.variables.items():
                yield Finding("problem", "settings", f"{variable} {rule}", f"export {variable}=…")
            if not [left.pop(name) for name in error.variables if name in left]:
                left.pop("IDEA_MODEL_PROVIDER", None)  # what is missing is missed by it alone
    found = settings
    with ThreadPoolExecutor(len(CHECKS)) as at_once:
        for findings in at_once.map(lambda check: list(check(found, left)), CHECKS):
            yield from findings
