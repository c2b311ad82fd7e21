"""The `idea` command. Importing it loads argparse and nothing else: a command loads what it needs."""

import sys
from collections.abc import Sequence

EXIT_INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; every failure is one sentence on stderr and a documented exit code."""
    from idea_explorer.cli.parser import build_parser
    from idea_explorer.cli.streams import prepare

    prepare()
    parser = build_parser()
    parsed = parser.parse_args(arguments)
    if not hasattr(parsed, "module"):
        parser.print_help(sys.stderr)
        return 2
    try:
        return _run(parsed.module, parsed)
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # the reader of our output has gone; the shell expects silence
        sys.stderr.close()
        return 0


def _run(module: str, parsed: object) -> int:
    import importlib

    from idea_explorer.cli.failures import explained

    with explained(debug=getattr(parsed, "debug", False)) as ending:
        ending.exit_code = importlib.import_module(f"idea_explorer.cli.{module}").run(parsed)
    return ending.exit_code
