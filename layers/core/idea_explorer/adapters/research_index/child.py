"""The child process: reads documents from stdin and writes what the index records of them to stdout, one line
of JSON out for each line in.

    python -m idea_explorer.adapters.research_index.child VERSION

It does nothing if its version is not that of its parent, which may be older than what is on the disk by now:
an index has what one version finds. It ends with its input, so that it does not outlive its parent. It
loads little, so that it starts quickly.
"""

import json
import sys
from collections.abc import Iterable, Sequence

from idea_explorer import __version__
from idea_explorer.domain.document_fields import ParsedText, parse_text


def read_documents(documents: Iterable[Sequence[str]]) -> list[ParsedText | None]:
    """Of documents, each with its path and text. None for one that cannot be read."""
    return [_read_document(path, text) for path, text in documents]


def _read_document(path: str, text: str) -> ParsedText | None:
    try:
        return parse_text(path, text)
    except Exception:  # noqa: BLE001  whoever writes the index meets the same error, and records it
        return None


def main() -> None:
    if sys.argv[1:] != [__version__]:
        return
    output = sys.stdout.buffer
    for line in sys.stdin.buffer:
        output.write(json.dumps(read_documents(json.loads(line))).encode() + b"\n")
        output.flush()


if __name__ == "__main__":
    main()
