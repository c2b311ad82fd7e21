"""The bill of materials, the licences and the advisories."""

import json
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from scripts.supply_chain import advisories
from scripts.supply_chain.advisories import (
    AdvisoryError,
    check_offline,
    collect_advisories,
    find_vulnerable,
)
from scripts.supply_chain.licences import (
    LicenceError,
    check_licences,
    find_licence,
    is_allowed,
    render_licences,
)
from scripts.supply_chain.locks import LAYERS, LOCKS, ROOT, LockedPackage, read_layer, read_lock
from scripts.supply_chain.sbom import PROPERTY, build_sbom, render_sbom


@pytest.fixture(scope="module")
def sbom() -> dict[str, Any]:
    return build_sbom()


def test_the_bill_of_materials_is_valid_and_the_same_each_time(sbom: dict[str, Any]) -> None:
    text = render_sbom()

    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) is None
    assert json.loads(text) == sbom


@pytest.mark.parametrize("layer", LAYERS)
def test_it_has_every_package_of_a_layer(sbom: dict[str, Any], layer: str) -> None:
    found = {
        component["purl"]: component
        for component in sbom["components"]
        if {"name": PROPERTY, "value": layer} in component["properties"]
    }

    assert found.keys() == {package.purl for package in read_layer(layer)}
    for package in read_layer(layer):
        component = found[package.purl]
        assert [h["content"] for h in component["hashes"]] == [*package.hashes]
        assert component["licenses"]


def test_it_says_what_needs_what(sbom: dict[str, Any]) -> None:
    needed = {entry["ref"]: entry["dependsOn"] for entry in sbom["dependencies"]}
    purl = {component["name"]: component["purl"] for component in sbom["components"]}

    assert purl["httpcore2"] in needed[purl["httpx2"]]
    assert purl["uvicorn"] in needed["idea-explorer"]


@pytest.mark.parametrize("lock", LOCKS, ids=lambda path: path.name)
def test_every_locked_package_has_hashes(lock: Path) -> None:
    packages = read_lock(lock)

    assert packages
    assert [package.name for package in packages if not package.hashes] == []
    assert len(packages) == lock.read_text("utf-8").count("==") - sum(
        package.marker.count("==") for package in packages
    )


def test_the_page_of_licences_is_up_to_date() -> None:
    page = (ROOT / "docs" / "licences.md").read_text("utf-8")

    assert page == render_licences(), "Run 'make licences'."


@pytest.mark.parametrize(
    ("expression", "allowed"),
    [
        ("MIT", True),
        ("GPL-3.0-only", False),
        ("MIT OR GPL-3.0-only", True),
        ("MIT AND GPL-3.0-only", False),
        ("Apache-2.0 AND MIT", True),
        ("(MIT OR GPL-3.0-only) AND ISC", False),
        ("LicenseRef-Proprietary", False),
        ("", False),
    ],
)
def test_only_licences_of_the_list_are_allowed(expression: str, *, allowed: bool) -> None:
    assert is_allowed(expression) is allowed


def test_a_licence_that_is_not_allowed_or_not_known_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(find_licence.__globals__["BY_NAME"], "h11", "AGPL-3.0-only")

    with pytest.raises(LicenceError, match=r"h11 \(AGPL-3.0-only\)"):
        check_licences(["h11", "httpx2"])
    with pytest.raises(LicenceError, match="not installed"):
        check_licences(["no-such-package"])


def advisory(*events: dict[str, str], **fields: Any) -> dict[str, Any]:
    affected = {
        "package": {"ecosystem": "PyPI", "name": "h11"},
        "ranges": [{"type": "ECOSYSTEM", "events": [*events]}],
    }
    return {"id": "A-1", "aliases": ["CVE-1"], "affected": [affected], **fields}


@pytest.mark.parametrize(
    ("version", "events", "affected"),
    [
        ("0.15.0", [{"introduced": "0"}, {"fixed": "0.16.0"}], True),
        ("0.16.0", [{"introduced": "0"}, {"fixed": "0.16.0"}], False),
        ("0.9", [{"introduced": "0.10"}, {"fixed": "0.16"}], False),
        ("2.1", [{"introduced": "0"}, {"fixed": "1"}, {"introduced": "2"}], True),
        ("1.5", [{"introduced": "0"}, {"fixed": "1"}, {"introduced": "2"}], False),
        ("1.0", [{"introduced": "0"}, {"last_affected": "1.0"}], True),
        ("1.1", [{"introduced": "0"}, {"last_affected": "1.0"}], False),
    ],
)
def test_an_advisory_applies_to_its_versions(
    version: str, events: list[dict[str, str]], *, affected: bool
) -> None:
    package = LockedPackage("h11", version, ())
    found = find_vulnerable([package], [advisory(*events)])

    assert [str(f) for f in found] == (
        [f"h11 {version} is vulnerable: A-1, CVE-1"] if affected else []
    )
    assert not find_vulnerable([package], [advisory(*events, withdrawn="2024-01-01T00:00:00Z")])


def test_the_age_of_the_advisories_is_said() -> None:
    day = date.fromisoformat(json.loads(advisories.FILE.read_text("utf-8"))["date"])

    assert "WARNING" not in check_offline([], today=day + timedelta(days=90))
    assert "WARNING: they are 91 days old" in check_offline([], today=day + timedelta(days=91))


def test_no_locked_package_has_a_vulnerability_that_the_advisories_know() -> None:
    locked = [package for lock in LOCKS for package in read_lock(lock)]

    assert check_offline(locked, today=date.max)


def test_a_package_that_the_advisories_were_collected_without_is_not_taken_for_safe() -> None:
    known = read_lock(LOCKS[0])[0]
    with pytest.raises(AdvisoryError, match=r"without new-one, other\. Update"):
        check_offline(
            [known, LockedPackage("other", "1.0", ()), LockedPackage("new-one", "1.0", ())],
            today=date.max,
        )


def test_advisories_are_taken_from_a_checkout_of_their_database(tmp_path: Path) -> None:
    folder = tmp_path / "vulns" / "h11"
    folder.mkdir(parents=True)
    (folder / "PYSEC-1.yaml").write_text(
        "id: PYSEC-1\nmodified: 2024-05-01T10:00:00Z\ndetails: long\naffected:\n"
        "- package: {ecosystem: PyPI, name: h11}\n  versions: ['0.15.0']\n  ranges:\n"
        "  - type: ECOSYSTEM\n    events: [{introduced: '0'}, {fixed: 0.16.0}]\n"
    )
    old, new = LockedPackage("h11", "0.15.0", ()), LockedPackage("h11", "0.16.0", ())

    found = json.loads(collect_advisories(tmp_path, [old], date(2024, 5, 2)))

    assert found["date"] == "2024-05-02"
    assert found["packages"] == ["h11"]
    assert [f.package for f in find_vulnerable([old, new], found["advisories"])] == [old]
