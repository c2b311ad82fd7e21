"""Dates of a sentence that its passage has in another place, of something else."""

from collections.abc import Iterator

from idea_explorer.domain.verification.dates import Date, has_date
from idea_explorer.domain.verification.evidence import Evidence
from idea_explorer.domain.verification.facts import read_facts

MAX_PLACES = 3  # a date that a passage has in more places says little
MIN_SHARED = 2  # words that a clause must share with ours to be about the same


def find_misplaced_dates(text: str, evidence: Evidence) -> Iterator[Date]:
    """Dates that stand in sentences which have none of the words about them, while these stand with another
    date."""
    words_of: dict[int, set[str]] = {}
    for found in evidence.facts:
        words_of.setdefault(found.group, set()).update(found.label)
    dates = [(each.value, each) for each in evidence.facts if isinstance(each.value, Date)]
    for fact in read_facts(text):
        if not isinstance(fact.value, Date):
            continue
        holders = {each.group for date, each in dates if has_date(fact.value, [date], "")}
        words = fact.label & evidence.content
        if not 0 < len(holders) <= MAX_PLACES or any(words & words_of[each] for each in holders):
            continue
        others = (each.label for date, each in dates if not has_date(fact.value, [date], ""))
        if any(len(words & label) >= MIN_SHARED for label in others):
            yield fact.value
