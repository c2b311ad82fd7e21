"""Values of a sentence that its passage has in another place, of something else."""

from collections.abc import Iterator, Sequence

from idea_explorer.domain.verification.attribution import has_value
from idea_explorer.domain.verification.dates import Date
from idea_explorer.domain.verification.evidence import Evidence
from idea_explorer.domain.verification.facts import Fact, kind_of, read_facts
from idea_explorer.domain.verification.numbers import Number
from idea_explorer.domain.verification.words import content_words

MAX_PLACES = 3  # a value that a passage has in more places says little
MIN_SHARED = 2  # words about a date that must stand with another one
MIN_COVERED = 0.5  # of the words about a number


def find_misplaced_values(text: str, evidence: Evidence) -> Iterator[Number | Date]:
    """Values that stand in sentences which have none of the words about them, while these stand with another
    value of that kind."""
    stated = read_facts(text)
    for fact in stated:
        alike = [each for each in evidence.facts if kind_of(each.value) == kind_of(fact.value)]
        holders = {each.group for each in alike if has_value(fact.value, each.value)}
        words = {word for word in fact.label if word in evidence.content or word[0].isdigit()}
        about = {word for e in evidence.facts if e.group in holders for word in e.label}
        if not 0 < len(holders) <= MAX_PLACES or words & about:
            continue
        rivals = [each for each in alike if not has_value(fact.value, each.value)]
        if isinstance(fact.value, Date):
            is_misplaced = any(len(words & rival.label) >= MIN_SHARED for rival in rivals)
        else:
            is_misplaced = _is_other_number(fact, words, stated, rivals, evidence)
        if is_misplaced:
            yield fact.value


def _is_other_number(
    fact: Fact,
    words: set[str],
    stated: Sequence[Fact],
    rivals: Sequence[Fact],
    evidence: Evidence,
) -> bool:
    """Numbers are many, so the words of the title and sentences that ours speaks of anyway do not count."""
    spoken = {
        found.group
        for found in evidence.facts
        if any(has_value(each.value, found.value) for each in stated if each is not fact)
    }
    own = words - {word for name in evidence.heading_words for word in content_words(name)}
    shared = [len(own & rival.label) for rival in rivals if rival.group not in spoken]
    return any(count and count >= MIN_COVERED * len(words) for count in shared)
