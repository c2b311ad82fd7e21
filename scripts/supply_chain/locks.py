"""The packages of a lock file, with the hashes of the files that may be installed."""

import re
from dataclasses import dataclass
from pathlib import Path

from packaging.markers import Marker

ROOT = Path(__file__).parents[2]
LAYERS = ("dependencies", "explore", "documents", "console")
RUNTIME = ROOT / "requirements.lock"
LOCKS = (
    RUNTIME,
    ROOT / "requirements-dev.lock",
    ROOT / "requirements-tools.lock",
    ROOT / "requirements-audit.lock",
)
_PACKAGE = re.compile(r"^([A-Za-z0-9][A-Za-z0-9._-]*)==([^\s;\\]+)(?: ; ([^\\\n]+))?")
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")


@dataclass(frozen=True)
class LockedPackage:
    name: str
    version: str
    hashes: tuple[str, ...]
    marker: str = ""

    @property
    def is_for_linux(self) -> bool:
        linux = {"sys_platform": "linux", "python_full_version": "3.13.0"}
        return not self.marker or Marker(self.marker).evaluate(linux)

    @property
    def purl(self) -> str:
        return f"pkg:pypi/{self.name}@{self.version}"


def read_lock(path: Path) -> list[LockedPackage]:
    packages: list[LockedPackage] = []
    for entry in re.split(r"\n(?=[A-Za-z0-9])", path.read_text("utf-8")):
        if found := _PACKAGE.match(entry):
            name = re.sub(r"[-_.]+", "-", found[1]).lower()
            packages.append(
                LockedPackage(name, found[2], tuple(_HASH.findall(entry)), (found[3] or "").strip())
            )
    return packages


def read_layer(layer: str) -> list[LockedPackage]:
    return read_lock(ROOT / "layers" / layer / "requirements.txt")
