"""How many altered sentences the rules find, and how often they object to a sentence that is right.

    python -m tests.performance.verification

The set `planted` has sentences altered in a number, date, name or claim. In `planted_values` most values are
those of something else in the same passage: in tables, lists, ranges and several languages. Claims are for a
model to judge; the rules are not measured by them.
"""

import json
import sys
from dataclasses import dataclass
from pathlib import Path

from idea_explorer.domain.verification import Evidence, find_unsupported

FIXTURES = Path(__file__).parents[1] / "fixtures" / "verification"
SETS = ("planted", "planted_values")
KINDS = ("number", "date", "name")
MIN_RECALL = 0.95
MAX_FALSE_ALARMS = 0.03


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the table."""

    name: str
    found: int
    of: int

    @property
    def share(self) -> float:
        return self.found / self.of


def measure(name: str) -> dict[str, Line]:
    """By kind of alteration, how many sentences the rules object to."""
    rows = [
        json.loads(line) for line in (FIXTURES / f"{name}.jsonl").read_text("utf-8").splitlines()
    ]
    found: dict[str, list[bool]] = {}
    for row in rows:
        evidence = Evidence([row["passage"], row["title"]])
        objects = bool(find_unsupported(row["sentence"], evidence))
        found.setdefault(row["altered"] or "nothing", []).append(objects)
    lines = {kind: Line(kind, sum(objects), len(objects)) for kind, objects in found.items()}
    values = [lines[kind] for kind in KINDS]
    whole = Line("number, date or name", sum(v.found for v in values), sum(v.of for v in values))
    return {**lines, whole.name: whole}


def main() -> int:
    ok = True
    print(f"{'set':16}{'altered in':22}{'sentences':>10}{'found':>7}{'share':>8}")
    for name in SETS:
        lines = measure(name)
        for kind in (*KINDS, "number, date or name", "claim", "nothing"):
            line = lines[kind]
            print(f"{name:16}{kind:22}{line.of:10}{line.found:7}{line.share:8.1%}")
        recall, alarms = lines["number, date or name"].share, lines["nothing"].share
        ok = ok and recall >= MIN_RECALL and alarms <= MAX_FALSE_ALARMS
    print(f"needed: at least {MIN_RECALL:.0%} found, at most {MAX_FALSE_ALARMS:.0%} false alarms")
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
