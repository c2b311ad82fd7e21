"""What a model is asked about cited sentences, and what its answer says."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from idea_explorer.domain.claims import Verdict
from idea_explorer.domain.json import JsonObject, sanitize
from idea_explorer.domain.text import one_line
from idea_explorer.domain.verification.words import (
    content_words,
    find_words,
    quotable,
    split_sentences,
)

MAX_EXCERPTS = 3  # sources of one sentence
EXCERPTS = (1_500, 900, 500, 300)  # characters of one source for one sentence, the first that fits
MAX_BATCH = 120_000  # characters of all sentences and excerpts: about 40,000 tokens
MAX_REASON = 200
MAX_QUOTE = 600  # characters
MIN_QUOTE = 3  # words; fewer stand in any passage
MIN_SHARED = 0.5  # of the words of a sentence, in what is quoted for it
MAX_READ = 100_000  # characters of a passage among which an excerpt is chosen
VERDICTS: dict[str, Verdict] = {
    "supported": "supported",
    "partly": "partly",
    "not": "unsupported",
}
SCHEMA: JsonObject = {
    "type": "object",
    "properties": {
        "verdicts": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "number": {"type": "integer"},
                    "verdict": {"type": "string", "enum": [*VERDICTS]},
                    "reason": {"type": "string"},
                    "quote": {"type": "string"},  # where a rule objects
                },
                "required": ["number", "verdict", "reason"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["verdicts"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True)
class Question:
    """A sentence, what each of its sources says, and what a rule objects to in it, if any does."""

    sentence: str
    passages: Sequence[str]
    objection: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    verdict: Verdict
    reason: str
    quote: str = ""

    def refutes(self, question: Question) -> bool:
        """Whether it answers a rule's objection: it quotes words of a passage that say what the sentence
        says, and have the value that the rule objects to."""
        words = quotable(self.quote).strip(" .…\"'“”„«»")
        return (
            self.verdict == "supported"
            and len(words.split()) >= MIN_QUOTE
            and any(words in quotable(passage) for passage in question.passages)
            and _is_about(self.quote, question)
        )


def _is_about(quote: str, question: Question) -> bool:
    said = content_words(question.sentence)
    if len(said & content_words(quote)) < MIN_SHARED * len(said):
        return False
    from idea_explorer.domain.verification.evidence import Evidence
    from idea_explorer.domain.verification.rules import find_unsupported

    missing = find_unsupported(question.sentence, Evidence([quote]))
    return not any(each.is_absent and each.text in question.objection for each in missing)


def build_batch(questions: Sequence[Question], room: int = MAX_BATCH) -> list[JsonObject]:
    """The numbered sentences, each with an excerpt of every source. The excerpts are as long as lets all
    sentences fit; if even the shortest do not, as many as fit."""
    fitting = (length for length in EXCERPTS if _longest(questions, length) <= room)
    length = next(fitting, EXCERPTS[-1])
    batch: list[JsonObject] = []
    for number, question in enumerate(questions, start=1):
        sources = question.passages[:MAX_EXCERPTS]
        excerpts = [cut_excerpt(text, question.sentence, length) for text in sources]
        room -= len(question.sentence) + len(question.objection) + sum(map(len, excerpts))
        if room < 0:
            break
        entry: JsonObject = {"number": number, "sentence": question.sentence}
        if question.objection:
            entry["objection"] = question.objection
        batch.append({**entry, "passages": [*excerpts]})
    return batch


def _longest(questions: Sequence[Question], length: int) -> int:
    """The most characters that a batch can have with excerpts of this length."""
    return sum(
        len(q.sentence)
        + len(q.objection)
        + sum(min(len(text), length) for text in q.passages[:MAX_EXCERPTS])
        for q in questions
    )


def cut_excerpt(passage: str, sentence: str, room: int) -> str:
    """The sentences of a passage that share most words with ours, in their order."""
    if len(passage) <= room:
        return passage
    words = content_words(sentence) | {word for word in find_words(sentence) if word[0].isdigit()}
    parts = [part[:room] for part in split_sentences(passage[:MAX_READ])]
    shared = [
        len(words & set(find_words(part))) + len(words & content_words(part)) for part in parts
    ]
    chosen: list[int] = []
    for number in sorted(range(len(parts)), key=lambda n: -shared[n]):
        room -= len(parts[number]) + 3
        if room < 0:
            break
        chosen.append(number)
    return " … ".join(parts[number] for number in sorted(chosen))


def parse_verdicts(answer: str, count: int) -> dict[int, Answer]:
    """The verdicts on so many sentences, by number. What is not exactly what was asked for does not count."""
    try:
        given = json.loads(answer)
    except (ValueError, RecursionError):
        return {}
    entries = given.get("verdicts") if isinstance(given, dict) else None
    verdicts: dict[int, Answer] = {}
    repeated: set[int] = set()
    for entry in map(sanitize, entries) if isinstance(entries, list) else ():
        if not isinstance(entry, dict):
            continue
        number, verdict, reason = (entry.get(name) for name in ("number", "verdict", "reason"))
        if type(number) is not int or not 1 <= number <= count:
            continue
        if not isinstance(verdict, str) or verdict not in VERDICTS:
            continue
        if number in verdicts:
            repeated.add(number)
        words = one_line(reason, MAX_REASON) if isinstance(reason, str) else ""
        quote = entry.get("quote")
        quoted = quote[:MAX_QUOTE] if isinstance(quote, str) else ""
        verdicts[number] = Answer(VERDICTS[verdict], words, quoted)
    return {number: answer for number, answer in verdicts.items() if number not in repeated}
