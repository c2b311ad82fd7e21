"""`idea doctor`: what is configured, what is missing, and the command that fixes it."""

import argparse
import os
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict

from idea_explorer.cli.arguments import with_folder
from idea_explorer.cli.checks import CHECKS, CheckResult
from idea_explorer.cli.columns import wrap
from idea_explorer.cli.output import print_json, terminal_width
from idea_explorer.cli.streams import until_reader_leaves
from idea_explorer.domain.errors import InvalidSettingError
from idea_explorer.settings import Settings

NARROW = 60  # columns: below, an indent that lines words up leaves no room for them
SIGNS = {"ok": "✓", "note": "–", "problem": "✗"}


def run(arguments: argparse.Namespace) -> int:
    results = list(run_checks(os.environ, arguments.research))
    has_problem = any(result.state == "problem" for result in results)
    with until_reader_leaves():
        if arguments.json:
            print_json({"ok": not has_problem, "checks": [asdict(result) for result in results]})
        else:
            width = terminal_width()
            for result in results:
                print("\n".join(format_result(result, width)))
    return 1 if has_problem else 0


def format_result(result: CheckResult, width: int | None) -> list[str]:
    """A fix stays on one line, however long, to be copied whole."""
    narrow = width is not None and width < NARROW
    sign, indent = SIGNS[result.state], 2 if narrow else 15
    subject = f"{result.subject}: " if narrow else f"{result.subject:<12} "
    fix = [f"{' ' * indent}→ {result.fix}"] if result.fix else []
    return [*wrap(result.text, width, f"{sign} {subject}", " " * indent), *fix]


def run_checks(
    environment: Mapping[str, str], research: str | None = None
) -> Iterator[CheckResult]:
    """A wrong variable is one result among others: the rest is checked without it."""
    variables, settings = dict(environment), None
    while settings is None:
        try:
            settings = with_folder(Settings.from_environment(variables), research)
        except InvalidSettingError as error:
            for variable, rule in error.variables.items():
                yield CheckResult(
                    "problem", "settings", f"{variable} {rule}", f"export {variable}=…"
                )
            if not [variables.pop(name) for name in error.variables if name in variables]:
                variables.pop("IDEA_MODEL_PROVIDER", None)  # nothing else asks for what is missing
    checked = settings
    with ThreadPoolExecutor(len(CHECKS)) as threads:
        for results in threads.map(lambda check: list(check(checked, variables)), CHECKS):
            yield from results
