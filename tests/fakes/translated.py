"""The template as CloudFormation gets it: what SAM makes of template.yaml."""

import copy
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from unittest.mock import patch

from tests.e2e.harness.template import (
    ACCOUNT,
    REGION,
    defaults,
    properties,
    state_machine,
    template,
)

UPLOADED = "s3://artifacts/"  # where `sam package` puts code


def translate(
    source: Mapping[str, Any] | None = None,
    uploads: Mapping[str, str] | None = None,
    **parameters: Any,
) -> dict[str, Any]:
    """Translate, with the addresses of uploaded code by logical id; by default each is its own."""
    # takes half a second, which tests that do not translate save
    from samtranslator.parser.parser import Parser
    from samtranslator.translator.translator import Translator

    given = copy.deepcopy(dict(source or template()))
    for name, resource in given["Resources"].items():
        for uri in ("CodeUri", "ContentUri", "DefinitionUri"):
            if uri in resource.get("Properties", {}):
                resource["Properties"][uri] = UPLOADED + (uploads or {}).get(name, name)
    values = {**defaults(), **parameters}
    with patch.dict("os.environ", AWS_DEFAULT_REGION=REGION):
        translator = Translator({}, Parser())
        translated: dict[str, Any] = translator.translate(given, values)
    return translated


def write(folder: Path) -> None:
    """Write template and state machine as AWS gets them, for tools that read files."""
    names = properties("ExplorationWorkflow")["DefinitionSubstitutions"]
    arn = f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:"
    machine = state_machine({n: "aws" if n == "Partition" else arn + n for n in names})
    (folder / "translated.json").write_text(json.dumps(translate(), indent=1))
    (folder / "state-machine.json").write_text(json.dumps(machine, indent=1))


if __name__ == "__main__":
    write(Path(sys.argv[1]))
