"""How a failed command ends: one sentence that says what to do, and no traceback unless asked for."""

import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

BAD_USAGE = 2
FAILED = 1


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
    except (InvalidRequestError, ConfigurationError) as error:
        ending.exit_code = BAD_USAGE
        _say(error.sentence, debug=debug)
    except ExplorerError as error:
        _say(error.sentence, debug=debug)
    except (KeyboardInterrupt, BrokenPipeError):
        raise
    except Exception as error:  # noqa: BLE001  the last line of defence between a bug and a person
        _say(f"Unexpected error: {error!r}. Run again with --debug to see where.", debug=debug)


def _say(sentence: str, *, debug: bool) -> None:
    if debug:
        traceback.print_exc()
    print(f"idea: {sentence}", file=sys.stderr)
