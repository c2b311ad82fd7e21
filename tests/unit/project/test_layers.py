"""The layers: what is installed where, and what is left of packages."""

import gzip
import json
import platform
import re
import runpy
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.e2e.harness.template import ROOT, layers_of, resources_of, template

LAYERS = {
    "dependencies": "DependenciesLayer",
    "explore": "ExploreLayer",
    "documents": "DocumentsLayer",
    "console": "ConsoleLayer",
}
# nothing on Lambda draws on a terminal, stores secrets in files (docs/adr/0015) or listens on a port (0016)
LEFT_OUT = {"rich", "cryptography", "httpx", "keyring", "uvicorn"}
TRIM: dict[str, Any] = runpy.run_path(str(ROOT / "scripts" / "trim-botocore"))
TRIM_ANTHROPIC: dict[str, Any] = runpy.run_path(str(ROOT / "scripts" / "trim-anthropic"))
TRIM_LAYER: dict[str, Any] = runpy.run_path(str(ROOT / "scripts" / "trim-layer"))


def names_in(lines: list[str]) -> set[str]:
    found = [re.match(r"[A-Za-z0-9][A-Za-z0-9._-]*", line) for line in lines]
    return {match[0].lower() for match in found if match}


def wanted(layer: str) -> set[str]:
    return names_in((ROOT / "layers" / layer / "requirements.in").read_text().splitlines())


def locked(file: Path) -> dict[str, str]:
    return dict(re.findall(r"^([a-z0-9._-]+)==(\S+)", file.read_text(), re.MULTILINE))


def test_every_dependency_is_in_one_layer() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    in_layers = [name for layer in LAYERS for name in wanted(layer)]

    assert len(in_layers) == len(set(in_layers))
    assert set(in_layers) == names_in(project["dependencies"]) - LEFT_OUT


def test_layers_have_the_versions_that_are_tested_and_nothing_twice() -> None:
    tested = locked(ROOT / "requirements.lock")
    installed = {layer: locked(ROOT / "layers" / layer / "requirements.txt") for layer in LAYERS}

    for layer, packages in installed.items():
        assert packages.items() <= tested.items()
        assert wanted(layer) <= packages.keys()
    names = [name for packages in installed.values() for name in packages]
    assert len(names) == len(set(names))


def test_only_explore_has_the_model_and_only_the_api_shows_html() -> None:
    for function in resources_of("AWS::Serverless::Function"):
        expected = ["CoreLayer", "DependenciesLayer"]
        explores = function == "ExploreFunction"
        expected += ["ExploreLayer", "DocumentsLayer"] if explores else []
        expected += ["ConsoleLayer"] if function == "ApiFunction" else []
        assert layers_of(function) == expected


def test_botocore_keeps_every_service_that_a_function_calls() -> None:
    source = ROOT / "layers" / "core" / "idea_explorer"
    operators = source / "adapters" / "aws" / "deployment.py"  # called by the command line only
    files = [path for path in source.rglob("*.py") if path != operators]
    text = "".join(path.read_text("utf-8") for path in files)
    called = set(re.findall(r"(?:connect\(|client, ?)\"([a-z0-9-]+)\"", text))

    assert {"dynamodb", "s3", "secretsmanager"} <= called
    assert called <= TRIM["SERVICES"]


