"""How many altered sentences the rules find, and how often they object to a sentence that is right.

    python -m tests.performance.verification

The set `planted` has sentences altered in a number, date, name or claim. In `planted_values` most values are
those of something else in the same passage: in tables, lists, ranges and several languages. `planted_third`
was written without sight of the rules; its odd pairs were used to extend them, its even pairs never were, so
that these say how the rules do on text that they do not know. Claims are for a model to judge; the rules are
not measured by them.
"""

import json
import sys
from dataclasses import dataclass
from pathlib import Path

from idea_explorer.domain.verification import Evidence, find_unsupported

FIXTURES = Path(__file__).parents[1] / "fixtures" / "verification"
KINDS = ("number", "date", "name")
GOAL = (0.95, 0.03)  # found at least, false alarms at most


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the table."""

    name: str
    found: int
    of: int

    @property
    def share(self) -> float:
        return self.found / self.of


@dataclass(frozen=True, slots=True)
class Sample:
    """The pairs of a file, or those with odd or even numbers, and what the rules must not fall behind."""

    file: str
    min_recall: float
    max_false_alarms: float
    remainder: int | None = None

    def read(self) -> list[dict[str, str]]:
        lines = (FIXTURES / f"{self.file}.jsonl").read_text("utf-8").splitlines()
        rows = [json.loads(line) for line in lines]
        return [row for row in rows if self.remainder in (None, int(row["id"][:3]) % 2)]


SETS = {
    "planted": Sample("planted", *GOAL),
    "planted_values": Sample("planted_values", *GOAL),
    "planted_third odd": Sample("planted_third", 0.92, 0.03, remainder=1),
    "planted_third even": Sample("planted_third", 0.60, 0.14, remainder=0),
}


def measure(sample: Sample) -> dict[str, Line]:
    """By kind of alteration, how many sentences the rules object to."""
    found: dict[str, list[bool]] = {}
    for row in sample.read():
        evidence = Evidence([row["passage"], row["title"]])
        objects = bool(find_unsupported(row["sentence"], evidence))
        found.setdefault(row["altered"] or "nothing", []).append(objects)
    lines = {kind: Line(kind, sum(objects), len(objects)) for kind, objects in found.items()}
    values = [lines[kind] for kind in KINDS]
    whole = Line("number, date or name", sum(v.found for v in values), sum(v.of for v in values))
    return {**lines, whole.name: whole}


def main() -> int:
    ok = True
    print(f"{'set':20}{'altered in':22}{'sentences':>10}{'found':>7}{'share':>8}")
    for name, sample in SETS.items():
        lines = measure(sample)
        for kind in (*KINDS, "number, date or name", "claim", "nothing"):
            line = lines[kind]
            print(f"{name:20}{kind:22}{line.of:10}{line.found:7}{line.share:8.1%}")
        recall, alarms = lines["number, date or name"].share, lines["nothing"].share
        ok = ok and recall >= sample.min_recall and alarms <= sample.max_false_alarms
    print("goal: at least {:.0%} found, at most {:.0%} false alarms".format(*GOAL))
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
