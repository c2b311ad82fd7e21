"""What `sam build` made. Run by `make build`."""

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.deploy.builds import check_build
from tests.e2e.harness.template import ROOT
from tests.unit.project.test_imports import ENVIRONMENT, FUNCTIONS
from tests.unit.project.test_layers import layers_of

pytestmark = pytest.mark.slow
BUILT = ROOT / os.environ.get("BUILD", ".aws-sam/deploy-arm64")
LAYERS = ("CoreLayer", "DependenciesLayer", "ExploreLayer", "DocumentsLayer", "ConsoleLayer")
# Loaded by calls, not by the start.
USED = {
    "api": "boto3, idea_explorer.console.markdown, idea_explorer.adapters.idempotency",
    "explore": "idea_explorer.adapters.claude, idea_explorer.tools.code, re2, tree_sitter, httpx2, pypdfium2",
    "follow": "botocore.session, idea_explorer.lambda_runtime.streaming, idea_explorer.api.events",
    "publish": "idea_explorer.adapters.github.publisher",
    "notify": "idea_explorer.adapters.http.public, standardwebhooks",
}
# Unzipped: Lambda takes 250 MB, but a cold start waits for what it reads. docs/adr/0012 has the sizes.
MAX_BYTES = {"ExploreLayer": 45_000_000, "all layers": 86_000_000}


def size_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def test_the_explore_package_is_small_enough() -> None:
    sizes = {layer: size_of(BUILT / layer) for layer in layers_of("ExploreFunction")}

    assert sizes["ExploreLayer"] <= MAX_BYTES["ExploreLayer"]
    assert sum(sizes.values()) <= MAX_BYTES["all layers"]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_function_finds_all_it_uses_in_its_layers(function: str) -> None:
    if not [*BUILT.rglob(f"_pydantic_core*{os.uname().machine}*")]:
        pytest.skip("built for another architecture than this machine's")
    resource = f"{function.capitalize()}Function"
    layers = [BUILT / layer / "python" for layer in layers_of(resource)]
    code = f"import app, {USED.get(function, 'botocore.session')}"

    ran = subprocess.run(
        [getattr(sys, "_base_executable", sys.executable), "-S", "-c", code],
        cwd=BUILT / resource,
        env={**ENVIRONMENT, "PYTHONPATH": os.pathsep.join(map(str, layers))},
        capture_output=True,
        text=True,
        check=False,
    )

    assert ran.stderr == ""


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


@pytest.mark.parametrize(
    "package", ["rich", "numpy", "aws_xray_sdk", "anthropic", "re2", "nh3", "pypdfium2"]
)
def test_what_not_all_functions_use_is_left_out_of_their_common_layer(package: str) -> None:
    assert not (BUILT / "DependenciesLayer" / "python" / package).exists()


def test_the_bill_of_materials_lists_whatever_was_installed_into_the_layers() -> None:
    sbom = json.loads((BUILT / "sbom.cdx.json").read_text("utf-8"))
    listed = {component["purl"] for component in sbom["components"]}
    names = [
        path.stem for layer in LAYERS for path in (BUILT / layer / "python").glob("*.dist-info")
    ]
    installed = [name.rpartition("-") for name in names]

    assert names
    assert {
        f"pkg:pypi/{re.sub(r'[-_.]+', '-', name).lower()}@{version}"
        for name, _, version in installed
    } <= listed


def test_every_library_is_for_the_architecture_that_it_was_built_for() -> None:
    assert list(BUILT.rglob("*.so"))
    check_build(BUILT, (BUILT / "architecture").read_text("utf-8").strip())
