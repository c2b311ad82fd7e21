"""python -m scripts.supply_chain sbom FILE | licences | advisories | update-advisories CHECKOUT DATE"""

import sys
from datetime import UTC, date, datetime
from pathlib import Path

from scripts.supply_chain.advisories import FILE, AdvisoryError, check_offline, collect_advisories
from scripts.supply_chain.licences import LicenceError, render_licences
from scripts.supply_chain.locks import LOCKS, ROOT, LockedPackage, read_lock
from scripts.supply_chain.sbom import render_sbom


def main(arguments: list[str]) -> str:
    match arguments:
        case ["sbom", file]:
            Path(file).parent.mkdir(parents=True, exist_ok=True)
            Path(file).write_text(render_sbom(), "utf-8")
            return f"Wrote {file}"
        case ["licences"]:
            (ROOT / "docs" / "licences.md").write_text(render_licences(), "utf-8")
            return "Wrote docs/licences.md"
        case ["advisories"]:
            return check_offline(_locked(), today=datetime.now(UTC).date())
        case ["update-advisories", checkout, day]:
            text = collect_advisories(Path(checkout), _locked(), date.fromisoformat(day))
            FILE.write_text(text, "utf-8")
            return f"Wrote {FILE.name}"
        case _:
            sys.exit(__doc__)


def _locked() -> list[LockedPackage]:
    return [package for lock in LOCKS for package in read_lock(lock)]


if __name__ == "__main__":
    try:
        print(main(sys.argv[1:]))
    except (LicenceError, AdvisoryError) as error:
        sys.exit(str(error))