def test_botocore_is_left_with_our_services_without_their_documentation(tmp_path: Path) -> None:
    model = {
        "metadata": {"endpointPrefix": "states"},
        "documentation": "long",
        "shapes": {"A": {"members": {"documentation": {"shape": "B", "documentation": "long"}}}},
    }
    data = tmp_path / "botocore" / "data"
    for service in [*TRIM["SERVICES"], "ec2"]:
        (tmp_path / "boto3" / "data" / service).mkdir(parents=True)
        folder = data / service / "2016-11-23"
        folder.mkdir(parents=True)
        (folder / "service-2.json.gz").write_bytes(gzip.compress(json.dumps(model).encode()))
        (folder / "examples-1.json").write_text("{}")
    endpoints = {"partitions": [{"services": {"states": {"a": 1}, "ec2": {}}}], "version": 3}
    (data / "endpoints.json").write_text(json.dumps(endpoints))

    TRIM["main"](tmp_path)

    assert {path.name for path in data.iterdir() if path.is_dir()} == TRIM["SERVICES"]
    assert {path.name for path in (tmp_path / "boto3" / "data").iterdir()} == TRIM["SERVICES"]
    (kept,) = (data / "stepfunctions" / "2016-11-23").iterdir()
    assert kept.name == "service-2.json"
    assert json.loads(kept.read_text()) == {
        "metadata": {"endpointPrefix": "states"},
        "documentation": "",  # botocore reads some of them
        "shapes": {"A": {"members": {"documentation": {"shape": "B", "documentation": ""}}}},
    }
    left = json.loads((data / "endpoints.json").read_text())
    assert left == {"partitions": [{"services": {"states": {"a": 1}}}], "version": 3}


