"""How a failed command ends: one sentence that says what to do, and no traceback unless asked for."""

import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from idea_explorer.domain.errors import InvalidRequestError

BAD_USAGE = 2
FAILED = 1
NOT_FLAGS = {"idea": "The idea", "files": "--file"}


@dataclass
class Ending:
    exit_code: int = FAILED


@contextmanager
def explained(*, debug: bool) -> Iterator[Ending]:
    """Swallow what was raised, after saying it."""
    from idea_explorer.domain.errors import ConfigurationError, ExplorerError, InvalidRequestError

    ending = Ending()
    try:
        yield ending
    except InvalidRequestError as error:
        ending.exit_code = BAD_USAGE
        _say(_in_flags(error), debug=debug)
    except ConfigurationError as error:
        ending.exit_code = BAD_USAGE
        _say(error.sentence, debug=debug)
    except ExplorerError as error:
        ending.exit_code = FAILED
        _say(error.sentence, debug=debug)
    except (KeyboardInterrupt, BrokenPipeError):
        raise
    except OSError as error:
        ending.exit_code = FAILED
        _say(_of_the_system(error), debug=debug)
    except Exception as error:  # noqa: BLE001  the last line of defence between a bug and a person
        ending.exit_code = FAILED
        _say(f"Unexpected error: {error!r}. Run again with --debug to see where.", debug=debug)


def _in_flags(error: "InvalidRequestError") -> str:
    """A request's fields under the names that a command has for them."""
    if not error.message.startswith(tuple(f"'{name}': " for name in error.fields)):
        return error.sentence
    return " ".join([*(_about(*found) for found in error.fields.items()), error.hint]).strip()


def _about(field: str, rule: str) -> str:
    name = NOT_FLAGS.get(field, f"--{field.replace('_', '-')}")
    joint = " " if rule.startswith(("must ", "is ")) else ": "
    return f"{name}{joint}{rule.removesuffix('.')}."


def _of_the_system(error: OSError) -> str:
    where = error.filename or "The output"
    return f"{where} cannot be read or written: {error.strerror or error}."


def _say(sentence: str, *, debug: bool) -> None:
    with suppress(OSError, ValueError):  # there may be nowhere left to say it
        if debug:
            traceback.print_exc()
        print(f"idea: {sentence}", file=sys.stderr)
