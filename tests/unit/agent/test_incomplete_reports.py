"""A text without what its framework asks for is no report: it is asked for once more, then `partial`."""

from dataclasses import replace
from pathlib import Path

import pytest

from idea_explorer.domain.transcript import Opening
from idea_explorer.ports import ModelAnswer
from idea_explorer.usecases.opening import framework_of
from idea_explorer.usecases.replay import replay
from tests.fakes.engine import Bench
from tests.fakes.models import ScriptedModel, calls, last_texts, raw, says, scripted
from tests.fakes.reports import business

WHOLE = business("A tea room")
BARE = "# A tea room\n\nPeople like tea, and that is all there is to say about it."
LOOK = calls(("list_research", {}))


def bench(tmp_path: Path, *replies: ModelAnswer) -> tuple[Bench, ScriptedModel]:
    b = Bench(tmp_path, model := scripted(replies))
    b.engine = replace(b.engine, framework_for=framework_of)
    b.write("a.md", "x")
    return b, model


def test_a_whole_report_is_asked_for_once(tmp_path: Path) -> None:
    b, model = bench(tmp_path, says(WHOLE))
    done = b.run()
    assert (done.status, len(model.requests), done.run.verdict) == ("completed", 1, "PASS")


def test_a_text_that_lacks_parts_is_asked_for_once_more_with_their_names(tmp_path: Path) -> None:
    b, model = bench(tmp_path, says(BARE), says(WHOLE))
    done = b.run()
    assert done.status == "completed"
    asked = last_texts(model.requests[1])[-1]
    assert "lacks parts that your instructions ask for: " in asked
    assert "Verdict" in asked
    assert b.store.load_report(done.id) == WHOLE
    assert replay(b.entries(done)).divergence == ""


def test_one_that_still_lacks_them_is_partial_and_its_receipt_names_them(tmp_path: Path) -> None:
    b, model = bench(tmp_path, says(BARE), says(BARE))
    done = b.run()
    assert (done.status, done.run.stats.stop_reason, len(model.requests)) == (
        "partial", "incomplete", 2,
    )  # fmt: skip
    assert done.run.receipt is not None
    assert done.run.receipt.message.startswith("The report lacks what its framework asks for: ")
    assert "Verdict" in done.run.receipt.message
    assert done.run.receipt.resume == f"idea resume {done.id}"
    assert b.store.load_report(done.id) == BARE
    b.with_model(scripted([says(WHOLE)]))
    assert b.resume(done).run.outcome == "completed"


def test_a_report_cut_short_by_its_deadline_is_partial_for_that_alone(tmp_path: Path) -> None:
    b, _ = bench(tmp_path, says(BARE))
    slow = ScriptedModel(lambda *_: says(BARE))

    def answered(_: object, number: int) -> ModelAnswer:
        b.clock.pass_time(60 if number == 0 else 1)
        return LOOK if number == 0 else says(BARE)

    slow.script = answered
    b.with_model(slow)
    done = b.run(deadline_seconds=100)
    assert (done.status, done.run.stats.stop_reason) == ("partial", "deadline")


@pytest.mark.parametrize("toolset", ["assistant", "code"])
def test_other_toolsets_have_no_framework(tmp_path: Path, toolset: str) -> None:
    b, model = bench(tmp_path, says("It is 12."))
    assert b.run(toolset=toolset).run.outcome == "completed"
    assert len(model.requests) == 1


def test_what_a_report_must_have_is_kept_with_the_transcript(tmp_path: Path) -> None:
    b, _ = bench(tmp_path, says(WHOLE))
    done = b.run()
    opening = b.entries(done)[0]
    assert isinstance(opening, Opening)
    assert opening.framework is not None
    assert opening.framework.missing(BARE)


VERDICT = "## Verdict\n**Verdict: PASS**"
LONG = business("A tea room").replace(VERDICT, "## What next\nWait.") + " More." * 40
THOUGHT = raw({"type": "thinking", "thinking": "", "signature": "s"}, stop_reason="end_turn")


@pytest.mark.parametrize(
    ("then", "status"),
    [
        ([says("## Verdict\n\nPASS, because.")], "partial"),
        ([THOUGHT, THOUGHT], "partial"),
        ([raw({"type": "text", "text": ""}, stop_reason="refusal")], "partial"),
        ([says(WHOLE)], "completed"),
    ],
)
def test_asking_again_never_loses_the_report_that_was_there(
    tmp_path: Path, then: list[ModelAnswer], status: str
) -> None:
    b, model = bench(tmp_path, says(LONG), *then)
    done = b.run()
    assert done.status == status
    kept = b.store.load_report(done.id)
    assert kept == (WHOLE if status == "completed" else LONG)
    assert model.writing == [False, *[True] * len(then)]
    if status == "partial":
        assert done.run.receipt is not None
        assert "Verdict" in done.run.receipt.message


def test_a_call_instead_of_the_report_that_is_asked_for_again_is_not_run(tmp_path: Path) -> None:
    b, model = bench(tmp_path, says(LONG), LOOK, says(WHOLE))
    done = b.run()
    assert (done.status, done.run.stats.tool_calls) == ("completed", ())
    assert model.writing == [False, True, True]
