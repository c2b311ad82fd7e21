"""Office files: ZIP archives of XML. Both are read in pieces, and never more of them than a limit.

The XML is read as events, without building a tree. A document type is refused: Office files have none
(ECMA-376, part 2), and entities that expand to gigabytes are declared there.
"""

import struct
import zipfile
import zlib
from collections.abc import Callable, Mapping
from typing import IO
from xml.parsers import expat

from idea_explorer.adapters.documents.output import DamagedError, Output

PIECE = 65_536
MAX_EXPANDED_BYTES = 200 * 1_048_576  # of all that is read of a file, unpacked
MAX_FILES = 20_000
MAX_DEPTH = 256  # Word nests tables in tables, but not that deep
TOO_LARGE = f"unpacks to more than {MAX_EXPANDED_BYTES // 1_048_576} MB"
# What zipfile raises for an archive that is not one; a name that is not UTF-8 is a ValueError.
BROKEN = (zipfile.BadZipFile, struct.error, EOFError, OSError, ValueError)

Start = Callable[[str, Mapping[str, str]], None]
End = Callable[[str], None]
Text = Callable[[str], None]


class OfficePackage:
    """The parts of an Office file by their names."""

    def __init__(self, stream: IO[bytes], output: Output) -> None:
        self._output = output
        self._left = MAX_EXPANDED_BYTES
        try:
            self._archive = zipfile.ZipFile(stream)
            files = self._archive.infolist()
        except (NotImplementedError, *BROKEN) as error:
            raise DamagedError("cannot be read: it is damaged or cut off") from error
        if len(files) > MAX_FILES:
            raise DamagedError(f"holds more than {MAX_FILES:,} files")
        self._files = {file.filename.replace("\\", "/").lower(): file for file in files}

    def has(self, name: str) -> bool:
        return name.lower() in self._files

    def read(
        self, name: str, start: Start, end: End = lambda _: None, text: Text = lambda _: None
    ) -> None:
        """Call these with every element of a part and with its text. Names are without namespaces: the two
        editions of the standard differ in those."""
        if not self.has(name):
            raise DamagedError(f"cannot be read: it has no {name}")
        parser = _make_parser(start, end, text)
        try:
            with self._archive.open(self._files[name.lower()]) as part:
                while piece := part.read(PIECE):
                    self._left -= len(piece)
                    if self._left < 0:
                        raise DamagedError(TOO_LARGE)
                    self._output.check_time("a part of it")
                    parser.Parse(piece, False)
            parser.Parse(b"", True)
        except NotImplementedError as error:
            raise DamagedError("cannot be read: it is packed in a way that is not known") from error
        except RuntimeError as error:  # what zipfile raises for a file with a password
            raise DamagedError("is encrypted; save it without a password") from error
        except (expat.ExpatError, zlib.error, *BROKEN) as error:
            raise DamagedError("cannot be read: it is damaged") from error

    def targets(self, part: str) -> dict[str, tuple[str, str]]:
        """The relationships of a part: by their ids, their kind and the part that they lead to."""
        folder, _, name = part.rpartition("/")
        return self._read_targets(folder, f"{folder}/_rels/{name}.rels")

    def main_part(self, usual: str) -> str:
        """The part that a document begins with, by the relationships of the package."""
        for kind, target in self._read_targets("", "_rels/.rels").values():
            if kind == "officeDocument" and self.has(target):
                return target
        return usual

    def _read_targets(self, folder: str, listed: str) -> dict[str, tuple[str, str]]:
        found: dict[str, tuple[str, str]] = {}

        def start(element: str, values: Mapping[str, str]) -> None:
            if element == "Relationship" and values.get("TargetMode") != "External":
                kind = values.get("Type", "").rpartition("/")[2]
                found[values.get("Id", "")] = (kind, _resolve(folder, values.get("Target", "")))

        if self.has(listed):
            self.read(listed, start)
        return found


def _resolve(folder: str, target: str) -> str:
    """The name of a part that is given relative to a folder, or from the root."""
    whole = target if target.startswith("/") else f"{folder}/{target}"
    names: list[str] = []
    for name in whole.split("/"):
        if name == "..":
            del names[-1:]
        elif name not in {"", "."}:
            names.append(name)
    return "/".join(names)


def _make_parser(start: Start, end: End, text: Text) -> expat.XMLParserType:
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    depth = 0

    def refuse(*_: object) -> None:
        raise DamagedError("cannot be read: it declares a document type, which Office files do not")

    def opened(name: str, values: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > MAX_DEPTH:
            raise DamagedError("cannot be read: it is nested too deep")
        start(_local(name), {_attribute(key): value for key, value in values.items()})

    def closed(name: str) -> None:
        nonlocal depth
        depth -= 1
        end(_local(name))

    parser.StartDoctypeDeclHandler = refuse
    parser.StartElementHandler = opened
    parser.EndElementHandler = closed
    parser.CharacterDataHandler = text
    return parser


def _local(name: str) -> str:
    return name.rpartition(" ")[2]


def _attribute(name: str) -> str:
    """The id of a relationship may stand beside an id of another kind."""
    namespace, _, local = name.rpartition(" ")
    return f"r:{local}" if namespace.endswith("/relationships") else local
