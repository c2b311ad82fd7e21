"""The `idea` command. Importing it loads argparse and nothing else: a command loads what it needs."""

import atexit
import gc
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from argparse import Namespace

EXIT_INTERRUPTED = 130

# An interpreter that ends looks for garbage among all objects, several times: a tenth of a short command.
atexit.register(gc.freeze)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; every failure is one sentence on stderr and a documented exit code."""
    from idea_explorer.cli import streams
    from idea_explorer.cli.parser import build_parser

    streams.prepare()
    arguments = sys.argv[1:] if arguments is None else arguments
    parser = build_parser(next((word for word in arguments if not word.startswith("-")), ""))
    parsed, unknown = parser.parse_known_args(arguments)
    if unknown:
        getattr(parsed, "parser", parser).refuse_unknown(unknown)
    if not hasattr(parsed, "run"):
        parser.print_help(sys.stderr)
        return 2
    try:
        return _run(parsed.run, parsed, debug=parsed.debug)
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # the reader of our output has gone; the shell expects silence
        streams.discard_stdout()
        return 0


def _run(name: str, parsed: "Namespace", *, debug: bool) -> int:
    """Run a command by the name of its module and function, with the user's settings in the environment."""
    import importlib

    from idea_explorer.cli import streams
    from idea_explorer.cli.failures import report_failure
    from idea_explorer.cli.user_settings import user_settings

    module, _, function = name.rpartition(".")
    try:
        with user_settings(parsed):
            command = getattr(importlib.import_module(f"idea_explorer.cli.{module}"), function)
            exit_code: int = command(parsed)
        sys.stdout.flush()  # here, where a full disk can still be reported
    except (KeyboardInterrupt, BrokenPipeError):
        raise
    except Exception as error:  # noqa: BLE001  the last line of defence between a bug and a person
        exit_code = report_failure(error, debug=debug)
        streams.flush_stdout()
    return exit_code
