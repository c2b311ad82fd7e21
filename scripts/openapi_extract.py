"""The part of a service's OpenAPI description that its stand-in in the tests keeps to.

Only what requests and responses are checked by is kept: paths, query parameters and schemas, as JSON Schema.
"""

import json
import sys
import urllib.request
from collections.abc import Collection
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
FAKES = ROOT / "tests" / "fakes"
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


def download(url: str) -> dict[str, Any]:
    """The description from its address, or from a file given on the command line."""
    if len(sys.argv) > 1:
        return json.loads(Path(sys.argv[1]).read_text("utf-8"))
    with urllib.request.urlopen(url, timeout=60) as response:
        return json.load(response)


def write(extract: dict[str, Any], name: str) -> None:
    path = FAKES / name
    path.write_text(json.dumps(extract, indent=1, sort_keys=True) + "\n")
    print(
        f"{path.relative_to(ROOT)}: {len(extract['operations'])} operations of {extract['source']}"
    )


class Extract:
    """The named operations of a description, and the components that their schemas refer to.

    `responses` keeps the schema of a success too. Where a schema is one of many by a discriminator,
    only the types of `types` are kept.
    """

    def __init__(
        self,
        description: dict[str, Any],
        source: str,
        *,
        responses: bool = False,
        types: Collection[str] = (),
    ) -> None:
        self._description = description
        self._source = source
        self._responses = responses
        self._types = types
        self._schemas: dict[str, Any] = {}

    def of(self, names: Collection[str]) -> dict[str, Any]:
        operations = {name: self._operation(*name.split(" ")) for name in names}
        return {
            "source": f"{self._source} {self._description['info']['version']}",
            "operations": operations,
            "schemas": self._schemas,
        }

    def _operation(self, method: str, path: str) -> dict[str, Any]:
        operation = self._description["paths"][path][method.lower()]
        given = [self._resolved(parameter) for parameter in operation.get("parameters", [])]
        kept: dict[str, Any] = {
            "docs": operation.get("externalDocs", {}).get("url", ""),
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
        if required := [p["name"] for p in given if p["in"] == "query" and p.get("required")]:
            kept["required_query"] = required
        if body := operation.get("requestBody"):
            kept["body"] = {
                "required": body.get("required", False),
                "schema": self._schema(body["content"]["application/json"]["schema"]),
            }
        if self._responses:
            (content,) = operation["responses"]["200"]["content"].values()
            kept["response"] = self._schema(content["schema"])
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
        if self._types and "mapping" in node.get("discriminator", {}):
            return self._chosen_types(node["discriminator"])
        kept = {
            key: {name: self._schema(schema) for name, schema in value.items()}
            if key == "properties"
            else self._schema(value)
            for key, value in node.items()
            if key not in LEFT_OUT and not key.startswith("x-") and key != "discriminator"
        }
        if node.get("nullable"):
            if not kept:
                return {"type": "null"}
            if "type" in kept:
                kept["type"] = [kept["type"], "null"]
            elif "anyOf" in kept:
                kept["anyOf"] = [*kept["anyOf"], {"type": "null"}]
        return kept

    def _chosen_types(self, discriminator: dict[str, Any]) -> dict[str, Any]:
        name, mapping = discriminator["propertyName"], discriminator["mapping"]
        return {
            "type": "object",
            "required": [name],
            "properties": {name: {"enum": sorted(self._types)}},
            "additionalProperties": True,
            "allOf": [
                {
                    "if": {"properties": {name: {"const": each}}, "additionalProperties": True},
                    "then": self._schema({"$ref": mapping[each]}),
                }
                for each in sorted(self._types)
            ],
        }
