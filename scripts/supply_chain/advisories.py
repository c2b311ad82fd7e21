"""Known vulnerabilities of the locked packages, for where pip-audit cannot reach its service: by the
advisories in advisories.json, which are in OSV's format."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import yaml
from packaging.version import Version

from scripts.supply_chain.locks import LockedPackage

FILE = Path(__file__).with_name("advisories.json")
MAX_AGE_DAYS = 90


class AdvisoryError(Exception):
    """A locked package is vulnerable, or the advisories say nothing about it."""


@dataclass(frozen=True)
class Finding:
    package: LockedPackage
    advisory: str

    def __str__(self) -> str:
        return f"{self.package.name} {self.package.version} is vulnerable: {self.advisory}"


def check_offline(packages: Iterable[LockedPackage], *, today: date) -> str:
    """Says what was checked, and how much that is worth. Raises AdvisoryError."""
    known = json.loads(FILE.read_text("utf-8"))
    checked = set(packages)
    if unknown := sorted({package.name for package in checked} - set(known["packages"])):
        raise AdvisoryError(
            f"The advisories were collected without {', '.join(unknown)}. Update advisories.json."
        )
    if found := find_vulnerable(checked, known["advisories"]):
        raise AdvisoryError("\n".join(map(str, found)))
    text = f"{len(checked)} packages, {len(known['advisories'])} advisories of {known['date']}."
    age = (today - date.fromisoformat(known["date"])).days
    if age <= MAX_AGE_DAYS:
        return text
    return f"{text} WARNING: they are {age} days old and say nothing about newer vulnerabilities."


def collect_advisories(checkout: Path, packages: Iterable[LockedPackage], day: date) -> str:
    """advisories.json from a checkout of github.com/pypa/advisory-database of a day."""
    found = []
    names = sorted({package.name for package in packages})
    for name in names:
        for file in sorted((checkout / "vulns" / name).glob("*.yaml")):
            record = yaml.safe_load(file.read_text("utf-8"))
            affected = [
                {
                    "package": {"ecosystem": "PyPI", "name": name},
                    "ranges": [r for r in entry.get("ranges", ()) if r["type"] == "ECOSYSTEM"],
                }
                for entry in record["affected"]
            ]
            entry = {key: record[key] for key in ("id", "aliases") if key in record}
            entry |= {"modified": _format_time(record["modified"]), "affected": affected}
            if "withdrawn" not in record and any(a["ranges"] for a in affected):
                found.append(entry)
    known = {"date": day.isoformat(), "packages": names, "advisories": found}
    return json.dumps(known, indent=1) + "\n"


def _format_time(moment: datetime | str) -> str:
    """YAML reads most times, but not all, as such."""
    if isinstance(moment, str):
        return moment
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def find_vulnerable(
    packages: Iterable[LockedPackage], advisories: list[dict[str, Any]]
) -> list[Finding]:
    affected: dict[str, list[tuple[dict[str, Any], dict[str, Any]]]] = {}
    for advisory in advisories:
        if not advisory.get("withdrawn"):
            for entry in advisory["affected"]:
                affected.setdefault(entry["package"]["name"], []).append((advisory, entry))
    return [
        Finding(package, ", ".join([advisory["id"], *advisory.get("aliases", ())]))
        for package in sorted(packages, key=lambda p: p.name)
        for advisory, entry in affected.get(package.name, ())
        if _is_affected(package.version, entry)
    ]


def _is_affected(version: str, entry: dict[str, Any]) -> bool:
    """As OSV defines it: a listed version, or one within a range."""
    return version in entry.get("versions", ()) or any(
        _is_within(Version(version), known_range["events"])
        for known_range in entry.get("ranges", ())
        if known_range["type"] == "ECOSYSTEM"
    )


def _is_within(version: Version, events: list[dict[str, str]]) -> bool:
    is_within = False
    for event in sorted(events, key=lambda e: Version(next(iter(e.values())))):
        ((kind, value),) = event.items()
        if kind == "introduced" and version >= Version(value):
            is_within = True
        if kind == "fixed" and version >= Version(value):
            is_within = False
        if kind == "last_affected" and version > Version(value):
            is_within = False
    return is_within
