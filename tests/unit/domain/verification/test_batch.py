"""What a model is asked, and what of its answer counts."""

import json

import pytest

from idea_explorer.domain.claims import Verdict
from idea_explorer.domain.verification.batch import (
    MAX_REASON,
    Answer,
    Question,
    build_batch,
    cut_excerpt,
    parse_verdicts,
)


def test_sentences_are_numbered_and_come_with_their_passages() -> None:
    batch = build_batch([Question("Tea is up.", ["Tea rose."]), Question("So.", ["Yes.", "No."])])
    assert batch == [
        {"number": 1, "sentence": "Tea is up.", "passages": ["Tea rose."]},
        {"number": 2, "sentence": "So.", "passages": ["Yes.", "No."]},
    ]


def test_what_a_rule_objects_to_comes_with_its_sentence() -> None:
    asked = Question("Tea is up 2%.", ["Tea rose 1%."], "the source does not say 2%")
    (entry,) = build_batch([asked])
    assert entry["objection"] == "the source does not say 2%"
    assert len(build_batch([asked] * 3, room=102)) == 2


@pytest.mark.parametrize(
    ("verdict", "quote", "refutes"),
    [
        ("supported", "tea  rose – slowly", True),
        ("supported", "Tea rose fast", False),
        ("supported", "Tea rose", False),  # stands in any passage
        ("partly", "Tea rose - slowly", False),
    ],
)
def test_an_objection_is_answered_by_words_of_a_passage(
    verdict: Verdict, quote: str, *, refutes: bool
) -> None:
    question = Question("Tea is up.", ["Coffee fell.", "Tea rose - slowly. Always."], "Not so.")
    assert Answer(verdict, "", quote).refutes(question) is refutes


@pytest.mark.parametrize(
    ("quote", "refutes"),
    [
        ("Coffee sales fell", False),  # without the value that is objected to
        ("Coffee sales fell by 3 %", False),
        ("Tea sales rose by 12 %", False),  # of something else
        ("Tea sales rose by 12 %. Coffee sales fell", True),
    ],
)
def test_words_that_answer_an_objection_have_the_value_and_what_it_is_about(
    quote: str, *, refutes: bool
) -> None:
    passage = "Tea sales rose by 12 %. Coffee sales fell by 3 %. All of it in 2024."
    question = Question("Coffee exports fell by 12 %.", [passage], "the source does not say 12 %")
    assert Answer("supported", "", quote).refutes(question) is refutes


def test_a_batch_ends_where_its_room_does() -> None:
    questions = [Question("a" * 10, ["b" * 10])] * 5
    assert len(build_batch(questions, room=45)) == 2


def test_an_excerpt_has_what_the_sentence_is_about() -> None:
    filler = "Coffee is another matter altogether. " * 100
    excerpt = cut_excerpt(f"{filler}Tea sales rose by 12 %. {filler}", "Tea sales rose 12 %.", 200)
    assert "Tea sales rose by 12 %." in excerpt
    assert len(excerpt) <= 200


def answer(*verdicts: object) -> str:
    return json.dumps({"verdicts": verdicts})


def test_verdicts_are_read_by_number() -> None:
    text = answer(
        {"number": 2, "verdict": "not", "reason": "It says\nless."},
        {"number": 1, "verdict": "partly", "reason": "x" * 1_000},
    )
    verdicts = parse_verdicts(text, 2)
    assert (verdicts[2].verdict, verdicts[2].reason) == ("unsupported", "It says less.")
    assert verdicts[1].verdict == "partly"
    assert len(verdicts[1].reason) <= MAX_REASON


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Sure! Here you go.",
        "[]",
        "[" * 100_000,
        '{"verdicts": 3}',
        answer("supported", None),
        answer({"number": 0, "verdict": "supported", "reason": ""}),
        answer({"number": 3, "verdict": "supported", "reason": ""}),
        answer({"number": True, "verdict": "supported", "reason": ""}),
        answer({"number": 1, "verdict": "certainly", "reason": ""}),
        answer({"number": 1, "verdict": ["supported"], "reason": ""}),
        answer(
            {"number": 1, "verdict": "supported", "reason": ""},
            {"number": 1, "verdict": "not", "reason": ""},
        ),
    ],
)
def test_whatever_else_a_model_says_is_no_verdict(text: str) -> None:
    assert parse_verdicts(text, 2) == {}


def test_excerpts_are_shorter_where_all_sentences_would_not_fit_otherwise() -> None:
    long = "Tea sales rose by 12 %. Coffee is another matter altogether. " * 100
    questions = [Question("Tea sales rose.", [long, long])] * 60
    batch = build_batch(questions)
    assert len(batch) == 60
    assert all(len(entry["passages"]) == 2 for entry in batch)  # type: ignore[arg-type]


def test_what_no_store_could_take_is_replaced() -> None:
    answer = '{"verdicts": [{"number": 1, "verdict": "not", "reason": "\\ud83d no", "quote": "\\udc00"}]}'

    (found,) = parse_verdicts(answer, 1).values()

    f"{found}".encode()