def test_a_library_without_its_symbols_is_smaller_and_still_loads(tmp_path: Path) -> None:
    original = Path(str(yaml._yaml.__file__))
    library = tmp_path / original.name
    shutil.copy(original, library)

    TRIM_LAYER["main"](tmp_path)

    assert library.stat().st_size < original.stat().st_size / 2
    code = (
        "from importlib.util import module_from_spec, spec_from_file_location;"
        f"spec = spec_from_file_location('yaml._yaml', {str(library)!r});"
        "module = module_from_spec(spec); spec.loader.exec_module(module);"
        "print(module.get_version_string(), module.__file__)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.split()[1] == str(library)


def files_in(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def write(folder: Path, files: dict[str, str]) -> None:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content, "utf-8")


def test_a_layer_is_left_without_what_no_function_loads(tmp_path: Path) -> None:
    unused = [
        f"{package}/{part}/module.py" if not part.endswith(".py") else f"{package}/{part}"
        for package, parts in TRIM_LAYER["UNUSED"].items()
        for part in parts
    ]
    notes = [f"yaml-6.dist-info/{name}" for name in ("RECORD", "WHEEL", "sboms/auditwheel.json")]
    kept = {"pydantic/main.py", "yaml-6.dist-info/METADATA", "yaml-6.dist-info/entry_points.txt"}
    write(tmp_path, dict.fromkeys([*unused, *notes, *kept, "yaml/__init__.pyi"], "text"))

    TRIM_LAYER["main"](tmp_path)

    assert files_in(tmp_path) == kept


def test_a_part_that_a_new_version_of_a_package_no_longer_has_is_noticed(tmp_path: Path) -> None:
    write(tmp_path, {"pydantic/main.py": ""})

    with pytest.raises(FileNotFoundError):
        TRIM_LAYER["main"](tmp_path)


def test_grammars_are_compressed_to_the_same_bytes_each_time(tmp_path: Path) -> None:
    made = []
    for folder in (tmp_path / "once", tmp_path / "again"):
        write(folder, {"tree_sitter_c/_binding.abi3.so": "table" * 99, "re2/_re2.so": "code"})
        TRIM_LAYER["main"](folder)
        assert files_in(folder) == {"tree_sitter_c/_binding.abi3.so.gz", "re2/_re2.so"}
        made.append((folder / "tree_sitter_c" / "_binding.abi3.so.gz").read_bytes())

    assert made[0] == made[1]
    assert gzip.decompress(made[0]) == b"table" * 99


OURS = """
import anthropic

class Claude:
    client: anthropic.Anthropic

    def check(self) -> None:
        self.client.models.list()
"""
SDK = {
    "__init__.py": "from . import types\nfrom ._client import Anthropic\nfrom .lib.vertex import Vertex\n",
    "_client.py": """
from typing import TYPE_CHECKING
from ._streaming import Stream
if TYPE_CHECKING:
    from .types import ForCheckers
else:
    from ._compat import compatible
class Anthropic:
    def models(self):
        from .resources.models import Models
    def beta(self):
        from .resources.beta import Beta
    def refuse(self):
        from ._errors import Refused
""",
    "_compat.py": "",
    "_errors.py": "from .types.beta import BetaRefused as Refused",
    "_streaming.py": "import anthropic.types.event\nfrom typing import Any",
    "_unasked.py": "",
    "lib/vertex.py": "",
    "resources/__init__.py": "from .beta import Beta\nfrom .models import Models\n",
    "resources/beta.py": "from ..types import BetaMessage",
    "resources/models.py": "from ..types import Model",
    "types/__init__.py": """
from .model import Model as Model
from .beta import BetaMessage as BetaMessage
from .for_checkers import ForCheckers as ForCheckers
""",
    "types/beta/__init__.py": "from .message import BetaMessage\nfrom .refused import BetaRefused\n",
    "types/beta/message.py": "",
    "types/beta/refused.py": "",
    "types/event.py": "",
    "types/for_checkers.py": "",
    "types/model.py": "from . import model_line",
    "types/model_line.py": "",
    "lib/tools/browser.py": "",
}
NEVER_LOADED = {
    *("_unasked.py", "lib/vertex.py", "lib/tools/browser.py", "resources/beta.py"),
    *("types/beta/message.py", "types/for_checkers.py"),
}


def test_the_sdk_keeps_what_our_calls_can_load(tmp_path: Path) -> None:
    layer, source = tmp_path / "layer", tmp_path / "source"
    write(layer / "anthropic", SDK)
    write(source, {"claude.py": OURS})

    TRIM_ANTHROPIC["main"](layer, source)

    assert files_in(layer / "anthropic") == SDK.keys() - NEVER_LOADED
    assert not (layer / "anthropic" / "lib").exists()


def test_our_source_asks_the_sdk_for_both_clients_and_their_errors() -> None:
    asked = {*TRIM_ANTHROPIC["asked_by"](TRIM_ANTHROPIC["OURS"])}

    names = {"Anthropic", "AnthropicAWS", "APIStatusError", "Stream"}
    assert {("anthropic", name) for name in names} <= asked
    assert ("anthropic.resources", "models") in asked


@pytest.mark.parametrize("content", [b"", b"not a library", b"\x7fELF\x01\x01" + bytes(60)])
def test_what_is_no_library_of_lambdas_machines_stays_as_it_is(content: bytes) -> None:
    assert TRIM_LAYER["without_symbols"](content) == content


def test_what_runs_here_is_built_for_this_machine_and_what_is_deployed_is_not() -> None:
    """Layers take their wheels by this variable, and a deployment's default is another one than most
    machines have."""

    def architecture(target: str) -> str:
        command = ["make", "--dry-run", "--no-print-directory", target]
        steps = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
        (found,) = set(re.findall(r" ARCHITECTURE=(\w+) .*sam build", steps))
        return str(found)

    machine = "arm64" if platform.machine() in {"arm64", "aarch64"} else "x86_64"
    assert architecture("local-build") == machine
    assert architecture("build") == "arm64"


def test_the_api_of_this_machine_has_what_explorations_need(tmp_path: Path) -> None:
    """Without a queue it runs them by itself."""
    built = tmp_path / "template.yaml"
    built.write_text(yaml.safe_dump(template()), "utf-8")

    script = ROOT / "scripts" / "prepare-local-template"
    subprocess.run([sys.executable, script, built], check=True)

    functions = yaml.safe_load(built.read_text("utf-8"))["Resources"]
    layers = [layer["Ref"] for layer in functions["ApiFunction"]["Properties"]["Layers"]]
    assert {"ConsoleLayer", "ExploreLayer", "DocumentsLayer"} <= {*layers}
    assert "FunctionName" not in functions["ApiFunction"]["Properties"]
