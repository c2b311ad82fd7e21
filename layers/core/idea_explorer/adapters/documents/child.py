"""The child process: reads one document from stdin, writes its parts to stdout as lines of JSON.

    python -m idea_explorer.adapters.documents.child KIND MAX_CHARS SECONDS,MOST_SECONDS,MEGABYTES

It loads nothing of ours but this package, so that it starts quickly.
"""

import codecs
import contextlib
import resource
import sys
from importlib import import_module
from types import ModuleType

from idea_explorer.adapters.documents.output import DamagedError, FullError, Output

MEGABYTE = 1_048_576
EMPTY = "holds no text"
NO_TEXT = {"pdf": "holds no text: it is probably scanned; run text recognition (OCR) on it first"}
CODECS = ("cp437", "utf-16-le")  # of the names in old archives, and of PDFium's text
READERS = {"pdf": "pdf", "docx": "word", "xlsx": "sheets", "pptx": "slides"}


def limit_process(most_seconds: int, megabytes: int, output_bytes: int) -> None:
    """What the system enforces from now on. Where it does not know a limit, the others count."""
    wanted = {
        resource.RLIMIT_AS: megabytes * MEGABYTE,
        resource.RLIMIT_CPU: most_seconds,
        resource.RLIMIT_FSIZE: output_bytes,
        resource.RLIMIT_CORE: 0,
    }
    for name, most in wanted.items():
        _limit(name, most)


def open_nothing_more() -> None:
    """From now on this process opens no file and no connection, and neither does what it might start. To be
    called when all that it needs is loaded."""
    for codec in CODECS:
        codecs.lookup(codec)  # they would be loaded by their first use
    _limit(resource.RLIMIT_NOFILE, 0)  # not 3: a number that was closed could be opened again


def load_reader(kind: str) -> ModuleType:
    """Raises ImportError if a package is missing, or its library in C does not fit this system."""
    try:
        return import_module(f"idea_explorer.adapters.documents.{READERS[kind]}")
    except OSError as error:
        raise ImportError(str(error)) from error


def _limit(name: int, most: int) -> None:
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(name, (most, most))


def main(kind: str, max_chars: int, limits: str) -> None:
    seconds, most_seconds, megabytes = (int(number) for number in limits.split(","))
    # JSON takes at most six bytes for a character, and a line has a label
    limit_process(most_seconds, megabytes, 8 * max_chars + MEGABYTE)
    output = Output(sys.stdout.buffer, max_chars, seconds)
    try:
        reader = load_reader(kind)
        open_nothing_more()
        remark: str = reader.read(sys.stdin.buffer, output)
        output.end(remark, NO_TEXT.get(kind, EMPTY))
    except FullError as error:
        output.end(str(error), f"{EMPTY}: {error}")
    except DamagedError as error:
        output.fail(str(error))
    except ImportError:
        output.fail(
            f"cannot be read: the parser for {kind.upper()} is not installed or does not start"
        )
    except MemoryError:
        output.fail("needs too much memory to read")
    except Exception:  # noqa: BLE001  whatever a parser raises, the document is to blame
        output.fail("cannot be read: it is damaged")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
