"""What a parser finds in a source file: what it defines, and what it imports."""

from dataclasses import dataclass
from typing import Literal

DefinitionKind = Literal["function", "class", "variable", "import"]


@dataclass(frozen=True, slots=True)
class Definition:
    """`container` is the dotted chain of classes and functions around it."""

    name: str
    kind: DefinitionKind
    line: int
    signature: str
    container: str = ""


@dataclass(frozen=True, slots=True)
class Import:
    """One thing that an import statement names: a module, or something out of one.

    `target` is its path in segments, `a/b/c`. `level` is 0 for an absolute one; otherwise it counts from
    the importing file's folder (1) upwards. `bound` is the name it gets in the file, where it gets one.
    """

    target: str
    line: int
    statement: str
    level: int = 0
    bound: str = ""

    @property
    def last(self) -> str:
        """The last segment; empty for a relative import of the folder itself."""
        return self.target.rpartition("/")[2]


@dataclass(frozen=True, slots=True)
class Parsed:
    definitions: tuple[Definition, ...] = ()
    imports: tuple[Import, ...] = ()
