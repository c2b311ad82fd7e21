"""`idea admin smoke`: one offline exploration through all parts of a deployment and back."""

import argparse
import os

from idea_explorer.cli.output import print_json
from idea_explorer.cli.smoke.parts import BrokenPartError
from idea_explorer.cli.smoke.run import SmokeTest
from idea_explorer.cli.streams import until_reader_leaves, warn
from idea_explorer.domain.errors import ConfigurationError, InvalidRequestError
from idea_explorer.domain.json import JsonObject
from idea_explorer.settings import Settings
from idea_explorer.wiring.cloud import cloud_admission, deployment, operator_secrets
from idea_explorer.wiring.local import system_clock

MIN_SECONDS = 5.0


def run(arguments: argparse.Namespace) -> int:
    """0 only if every part worked."""
    stack = arguments.stack or os.environ.get("IDEA_STACK")
    if not stack:
        raise ConfigurationError(
            "Which deployment?", hint="Name its stack with --stack or IDEA_STACK."
        )
    if arguments.seconds < MIN_SECONDS:
        raise InvalidRequestError(f"--seconds must be at least {MIN_SECONDS:.0f}.")
    settings = Settings.from_environment(os.environ)
    test = SmokeTest(
        deployment(settings, stack),
        lambda table: cloud_admission(settings.model_copy(update={"table_name": table})),
        operator_secrets(settings),
        system_clock(),
        arguments.seconds,
    )
    if not arguments.json:
        test.on_leg = _print_leg
    broken = None
    try:
        test.run()
    except BrokenPartError as error:
        broken = error
    with until_reader_leaves():
        _report(stack, test, broken, as_json=arguments.json)
    return 1 if broken else 0


def _print_leg(name: str, seconds: float) -> None:
    with until_reader_leaves():
        print(f"  {name:<16} {seconds:6.1f} s")


def _report(stack: str, test: SmokeTest, broken: BrokenPartError | None, *, as_json: bool) -> None:
    if as_json:
        problem: JsonObject | None = None
        if broken:
            problem = {"part": broken.part, "message": broken.message, "hint": broken.hint}
        legs: list[JsonObject] = [
            {"name": name, "seconds": round(seconds, 3)} for name, seconds in test.legs.items()
        ]
        print_json(
            {
                "ok": broken is None,
                "stack": stack,
                "id": test.exploration_id,
                "legs": legs,
                "problem": problem,
            }
        )
    elif broken:
        warn(f"{stack} does not work. {broken.sentence}")
    else:
        print(f"{stack} works. Nothing was spent, and nothing was committed.")
