"""The `idea` command. Importing it loads argparse and nothing else: a command loads what it needs."""

import sys
from collections.abc import Sequence
from io import TextIOWrapper

EXIT_INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; every failure is one sentence on stderr and a documented exit code."""
    from idea_explorer.cli.parser import build_parser
    from idea_explorer.cli.streams import prepare

    _write_anything()
    prepare()
    parser = build_parser()
    parsed, unknown = parser.parse_known_args(arguments)
    if unknown:
        command = getattr(parsed, "parser", parser)
        command.error(f"unrecognized arguments: {' '.join(unknown)}")
    if not hasattr(parsed, "module"):
        parser.print_help(sys.stderr)
        return 2
    try:
        return _run(parsed.module, parsed)
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # the reader of our output has gone; the shell expects silence
        _drop_output()
        return 0


def _run(module: str, parsed: object) -> int:
    import importlib

    from idea_explorer.cli.failures import explained

    finished = False
    with explained(debug=getattr(parsed, "debug", False)) as ending:
        ending.exit_code = importlib.import_module(f"idea_explorer.cli.{module}").run(parsed)
        sys.stdout.flush()  # here, where a full disk can still be told of
        finished = True
    if not finished:
        _flush_or_drop()
    return ending.exit_code


def _write_anything() -> None:
    """A terminal without a character gets another in its place; no output ends a command."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")


def _flush_or_drop() -> None:
    try:
        sys.stdout.flush()
    except OSError:
        _drop_output()


def _drop_output() -> None:
    """What could not be written would be tried, and complained about, once more at the exit."""
    import os
    from contextlib import suppress

    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
