"""Reports are verified before they are published: by rule, then by one call of a cheap model."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from idea_explorer.agent import verification
from idea_explorer.agent.state import State
from idea_explorer.domain.errors import NetworkError, RejectedError, UnavailableError
from idea_explorer.domain.events import ReportVerified
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.report_phrases import UNSUPPORTED
from idea_explorer.domain.transcript import Instruction, VerificationFinished, VerificationStarted
from idea_explorer.domain.transcript_json import dump_entry, parse_entry
from idea_explorer.domain.usage import Usage
from idea_explorer.ports import ModelAnswer, ModelRequest
from idea_explorer.settings import PRICES
from idea_explorer.usecases.explore import explore
from idea_explorer.usecases.replay import replay
from tests.fakes.engine import Bench
from tests.fakes.models import (
    A_CALL,
    Reply,
    ScriptedModel,
    batch_of,
    calls,
    judged,
    last_texts,
    raw,
    says,
)

KNOWN = "Tea sales rose by 12 % in 2024. Coffee sales fell by 3 %."
READ = calls(("read_research", {"path": "tea.md"}))
RIGHT = "# Tea\n\nTea sales rose by 12% [says our study](../tea.md)."
WRONG = "# Tea\n\nTea sales rose by 21% [says our study](../tea.md)."
VAGUE = "# Tea\n\nTea will replace coffee [says our study](../tea.md)."
HAIKU, SONNET = "claude-haiku-5-5", "claude-sonnet-5-5"
A_VERDICT = Usage(input_tokens=1_000, output_tokens=100)


def bench(
    tmp_path: Path, *replies: Reply, judge: Callable[[ModelRequest], Reply] = judged
) -> Bench:
    b = Bench(tmp_path, ScriptedModel([*replies], judge=judge))
    b.write("tea.md", KNOWN)
    return b


def model_of(b: Bench) -> ScriptedModel:
    assert isinstance(b.engine.model, ScriptedModel)
    return b.engine.model


def verifications(b: Bench, done: Exploration) -> list[VerificationFinished]:
    return [entry for entry in b.entries(done) if isinstance(entry, VerificationFinished)]


def counts(done: Exploration) -> tuple[int, int, int, int]:
    found = done.run.stats.verification
    assert found is not None
    return found.supported, found.partly, found.unsupported, found.unchecked


def assert_replays(b: Bench, done: Exploration) -> None:
    replayed = replay([parse_entry(dump_entry(entry)) for entry in b.entries(done)])
    assert replayed.divergence == ""
    assert replayed.conclusion is not None
    assert replayed.conclusion.text == b.store.load_report(done.id)
    assert replayed.conclusion.verification == done.run.stats.verification


def refuse(request: ModelRequest) -> ModelAnswer:
    return judged(request, "not", A_VERDICT)


def test_what_rules_cannot_decide_goes_to_the_cheap_model_in_one_call(tmp_path: Path) -> None:
    b = bench(tmp_path, READ, says(RIGHT), judge=lambda request: judged(request, usage=A_VERDICT))
    done = b.run()
    (request,) = model_of(b).verifications
    assert (request.model_id, request.tools, request.effort) == (HAIKU, [], "low")
    assert batch_of(request) == [
        {
            "number": 1,
            "sentence": "Tea sales rose by 12% says our study.",
            "passages": [KNOWN],
        }
    ]
    assert counts(done) == (1, 0, 0, 0)
    report = b.store.load_report(done.id)
    assert "## Evidence\n\n- **one source** (source 1): Tea sales rose by 12%" in report
    assert report.index("## Evidence") < report.index("## Sources")
    assert done.publication.path is not None
    published = (tmp_path / done.publication.path).read_text("utf-8")
    assert "verification: 1 supported, 0 partly, 0 unsupported, 0 unchecked" in published
    log = json.loads(
        (tmp_path / done.publication.path).with_name("exploration-log.json").read_text()
    )
    assert log[0]["verification"]["supported"] == 1
    assert_replays(b, done)


def test_each_model_is_billed_at_its_own_price(tmp_path: Path) -> None:
    b = bench(tmp_path, READ, says(RIGHT), judge=lambda request: judged(request, usage=A_VERDICT))
    stats = b.explore().run.stats
    expected = PRICES[SONNET].total([A_CALL, A_CALL]) + PRICES[HAIKU].cost(A_VERDICT)
    assert stats.cost_usd == pytest.approx(expected, abs=1e-9)
    assert stats.unconfirmed_usd == 0.0
    assert stats.usage == A_CALL + A_CALL + A_VERDICT


def test_a_sentence_that_its_source_refutes_goes_back_once(tmp_path: Path) -> None:
    b = bench(tmp_path, READ, says(WRONG), says(RIGHT))
    done = b.run()
    *_, asked, instruction = last_texts(model_of(b).requests[2])
    assert "21%" not in instruction  # what others wrote is a document of its own
    assert "Tea sales rose by 21% [says our study](../tea.md)." in asked
    assert "the source does not say 21%" in asked
    assert "Tea sales rose by 12 % in 2024." in asked
    assert (done.status, done.run.stats.stop_reason) == ("completed", "end_turn")
    assert counts(done) == (1, 0, 0, 0)
    report = b.store.load_report(done.id)
    assert "12%" in report
    assert "21%" not in report
    assert UNSUPPORTED not in report
    assert_replays(b, done)


def test_a_correction_that_calls_tools_gets_none(tmp_path: Path) -> None:
    b = bench(tmp_path, READ, says(WRONG), READ, says(RIGHT))
    done = b.run()
    assert counts(done) == (1, 0, 0, 0)
    assert [r.ok for r in done.run.stats.tool_calls] == [True]
    assert_replays(b, done)


def test_one_that_stays_is_marked_and_not_sent_back_again(tmp_path: Path) -> None:
    b = bench(tmp_path, READ, says(WRONG), says(WRONG))
    done = b.run()
    assert len(model_of(b).requests) == 3
    assert counts(done) == (0, 0, 1, 0)
    assert f"[says our study](../tea.md). {UNSUPPORTED}\n" in b.store.load_report(done.id)
    assert_replays(b, done)


def test_a_model_may_refute_what_rules_let_pass(tmp_path: Path) -> None:
    b = bench(tmp_path, READ, says(VAGUE), says(RIGHT), judge=lambda request: judged(
        request, "not" if "replace" in str(batch_of(request)) else "supported"
    ))  # fmt: skip
    done = b.run()
    assert "It is not." in last_texts(model_of(b).requests[2])[-2]
    assert counts(done) == (1, 0, 0, 0)
    assert_replays(b, done)


QUOTED = "Tea sales rose by 12 % in 2024."
DOUBTED = "# Tea\n\nIn Bremen tea sales rose by 12% [says our study](../tea.md)."


def test_the_model_sees_what_a_rule_objects_to(tmp_path: Path) -> None:
    b = bench(tmp_path, READ, says(DOUBTED), judge=lambda request: judged(request, quote=QUOTED))
    b.explore()
    (request,) = model_of(b).verifications
    assert batch_of(request) == [
        {
            "number": 1,
            "sentence": "In Bremen tea sales rose by 12% says our study.",
            "objection": "the source does not name Bremen there",
            "passages": [KNOWN],
        }
    ]
    plain = bench(tmp_path / "b", READ, says(RIGHT))
    plain.explore()
    (other,) = model_of(plain).verifications
    assert request.max_tokens > other.max_tokens  # there is room for what it quotes


@pytest.mark.parametrize(
    "quote",
    [QUOTED, "“Tea sales  rose by 12\u00a0% in 2024”", "tea sales rose"],
    ids=["a sentence", "in other typography", "words of a sentence"],
)
def test_a_model_that_quotes_the_passage_overrules_a_rule(tmp_path: Path, quote: str) -> None:
    b = bench(tmp_path, READ, says(DOUBTED), judge=lambda request: judged(request, quote=quote))
    done = b.run()
    assert len(model_of(b).requests) == 2  # nothing went back
    assert counts(done) == (1, 0, 0, 0)
    assert UNSUPPORTED not in b.store.load_report(done.id)
    assert_replays(b, done)


@pytest.mark.parametrize(
    ("verdict", "quote"),
    [
        ("supported", ""),
        ("supported", "In Bremen tea sales rose by 12 %."),
        ("supported", "Tea sales rose by 12 %. Coffee"),
        ("supported", "12 %"),
        ("supported", "Coffee sales fell by 3 %."),
        ("partly", QUOTED),
        ("not", QUOTED),
    ],
)
def test_otherwise_what_a_rule_objects_to_stands(tmp_path: Path, verdict: str, quote: str) -> None:
    b = bench(
        tmp_path,
        READ,
        says(DOUBTED),
        says(DOUBTED),
        judge=lambda request: judged(request, verdict, quote=quote),
    )
    done = b.run()
    assert counts(done) == (0, 0, 1, 0)
    assert UNSUPPORTED in b.store.load_report(done.id)
    *_, finished = verifications(b, done)
    assert finished.claims[0].reason == "the source does not name Bremen there"
    assert_replays(b, done)


@pytest.mark.parametrize("quote", [QUOTED, "Coffee sales fell"])
@pytest.mark.parametrize(
    "wrong",
    [
        "Tea sales rose by 21%",
        "Tea sales rose by 12% in 2021",
        "“Tea sales rose by far” is what it says",
    ],
)
def test_no_model_overrules_that_a_value_or_quotation_is_not_in_the_source(
    tmp_path: Path, wrong: str, quote: str
) -> None:
    report = f"# Tea\n\n{wrong} [says our study](../tea.md)."
    b = bench(
        tmp_path,
        READ,
        says(report),
        says(report),
        judge=lambda request: judged(request, quote=quote),
    )
    done = b.run()
    assert counts(done) == (0, 0, 1, 0)
    assert model_of(b).verifications == []
    assert_replays(b, done)


def test_a_model_is_not_asked_again_about_what_it_has_overruled(tmp_path: Path) -> None:
    both = f"{DOUBTED}\n\nTea will replace coffee [says our study](../tea.md)."

    def judge(request: ModelRequest) -> Reply:
        verdicts = [
            {"number": entry["number"], "verdict": "supported", "reason": "", "quote": QUOTED}
            if "objection" in entry
            else {"number": entry["number"], "verdict": "not", "reason": ""}
            for entry in batch_of(request)
        ]
        return says(json.dumps({"verdicts": verdicts}))

    b = bench(tmp_path, READ, says(both), says(DOUBTED), judge=judge)
    done = b.run()
    assert len(model_of(b).verifications) == 1
    assert counts(done) == (1, 0, 0, 0)
    assert_replays(b, done)


def test_a_model_that_fails_leaves_what_a_rule_objects_to(tmp_path: Path) -> None:
    b = bench(tmp_path, READ, says(DOUBTED), judge=lambda _: UnavailableError("Too busy."))
    done = b.run()
    assert counts(done) == (0, 0, 1, 0)
    assert_replays(b, done)


def test_a_call_that_judges_is_in_the_log_with_its_cost(tmp_path: Path) -> None:
    b = bench(tmp_path, READ, says(RIGHT), judge=lambda request: judged(request, usage=A_VERDICT))
    b.explore()
    (event,) = [event for event in b.seen.events if isinstance(event, ReportVerified)]
    assert event.cost == PRICES[HAIKU].cost(A_VERDICT)
    assert (event.usage.input_tokens, event.usage.output_tokens) == (1_000, 100)


def test_a_report_that_only_rules_judge_costs_nothing(tmp_path: Path) -> None:
    b = bench(tmp_path, says("# Tea\n\nNobody knows."))
    b.explore()
    assert [event for event in b.seen.events if isinstance(event, ReportVerified)] == []


def test_a_verdict_holds_for_sentences_that_a_correction_leaves_alone(tmp_path: Path) -> None:
    both = f"{RIGHT}\n\nTea sales rose by 21% [says our study](../tea.md)."
    b = bench(tmp_path, READ, says(both), says(RIGHT))
    done = b.explore()
    assert len(model_of(b).verifications) == 1
    assert counts(done) == (1, 0, 0, 0)


def test_a_correction_that_is_worse_is_not_published(tmp_path: Path) -> None:
    worse = f"{WRONG}\n\nTea sales rose by 99% [says our study](../tea.md)."
    b = bench(tmp_path, READ, says(WRONG), says(worse))
    done = b.run()
    assert counts(done) == (0, 0, 1, 0)
    assert "99%" not in b.store.load_report(done.id)
    assert_replays(b, done)


@pytest.mark.parametrize(
    "correction",
    [
        "# Tea\n\nTea sales rose by 21%.",
        "# Tea\n\nTea sales rose by 21% says our study.",
        "# Tea\n\nTea sales rose by 21% [says a page](https://nowhere.example/).",
    ],
)
def test_a_sentence_that_only_loses_its_link_stays_marked(tmp_path: Path, correction: str) -> None:
    b = bench(tmp_path, READ, says(WRONG), says(correction))
    done = b.run()
    assert counts(done) == (0, 0, 1, 0)
    assert UNSUPPORTED in b.store.load_report(done.id)
    assert_replays(b, done)


@pytest.mark.parametrize(
    "correction",
    [
        RIGHT,  # much shorter
        f"{RIGHT}\n\n"
        + "Tea sales rose a lot in these years, as everybody says. " * 12,  # cites less
    ],
)
def test_a_correction_that_leaves_out_much_else_is_not_published(
    tmp_path: Path, correction: str
) -> None:
    more = "Coffee sales fell by 3%, which is little [says our study](../tea.md). "
    b = bench(tmp_path, READ, says(f"{WRONG}\n\n{more * 6}"), says(correction))
    done = b.run()
    assert counts(done) == (6, 0, 1, 0)
    report = b.store.load_report(done.id)
    assert (
        report.count("Coffee sales fell by 3%") == 12
    )  # in the text and in the section on evidence
    assert UNSUPPORTED in report
    assert_replays(b, done)


@pytest.mark.parametrize(
    "correction",
    [
        RejectedError("This conversation cannot go on."),
        says(" "),
        says("# Te", "max_tokens"),
        raw({"type": "text", "text": "No."}, stop_reason="refusal"),
        raw(stop_reason="model_context_window_exceeded"),
    ],
)
def test_a_correction_that_fails_leaves_the_report_as_it_was(
    tmp_path: Path, correction: Reply
) -> None:
    b = bench(tmp_path, READ, says(WRONG), correction)
    done = b.run()
    assert (done.status, done.run.receipt) == ("completed", None)
    assert counts(done) == (0, 0, 1, 0)
    assert UNSUPPORTED in b.store.load_report(done.id)
    assert_replays(b, done)


@pytest.mark.parametrize("error", [UnavailableError("Too busy."), NetworkError("reset")])
def test_a_model_that_cannot_be_reached_leaves_sentences_unchecked(
    tmp_path: Path, error: Exception
) -> None:
    b = bench(tmp_path, READ, says(RIGHT), judge=lambda _: error)
    done = b.run()
    assert done.status == "completed"
    assert counts(done) == (0, 0, 0, 1)
    assert "- **unchecked** (source 1)" in b.store.load_report(done.id)
    (finished,) = verifications(b, done)
    assert finished.error
    # what a call that was cut off can have cost counts, and is told apart
    reserved = finished.usage if isinstance(error, NetworkError) else Usage()
    assert finished.usage == reserved
    expected = PRICES[HAIKU].cost(finished.usage)
    assert done.run.stats.unconfirmed_usd == pytest.approx(expected, abs=2e-6)
    assert_replays(b, done)


def test_an_answer_that_is_not_what_was_asked_for_leaves_sentences_unchecked(
    tmp_path: Path,
) -> None:
    b = bench(tmp_path, READ, says(RIGHT), judge=lambda _: says("All fine!", usage=A_VERDICT))
    done = b.run()
    assert (done.status, counts(done)) == ("completed", (0, 0, 0, 1))
    assert done.run.stats.usage == A_CALL + A_CALL + A_VERDICT


@pytest.mark.parametrize("priced", ["sonnet only", "nothing"])
def test_without_a_price_only_rules_verify(tmp_path: Path, priced: str) -> None:
    b = bench(tmp_path, READ, says(WRONG), says(WRONG))
    prices = {SONNET: PRICES[SONNET]} if priced == "sonnet only" else {}
    b.deps = replace(b.deps, policy=replace(b.deps.policy, prices=prices))
    done = b.explore()
    assert (done.run.outcome, counts(done)) == ("completed", (0, 0, 1, 0))
    assert model_of(b).verifications == []


def test_a_budget_that_is_spent_pays_for_no_verdicts(tmp_path: Path) -> None:
    cost = PRICES[SONNET].total([A_CALL, A_CALL])
    b = bench(tmp_path, READ, says(RIGHT))
    done = b.explore(max_cost_usd=0.2)
    assert len(model_of(b).verifications) == 1
    other = bench(tmp_path / "b", READ, says(RIGHT, usage=Usage(output_tokens=19_970)))
    spent = other.explore(max_cost_usd=0.2)
    assert model_of(other).verifications == []
    assert counts(spent) == (0, 0, 0, 1)
    assert done.run.stats.cost_usd == cost
    assert (spent.run.stats.cost_usd or 0.0) <= 0.2


def test_the_slice_is_for_all_verifications_of_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    most = 0.004
    monkeypatch.setattr(verification, "VERIFICATION_USD", most)
    dear = Usage(output_tokens=7_900)  # nearly all of the slice
    b = bench(tmp_path, READ, says(VAGUE), says(RIGHT), judge=lambda r: judged(r, "not", dear))
    done = b.explore()
    assert len(model_of(b).verifications) == 1
    assert counts(done) == (0, 0, 0, 1)
    spent = [call for call in State(b.entries(done)).billed_elsewhere if call.model_id == HAIKU]
    assert PRICES[HAIKU].total(call.usage for call in spent) <= most


def test_a_long_report_is_judged_as_far_as_the_slice_reaches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verification, "VERIFICATION_USD", 0.0015)
    lines = "\n\n".join(
        f"Tea sales rose by 12%, line {word} [a](../tea.md)." for word in "abcdefghijklmnop"
    )

    def judge(_: ModelRequest) -> Reply:
        """A verdict on every sentence, also on those that it was not sent."""
        every = [{"number": n, "verdict": "supported", "reason": ""} for n in range(1, 17)]
        return says(json.dumps({"verdicts": every}))

    b = bench(tmp_path, READ, says(f"# Tea\n\n{lines}"), judge=judge)
    done = b.explore()
    judged_now = len(batch_of(model_of(b).verifications[0]))
    assert 0 < judged_now < 16
    assert counts(done) == (judged_now, 0, 0, 16 - judged_now)


def test_with_no_time_left_only_rules_verify(tmp_path: Path) -> None:
    b = bench(tmp_path, READ)

    def slow(_: ModelRequest, number: int) -> Reply:
        if number == 1:
            b.clock.sleep(115)
        return READ if number == 0 else says(WRONG)

    b.with_model(ScriptedModel(slow))
    done = b.explore()
    assert done.run.outcome in {"completed", "partial"}
    assert model_of(b).verifications == []
    assert counts(done) == (0, 0, 1, 0)
    assert UNSUPPORTED in b.store.load_report(done.id)


class Killed(BaseException):
    pass


def test_a_run_that_dies_while_it_is_verified_goes_on_and_pays_for_both_calls(
    tmp_path: Path,
) -> None:
    died = False

    def judge(request: ModelRequest) -> Reply:
        nonlocal died
        if not died:
            died = True
            raise Killed
        return judged(request, usage=A_VERDICT)

    b = bench(tmp_path, READ, says(RIGHT), judge=judge)
    queued = b.submit()
    with pytest.raises(Killed):
        explore(queued.id, queued.run.number, b.deps)
    done = explore(queued.id, queued.run.number, b.deps)
    assert (done.run.outcome, len(model_of(b).requests)) == ("completed", 2)
    first = next(e for e in b.entries(done) if isinstance(e, VerificationStarted))
    expected = PRICES[HAIKU].total([first.reserved, A_VERDICT]) + PRICES[SONNET].total([A_CALL] * 2)
    assert done.run.stats.cost_usd == pytest.approx(expected, abs=2e-6)
    assert done.run.stats.unconfirmed_usd == pytest.approx(
        PRICES[HAIKU].cost(first.reserved), abs=2e-6
    )
    assert_replays(b, done)


def test_a_run_that_dies_after_the_sentences_went_back_does_not_send_them_again(
    tmp_path: Path,
) -> None:
    b = bench(tmp_path, READ, says(WRONG))
    plain = model_of(b)

    class DiesInCorrection(ScriptedModel):
        def answer(self, request: ModelRequest, *args: object) -> ModelAnswer:
            if "not supported by the sources" in " ".join(last_texts(request)):
                raise Killed
            return plain.answer(request, *args)  # type: ignore[arg-type]

    b.with_model(DiesInCorrection([]))
    queued = b.submit()
    with pytest.raises(Killed):
        explore(queued.id, queued.run.number, b.deps)
    b.with_model(ScriptedModel([says(RIGHT)]))
    done = explore(queued.id, queued.run.number, b.deps)
    sent = [e for e in b.entries(done) if isinstance(e, Instruction) and e.again == "unsupported"]
    assert (done.run.outcome, len(sent), counts(done)) == ("completed", 1, (1, 0, 0, 0))
    assert_replays(b, done)


def test_a_transcript_from_before_messages_had_documents_loads(tmp_path: Path) -> None:
    b = bench(tmp_path, READ, says(WRONG), says(RIGHT))
    done = b.run()
    stored = [json.loads(dump_entry(entry)) for entry in b.entries(done)]
    assert [entry["again"] for entry in stored if entry.pop("attached", None)] == ["unsupported"]
    older = [parse_entry(json.dumps(entry)) for entry in stored]
    assert [e.attached for e in older if isinstance(e, Instruction)] == [[]]
    replayed = replay(older)
    assert replayed.divergence == ""
    assert replayed.conclusion is not None
    assert replayed.conclusion.text == b.store.load_report(done.id)


def test_a_report_without_citations_has_no_section_on_evidence(tmp_path: Path) -> None:
    b = bench(tmp_path, says("# Tea\n\nNobody knows."))
    done = b.explore()
    assert b.store.load_report(done.id) == "# Tea\n\nNobody knows."
    assert counts(done) == (0, 0, 0, 0)
