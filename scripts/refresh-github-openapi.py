"""Writes tests/fakes/github_openapi.json: the part of GitHub's own description that the test GitHub keeps to.

The description is npm's `@octokit/openapi`. Only what a request is checked by is kept: paths, query
parameters and body schemas, as plain JSON Schema.
"""

import json
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PACKAGE = "@octokit/openapi"
DESCRIPTION = "package/generated/api.github.com.json"
EXTRACT = ROOT / "tests" / "fakes" / "github_openapi.json"
# Words about values, not rules for them.
LEFT_OUT = {
    "description",
    "example",
    "examples",
    "default",
    "deprecated",
    "title",
    "format",
    "nullable",
}


def download() -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            ["npm", "pack", "--silent", PACKAGE], cwd=folder, check=True, stdout=sys.stderr
        )
        (archive,) = Path(folder).glob("*.tgz")
        with tarfile.open(archive) as package:
            file = package.extractfile(DESCRIPTION)
            assert file is not None
            return json.load(file)


class Extract:
    """The named operations of a description, and the components that their schemas refer to."""

    def __init__(self, description: dict[str, Any]) -> None:
        self._description = description
        self._schemas: dict[str, Any] = {}

    def of(self, names: list[str]) -> dict[str, Any]:
        operations = {name: self._operation(*name.split(" ")) for name in names}
        return {
            "source": f"{PACKAGE} {self._description['info']['version']}",
            "operations": operations,
            "schemas": self._schemas,
        }

    def _operation(self, method: str, path: str) -> dict[str, Any]:
        operation = self._description["paths"][path][method.lower()]
        given = [self._resolved(parameter) for parameter in operation.get("parameters", [])]
        kept: dict[str, Any] = {
            "docs": operation["externalDocs"]["url"],
            "path": {
                p["name"]: {
                    "schema": self._schema(p["schema"]),
                    "many_segments": p.get("x-multi-segment", False),
                }
                for p in given
                if p["in"] == "path"
            },
            "query": {p["name"]: self._schema(p["schema"]) for p in given if p["in"] == "query"},
        }
        if body := operation.get("requestBody"):
            kept["body"] = {
                "required": body.get("required", False),
                "schema": self._schema(body["content"]["application/json"]["schema"]),
            }
        return kept

    def _resolved(self, node: dict[str, Any]) -> dict[str, Any]:
        if "$ref" not in node:
            return node
        found: Any = self._description
        for key in node["$ref"].removeprefix("#/").split("/"):
            found = found[key]
        return found

    def _schema(self, node: Any) -> Any:
        """OpenAPI 3.0 as JSON Schema: `nullable` is a type there, and a reference points into the extract."""
        if isinstance(node, list):
            return [self._schema(item) for item in node]
        if not isinstance(node, dict):
            return node
        if "$ref" in node:
            name = node["$ref"].rsplit("/", 1)[1]
            if name not in self._schemas:
                self._schemas[name] = {}  # it may refer to itself
                self._schemas[name] = self._schema(self._resolved(node))
            return {"$ref": f"#/schemas/{name}"}
        kept = {
            key: {name: self._schema(schema) for name, schema in value.items()}
            if key == "properties"
            else self._schema(value)
            for key, value in node.items()
            if key not in LEFT_OUT and not key.startswith("x-")
        }
        if node.get("nullable") and "type" in kept:
            kept["type"] = [kept["type"], "null"]
        return kept


def main() -> None:
    sys.path.insert(0, str(ROOT))
    from tests.fakes.github_routes import ROUTES

    extract = Extract(download()).of(list(ROUTES))
    EXTRACT.write_text(json.dumps(extract, indent=1, sort_keys=True) + "\n")
    print(
        f"{EXTRACT.relative_to(ROOT)}: {len(extract['operations'])} operations of {extract['source']}"
    )


if __name__ == "__main__":
    main()
