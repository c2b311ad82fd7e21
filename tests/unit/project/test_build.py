"""What `sam build` made. Run by `make build`."""

import importlib.util
import os
from pathlib import Path

import pytest

from scripts.deploy.builds import check_build
from tests.e2e.harness.template import ROOT

pytestmark = pytest.mark.slow
BUILT = ROOT / os.environ.get("BUILD", ".aws-sam/deploy-arm64")
LAYERS = ("CoreLayer", "DependenciesLayer")
MAX_BYTES = (
    100 * 1024 * 1024
)  # unzipped; Lambda takes 250 MB, but every cold start reads what it takes


def size_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def test_the_explore_package_is_small_enough() -> None:
    assert sum(size_of(BUILT / part) for part in (*LAYERS, "ExploreFunction")) <= MAX_BYTES


@pytest.mark.parametrize("layer", LAYERS)
def test_every_module_of_a_layer_comes_with_its_bytecode(layer: str) -> None:
    modules = list((BUILT / layer / "python").rglob("*.py"))

    without = [m for m in modules if not Path(importlib.util.cache_from_source(str(m))).exists()]
    assert modules
    assert without == []


def test_bytecode_is_used_whatever_the_times_of_the_files() -> None:
    compiled = next((BUILT / "CoreLayer" / "python").rglob("*.pyc"))

    flags = int.from_bytes(compiled.read_bytes()[4:8], "little")
    assert flags == 0b01  # by hash, never checked


@pytest.mark.parametrize("package", ["boto3", "botocore", "rich", "numpy"])
def test_what_lambda_has_or_nobody_needs_there_is_left_out(package: str) -> None:
    assert not (BUILT / "DependenciesLayer" / "python" / package).exists()


def test_every_library_is_for_the_architecture_that_it_was_built_for() -> None:
    assert list(BUILT.rglob("*.so"))
    check_build(BUILT, (BUILT / "architecture").read_text("utf-8").strip())
