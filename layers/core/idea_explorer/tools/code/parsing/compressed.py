"""Loads grammars that are stored compressed, as in the layer of a deployed function.

They are tables, which compress to a tenth of their size. The system loads libraries from files only, so the
first file in a language unpacks its grammar into a folder that only this user may read and that is gone
when the library is loaded: nothing is left to be found, changed or used by another process. The import system
lets one thread load a module while the others wait for it.
"""

import gzip
import shutil
import sys
import zlib
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import EXTENSION_SUFFIXES, ExtensionFileLoader, ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType

COMPRESSED = ".gz"


def find_compressed_grammars() -> None:
    """From now on. Has no effect on grammars that are not compressed: the usual finders come first."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.append(_Finder())


class _Finder(MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not fullname.startswith("tree_sitter_"):
            return None
        name = fullname.rpartition(".")[2]
        for folder in path or ():
            for suffix in EXTENSION_SUFFIXES:
                file = Path(folder, f"{name}{suffix}{COMPRESSED}")
                if file.is_file():
                    return spec_from_file_location(
                        fullname, file, loader=_Loader(fullname, str(file))
                    )
        return None


class _Loader(ExtensionFileLoader):
    def create_module(self, spec: ModuleSpec) -> ModuleType:
        with TemporaryDirectory(prefix="grammar-") as folder:
            # by its module's name: the system takes two libraries at one path for the same, even if the
            # first is no longer there
            library = Path(folder, f"{self.name}.so")
            _unpack(Path(self.path), library)
            return super().create_module(ModuleSpec(self.name, self, origin=str(library)))


def _unpack(file: Path, library: Path) -> None:
    """Raises ImportError if it is not what was compressed, by its length and checksum."""
    try:
        with gzip.open(file) as compressed, library.open("wb") as written:
            shutil.copyfileobj(compressed, written)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise ImportError(f"{file.name} is damaged: {error}", path=str(file)) from error
