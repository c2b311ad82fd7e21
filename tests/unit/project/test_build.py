"""What `sam build` made. Run by `make build`."""

import ast
import importlib.util
import json
import os
import re
import runpy
import subprocess
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from importlib.util import resolve_name
from pathlib import Path
from typing import Any

import pytest

from scripts.deploy.builds import check_build
from tests.e2e.harness.built import BUILT, path_of, runs_here
from tests.e2e.harness.template import ROOT, layers_of
from tests.unit.project.test_imports import ENVIRONMENT, FUNCTIONS

pytestmark = pytest.mark.slow
TRIM: dict[str, Any] = runpy.run_path(str(ROOT / "scripts" / "trim-anthropic"))
LAYERS = ("CoreLayer", "DependenciesLayer", "ExploreLayer", "DocumentsLayer", "ConsoleLayer")
# Loaded by calls, not by the start.
USED = {
    "api": "boto3, idea_explorer.console.markdown, idea_explorer.adapters.idempotency",
    "explore": "idea_explorer.adapters.claude, idea_explorer.tools.code, re2, tree_sitter, httpx2, pypdfium2",
    "follow": "botocore.session, idea_explorer.lambda_runtime.streaming, idea_explorer.api.events",
    "publish": "idea_explorer.adapters.github.publisher",
    "notify": "idea_explorer.adapters.http.public, standardwebhooks",
}
MAX_BYTES = (
    45_000_000  # unzipped, of all layers of the explore function; docs/adr/0029 has what they are
)
# Imports of what was left out, by who would load it: none of our calls comes there.
NEVER_REACHED = {
    # idempotency would, for a request or response that is a model: ours are plain JSON
    "aws_lambda_powertools.shared.functions": "aws_lambda_powertools.event_handler.openapi.compat",
    "pydantic._internal._generate_schema": "pydantic.v1",  # for types that were made for version 1
}
WITHOUT_SPANS = "idea_explorer.adapters.otlp"  # its packages are installed by who wants them


def size_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def test_the_layers_of_the_explore_function_are_small_enough() -> None:
    sizes = {layer: size_of(BUILT / layer) for layer in layers_of("ExploreFunction")}

    assert sum(sizes.values()) <= MAX_BYTES, sizes


@pytest.mark.parametrize("function", FUNCTIONS)
def test_no_import_in_a_functions_layers_leads_to_what_was_left_out(function: str) -> None:
    resource = f"{function.capitalize()}Function"
    places = [BUILT / resource, *path_of(resource)]
    packages = {path.stem for place in places for path in place.iterdir()}
    whole = [Path(sysconfig.get_path("purelib")), ROOT / "layers" / "core"]

    missed = [
        (module, imported)
        for place in places
        for module, imported in imports_below(place)
        if imported.partition(".")[0] in packages
        and is_there(imported, whole)
        and not is_there(imported, places)
        and NEVER_REACHED.get(module) != imported
        and module != WITHOUT_SPANS
    ]
    assert missed == []


def imports_below(folder: Path) -> Iterator[tuple[str, str]]:
    """Each module with each that it imports, inside its functions too. Without what of the anthropic SDK is
    never loaded: its packages that only repeat names, and the properties of its client for each API."""
    for file in folder.rglob("*.py"):
        text = file.read_text("utf-8")
        module = ".".join(file.relative_to(folder).with_suffix("").parts).removesuffix(".__init__")
        is_package = file.name == "__init__.py"
        is_of_sdk = TRIM["is_within"](module, TRIM["SDK"])
        if is_package and is_of_sdk and TRIM["LAZY_SDK"]["names_to_find"](module, text):
            continue
        package = module if is_package else module.rpartition(".")[0]
        for node, is_called in TRIM["imports_in"](ast.parse(text)):
            if isinstance(node, ast.Import):
                yield from ((module, alias.name) for alias in node.names)
                continue
            source = resolve_name("." * node.level + (node.module or ""), package)
            if not (is_called and TRIM["is_within"](source, TRIM["APIS"])):
                yield module, source
                yield from ((module, f"{source}.{alias.name}") for alias in node.names)


def is_there(module: str, places: Sequence[Path]) -> bool:
    paths = [place.joinpath(*module.split(".")) for place in places]
    return any(path.is_dir() or path.with_suffix(".py").is_file() for path in paths)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_function_finds_all_it_uses_in_its_layers(function: str) -> None:
    if not runs_here():
        pytest.skip("built for another architecture than this machine's")
    resource = f"{function.capitalize()}Function"

    ran = run_built(resource, f"import app, {USED.get(function, 'botocore.session')}")

    assert ran.stderr == ""


def run_built(resource: str, code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [getattr(sys, "_base_executable", sys.executable), "-S", "-c", code],
        cwd=BUILT / resource,
        env={
            **ENVIRONMENT,
            "PYTHONPATH": os.pathsep.join(map(str, path_of(resource))),
            "PYTHONDONTWRITEBYTECODE": "1",  # the folder is what will be deployed
        },
        capture_output=True,
        text=True,
        check=False,
    )


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


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_start_compiles_no_methods_of_dataclasses(function: str) -> None:
    if not runs_here():
        pytest.skip("built for another architecture than this machine's")
    resource = f"{function.capitalize()}Function"
    code = (
        "import sys; texts = [];"
        "sys.addaudithook(lambda event, given: event == 'compile' and texts.append(given[0]));"
        f"import app, {USED.get(function, 'botocore.session')};"
        "print('loaded', *(text for text in texts if '__create_fn__' in str(text)))"
    )

    assert run_built(resource, code).stdout.strip() == "loaded"


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
