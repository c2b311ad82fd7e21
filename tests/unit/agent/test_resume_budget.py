"""A resume must be able to pay for at least a short report, beside what is spent already."""

import re
from pathlib import Path

import pytest

from idea_explorer.domain.errors import InvalidRequestError
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.json import JsonObject
from idea_explorer.domain.request import ResumeRequest
from idea_explorer.domain.usage import Usage
from idea_explorer.usecases.explore import explore
from idea_explorer.usecases.resume import resume
from idea_explorer.usecases.settle import settle
from tests.fakes.engine import Bench
from tests.fakes.models import Reply, calls, says, scripted

DEAR = Usage(input_tokens=100_000, output_tokens=100)  # $0.20
CUT_OFF = [
    calls(("list_research", {}), usage=DEAR),
    says("# Half", stop_reason="max_tokens"),
    says("a report", stop_reason="max_tokens"),
]


class Again(Bench):
    """An exploration that was cut off after it had spent something, and its next run."""

    def __init__(
        self, folder: Path, *replies: Reply, documents: int = 0, max_cost_usd: float = 1.0
    ) -> None:
        super().__init__(folder, scripted(replies or CUT_OFF))
        for number in range(documents):
            self.write(f"{number}.md", f"{number} tea leaves " * 3_500)
        self.partial = self.run(max_cost_usd=max_cost_usd)
        self.model = scripted([says("# Whole")])
        self.with_model(self.model)

    def taken_up(self, **limits: float) -> Exploration:
        return resume(
            self.partial.id,
            "tester",
            ResumeRequest.model_validate(limits),
            self.deps,
        )


def test_a_budget_that_is_spent_already_names_the_least(tmp_path: Path) -> None:
    again = Again(tmp_path)
    for budget in (0.0001, again.partial.run.stats.cost_usd or 0):
        with pytest.raises(InvalidRequestError) as refused:
            again.taken_up(max_cost_usd=budget)
        (told,) = refused.value.fields.values()
        assert list(refused.value.fields) == ["max_cost_usd"]
        assert re.fullmatch(
            r"must be at least 0\.\d{3} to write anything at all; 0\.\d{3} is spent already", told
        )
    assert again.store.load(again.partial.id) == again.partial


def test_the_least_that_is_named_is_enough(tmp_path: Path) -> None:
    again = Again(tmp_path)
    with pytest.raises(InvalidRequestError) as refused:
        again.taken_up(max_cost_usd=0.0001)
    least = float(re.findall(r"\d+\.\d+", refused.value.fields["max_cost_usd"])[0])

    queued = again.taken_up(max_cost_usd=least)
    done = explore(queued.id, queued.run.number, again.deps)

    assert again.store.load_report(done.id) == "# Whole"
    assert done.run.stats.over_budget_usd == 0


def test_the_first_budget_counts_where_no_other_is_given(tmp_path: Path) -> None:
    again = Again(tmp_path)
    spent = again.partial.run.stats.cost_usd or 0
    again.store.take_over(again.partial.id, lambda e: _with_budget(e, spent + 0.001))
    with pytest.raises(InvalidRequestError, match="max_cost_usd"):
        again.taken_up(max_steps=3)
    assert again.taken_up(max_cost_usd=1.0).run.number == 2


def test_publishing_what_is_written_needs_no_budget(tmp_path: Path) -> None:
    again = Again(tmp_path)
    again.store.take_over(
        again.partial.id,
        lambda e: e.replace(status="failed", outcome="completed"),
    )
    assert again.taken_up(max_cost_usd=0.0001).run.outcome == "completed"


DOCUMENTS: list[tuple[str, JsonObject]] = [("read_research", {"path": f"{n}.md"}) for n in range(4)]
READ = calls(*DOCUMENTS)


def refusal(again: Again, max_cost_usd: float) -> str:
    with pytest.raises(InvalidRequestError) as refused:
        again.taken_up(max_cost_usd=max_cost_usd)
    (told,) = refused.value.fields.values()
    return told


def least_in(told: str) -> float:
    return float(re.findall(r"\d+\.\d+", told)[0])


def test_what_was_read_counts_for_what_is_needed(tmp_path: Path) -> None:
    """A conversation of 56,000 tokens costs more to be read again than a new one."""
    small = Again(tmp_path / "small", READ, *CUT_OFF[1:])
    large = Again(tmp_path / "large", READ, *CUT_OFF[1:], documents=4)

    assert least_in(refusal(large, 0.01)) > least_in(refusal(small, 0.01)) + 0.003


def test_what_is_named_for_a_large_conversation_is_enough(tmp_path: Path) -> None:
    again = Again(tmp_path, READ, *CUT_OFF[1:], documents=4)
    least = least_in(refusal(again, 0.01))
    assert "to write anything at all" in refusal(again, least - 0.002)

    queued = again.taken_up(max_cost_usd=least)
    done = explore(queued.id, queued.run.number, again.deps)

    assert again.store.load_report(done.id) == "# Whole"
    assert done.run.stats.over_budget_usd == 0


def test_what_the_budget_ended_is_taken_up_only_for_another_look(tmp_path: Path) -> None:
    again = Again(tmp_path, READ, says("# So far"), documents=4, max_cost_usd=0.6)
    assert (again.partial.status, again.partial.run.stats.stop_reason) == ("partial", "budget")
    told = refusal(again, 0.7)
    assert re.fullmatch(
        r"must be at least \d\.\d{3} to look any further; 0\.\d{3} is spent already", told
    )

    queued = again.taken_up(max_cost_usd=least_in(told))
    explore(queued.id, queued.run.number, again.deps)

    assert again.model.writing[0] is False


def test_a_run_that_was_killed_names_what_its_conversation_needs(tmp_path: Path) -> None:
    again = Again(tmp_path, READ, *CUT_OFF[1:], documents=4)
    whole = again.partial.run.min_resume_usd
    again.store.take_over(
        again.partial.id,
        lambda e: e.replace(status="running", outcome=None, min_resume_usd=None),
    )

    settled = settle(again.partial.id, 1, "timed_out", again.deps)

    assert settled.run.min_resume_usd == whole


def _with_budget(exploration: Exploration, usd: float) -> Exploration:
    request = exploration.request.model_copy(update={"max_cost_usd": usd})
    return exploration.replace(request=request)
