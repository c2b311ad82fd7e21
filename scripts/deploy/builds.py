"""What `sam build` made, and whether it is for the architecture that it is deployed to."""

import gzip
import struct
from pathlib import Path

from idea_explorer.domain.errors import ConfigurationError

MACHINES = {183: "arm64", 62: "x86_64"}  # EM_AARCH64 and EM_X86_64 of the ELF header
RECORD = "architecture"


def record_architecture(build: Path, architecture: str) -> None:
    (build / RECORD).write_text(f"{architecture}\n", "utf-8")


def check_build(build: Path, architecture: str) -> None:
    """Raises ConfigurationError for a build for another architecture, or for one that is not known."""
    record = build / RECORD
    if not (build / "template.yaml").is_file() or not record.is_file():
        raise ConfigurationError(
            f"{build} does not contain a complete build.", hint="Run 'make deploy' without BUILT."
        )
    recorded = record.read_text("utf-8").strip()
    if recorded != architecture:
        raise ConfigurationError(
            f"{build} was built for {recorded}, but Architecture is {architecture}.",
            hint="Build it again for the architecture that you deploy.",
        )
    for library in sorted((*build.rglob("*.so"), *build.rglob("*.so.gz"))):
        machine = machine_of(library)
        if machine != architecture:
            raise ConfigurationError(
                f"{library.relative_to(build)} is for {machine}, but Architecture is {architecture}.",
                hint="Build it again for the architecture that you deploy.",
            )


def machine_of(library: Path) -> str:
    """The architecture of a shared library, which may be compressed, by its ELF header."""
    try:
        with gzip.open(library) if library.suffix == ".gz" else library.open("rb") as file:
            header = file.read(20)
    except (gzip.BadGzipFile, EOFError):
        header = b""
    if len(header) < 20 or header[:4] != b"\x7fELF":
        return "no ELF file"
    order = "<" if header[5] == 1 else ">"
    number: int = struct.unpack_from(f"{order}H", header, 18)[0]
    return MACHINES.get(number, f"machine {number}")
