"""A build is deployed only to the architecture that it is for."""

import gzip
import struct
from pathlib import Path

import pytest

from idea_explorer.domain.errors import ConfigurationError
from scripts.deploy.builds import check_build, machine_of, record_architecture

AARCH64, X86_64, S390 = 183, 62, 22


def library(machine: int, *, order: str = "<") -> bytes:
    identity = b"\x7fELF\x02" + (b"\x01" if order == "<" else b"\x02") + bytes(10)
    return identity + struct.pack(f"{order}HH", 3, machine) + bytes(40)


def build(folder: Path, machine: int, recorded: str) -> Path:
    python = folder / "DependenciesLayer" / "python"
    python.mkdir(parents=True)
    (folder / "template.yaml").write_text("Resources: {}")
    (python / "_re2.abi3.so").write_bytes(library(machine))
    record_architecture(folder, recorded)
    return folder


def test_a_build_for_the_architecture_is_taken(tmp_path: Path) -> None:
    check_build(build(tmp_path / "a", AARCH64, "arm64"), "arm64")
    check_build(build(tmp_path / "b", X86_64, "x86_64"), "x86_64")


@pytest.mark.parametrize(
    ("machine", "recorded", "sentence"),
    [
        (AARCH64, "arm64", "was built for arm64, but Architecture is x86_64"),
        (AARCH64, "x86_64", r"_re2\.abi3\.so is for arm64, but Architecture is x86_64"),
        (S390, "x86_64", r"_re2\.abi3\.so is for machine 22"),
    ],
)
def test_any_other_build_is_refused(
    tmp_path: Path, machine: int, recorded: str, sentence: str
) -> None:
    with pytest.raises(ConfigurationError, match=sentence):
        check_build(build(tmp_path, machine, recorded), "x86_64")


def test_a_compressed_library_for_another_architecture_is_refused(tmp_path: Path) -> None:
    made = build(tmp_path, X86_64, "x86_64")
    (made / "_binding.abi3.so.gz").write_bytes(gzip.compress(library(X86_64)))
    check_build(made, "x86_64")

    (made / "_binding.abi3.so.gz").write_bytes(gzip.compress(library(AARCH64)))

    with pytest.raises(ConfigurationError, match=r"_binding\.abi3\.so\.gz is for arm64"):
        check_build(made, "x86_64")


def test_what_is_no_build_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="does not contain a complete build"):
        check_build(tmp_path, "arm64")


def test_the_machine_is_read_in_the_byte_order_of_the_file(tmp_path: Path) -> None:
    file = tmp_path / "a.so"
    file.write_bytes(library(AARCH64, order=">"))
    assert machine_of(file) == "arm64"
    file.write_bytes(b"text")
    assert machine_of(file) == "no ELF file"


@pytest.mark.parametrize("damaged", [gzip.compress(bytes(100), mtime=0)[:15], b"text"])
def test_a_compressed_library_that_is_damaged_is_no_library(tmp_path: Path, damaged: bytes) -> None:
    file = tmp_path / "a.so.gz"
    file.write_bytes(damaged)
    assert machine_of(file) == "no ELF file"
