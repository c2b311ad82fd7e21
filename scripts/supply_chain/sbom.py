"""The software bill of materials of a release, in CycloneDX 1.6."""

import json
import tomllib
import uuid
from importlib.metadata import requires
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from scripts.supply_chain.licences import check_licences, released_packages
from scripts.supply_chain.locks import ROOT, LockedPackage

PROPERTY = "idea-explorer:layer"


def build_sbom() -> dict[str, Any]:
    """The same text for the same locks: there is no time in it, and the serial number follows from them."""
    packages = released_packages()
    licences = check_licences(packages)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    application = {
        "type": "application",
        "bom-ref": project["name"],
        "name": project["name"],
        "version": project["version"],
        "description": project["description"],
        "licenses": [{"license": {"id": project["license"]}}],
    }
    components = [
        _describe(package, licences[name], layer) for name, (package, layer) in packages.items()
    ]
    direct = {canonicalize_name(Requirement(text).name) for text in project["dependencies"]}
    refs = {name: package.purl for name, (package, _) in packages.items()}
    dependencies = [{"ref": project["name"], "dependsOn": sorted(refs[name] for name in direct)}]
    dependencies += [
        {"ref": ref, "dependsOn": sorted(refs[needed] for needed in _needs(name) & refs.keys())}
        for name, ref in refs.items()
    ]
    contents = json.dumps([application, components])
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": uuid.uuid5(uuid.NAMESPACE_URL, contents).urn,
        "version": 1,
        "metadata": {"component": application},
        "components": components,
        "dependencies": dependencies,
    }


def render_sbom() -> str:
    return json.dumps(build_sbom(), indent=2) + "\n"


def _describe(package: LockedPackage, licence: str, layer: str) -> dict[str, Any]:
    """`hashes` are those of all files of this version that the lock accepts: one for each platform."""
    is_single = " " not in licence
    return {
        "type": "library",
        "bom-ref": package.purl,
        "name": package.name,
        "version": package.version,
        "purl": package.purl,
        "licenses": [{"license": {"id": licence}}] if is_single else [{"expression": licence}],
        "hashes": [{"alg": "SHA-256", "content": content} for content in package.hashes],
        "properties": [{"name": PROPERTY, "value": layer}],
    }


def _needs(name: str) -> set[str]:
    wanted = [Requirement(text) for text in requires(name) or []]
    return {
        str(canonicalize_name(requirement.name))
        for requirement in wanted
        if requirement.marker is None or requirement.marker.evaluate({"extra": ""})
    }
