"""`make eval` on a few of its recordings: what it scores, stores and refuses."""

import json
from pathlib import Path

import pytest

from idea_explorer.agent.state import State
from idea_explorer.domain.tools import make_passage
from idea_explorer.domain.transcript import Opening
from tests.evaluation.__main__ import evaluate, main
from tests.evaluation.claims import find_claims
from tests.evaluation.judge import SYSTEM
from tests.evaluation.recordings import FOLDER, Recording, load, load_all
from tests.evaluation.replies import RecordedModel
from tests.evaluation.run import run_recorded
from tests.evaluation.scores import Score
from tests.evaluation.tables import BEGIN, END, compare, describe_prompts, find_failures, summarize
from tests.fakes.anthropic_server import FakeAnthropic
from tests.fakes.anthropic_turns import Turn, answer, text
from tests.fakes.anthropic_wire import JsonObject, system_blocks

pytestmark = pytest.mark.long

LANGUAGES = {"en", "de", "fr", "es", "it"}


def recording(name: str) -> Recording:
    return load(FOLDER / f"{name}.yaml")


def test_there_are_thirty_ideas_and_questions_of_several_kinds() -> None:
    found = load_all()
    assert len(found) >= 30
    assert {each.depth for each in found} == {"quick", "standard", "deep"}
    assert {each.mode for each in found} == {"business", "exploration"}
    assert {each.toolset for each in found} == {"research", "assistant"}
    assert {each.language for each in found} == LANGUAGES
    assert sum(len(each.planted) for each in found) >= 10


@pytest.mark.parametrize("each", load_all(), ids=lambda each: each.name)
def test_a_recording_cites_what_it_found_and_states_what_it_planted(each: Recording) -> None:
    found = {name for step in each.steps for names in step.search.values() for name in names}
    assert found == each.sources.keys()
    assert all(planted in each.report for planted in each.planted)
    assert all(wrong in each.report for wrong in each.corrections)


def test_a_report_is_scored_by_what_its_sources_say() -> None:
    score = run_recorded(recording("school-lunch-planner")).score
    assert (score.outcome, score.structure, score.verdict, score.coverage) == ("completed", 1, 1, 1)
    # one of the two planted claims is corrected when asked, the other stays and is marked
    assert (score.planted, score.caught) == (2, 2)
    assert score.precision == pytest.approx(2 / 3)
    assert (score.warned, score.marked) == (1.0, 1)
    assert score.steps == 2
    assert 0 < score.dollars < 0.2


def test_a_deep_item_is_written_from_what_its_branches_found() -> None:
    run = run_recorded(recording("rural-clinic-drones"))
    assert run.branches == 4
    assert (run.score.outcome, run.score.caught) == ("completed", 2)


def test_a_report_without_a_verdict_loses_that_score() -> None:
    score = run_recorded(recording("allergy-menu-scanner")).score
    assert (score.outcome, score.verdict) == ("partial", 0.0)
    assert score.coverage == pytest.approx(4 / 5)


def test_a_report_in_another_language_than_its_idea_loses_structure() -> None:
    german, bees = recording("hofladen-automat"), recording("urban-bee-box")
    english = bees.model_copy(update={"idea": german.idea, "language": german.language})
    assert run_recorded(german).score.structure == 1.0
    assert run_recorded(english).score.structure == pytest.approx(6 / 7)


def test_what_files_and_pages_say_is_evidence_too() -> None:
    page, files = (
        run_recorded(recording(name)).score for name in ("page-summary", "invoice-files")
    )
    assert (page.cited, page.precision) == (4, 1.0)
    assert (files.cited, files.coverage) == (2, 1.0)


def test_a_mark_belongs_to_the_sentence_before_it() -> None:
    report = (
        "# T\n\nTea costs 9 euros. [[1]](https://a.example) ⚠ not supported by its source It costs 5"
        " euros. [[1]](https://a.example)\n"
    )
    read = make_passage("https://a.example", "Tea costs 5 euros.", title="Tea")
    state = State([Opening(model_id="m", system=[], tools=[], content=[], passages=[read])])
    assert [(c.is_supported, c.is_marked) for c in find_claims(report, state)] == [
        (False, True),
        (True, False),
    ]


def score_of(**changed: float | None) -> Score:
    qualities: dict[str, float | None] = dict.fromkeys(
        ("structure", "verdict", "precision", "warned", "coverage"), 1.0
    )
    return Score(
        **{**qualities, **changed},
        name="tea", group="quick", language="en", outcome="completed", cited=1, marked=0, planted=0,
        caught=0, words=1, steps=1, input_tokens=1, output_tokens=1, dollars=0.1,
    )  # fmt: skip


def test_a_mean_below_its_floor_is_a_failure() -> None:
    floors = {"quick": {"precision": 0.75, "coverage": 1.0}}
    good = summarize([score_of(precision=0.5), score_of(precision=1.0)])
    assert find_failures(good, floors) == []
    (failure,) = find_failures(summarize([score_of(precision=0.74)]), floors)
    assert failure == "quick: precision is 0.7400, below its floor of 0.75"
    assert find_failures(summarize([score_of(precision=None)]), floors) != []
    assert find_failures(good, {}) == ["quick: there is no floor for it"]
    assert find_failures([], floors) == ["quick: nothing was run, but there is a floor for it"]


def test_a_change_of_a_prompt_changes_its_row() -> None:
    item = recording("mortgage-sum")
    run = run_recorded(item)
    (before, *_) = describe_prompts([item], [run])
    run.first_request["system"][0]["text"] += " Be brief."
    (after, *_) = describe_prompts([item], [run])
    assert before[0] == after[0] == "assistant"
    assert before[3] != after[3]


def test_only_rows_that_changed_are_shown() -> None:
    stored = "| a  | 1 |\n|----|---|\n| b  | 2 |"
    assert compare(stored, "| a | 1 |\n|---|---|\n| b | 2 |") == ""
    assert compare(stored, "| a | 1 |\n|---|---|\n| b | 3 |").splitlines()[2:] == [
        "-| b | 2 |",
        "+| b | 3 |",
    ]


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    (tmp_path / "images").mkdir()
    (tmp_path / "evaluation.md").write_text(f"# E\n\n{BEGIN}\n{END}\n\nAfter.\n", "utf-8")
    return tmp_path


def test_the_tables_are_stored_compared_and_held_to_their_floors(
    docs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    items = [recording("mortgage-sum")]
    assert evaluate(items, docs, {"assistant": {"coverage": 1.0}}) == 0
    page = (docs / "evaluation.md").read_text("utf-8")
    assert page.startswith(f"# E\n\n{BEGIN}\n\n### Summary\n")
    assert page.endswith(f"{END}\n\nAfter.\n")
    assert "prefers-color-scheme: dark" in (docs / "images" / "evaluation.svg").read_text("utf-8")
    assert "Changed since" in capsys.readouterr().out

    assert evaluate(items, docs, {"assistant": {"coverage": 1.01}}) == 1
    printed = capsys.readouterr().out
    assert "Nothing changed." in printed
    assert "FAILED: assistant: coverage" in printed


class Claude:
    """The recorded model for its own requests, and a judge that finds half of everything."""

    def __init__(self, item: Recording, verdicts: str | None = None) -> None:
        self.recorded, self.item, self.verdicts, self.judged = (
            RecordedModel(item),
            item,
            verdicts,
            0,
        )

    def __call__(self, request: JsonObject, index: int) -> Turn:
        if system_blocks(request)[0]["text"] != SYSTEM:
            return self.recorded(request, index)
        self.judged += 1
        points = [number % 2 == 0 for number in range(len(self.item.rubric))]
        given = {"points": points, "sentences": ["supported", "partly", "not"]}
        return answer(text(self.verdicts or f"Here it is: {json.dumps(given)}"))


@pytest.fixture
def key(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "test-key")
    return monkeypatch


def test_a_live_run_asks_the_model_and_the_judge(docs: Path, key: pytest.MonkeyPatch) -> None:
    model = Claude(recording("elternzeit-frage"))
    with FakeAnthropic(model, count=True) as server:
        key.setenv("ANTHROPIC_BASE_URL", server.url)
        assert main(["--live", "--cap", "2", "--only", "elternzeit-frage"], docs) == 0
    assert (server.rejections, model.judged) == ([], 1)
    assert server.requests[-1].body["model"] == "claude-haiku-5-5"
    page = (docs / "evaluation-live.md").read_text("utf-8")
    row = next(line for line in page.splitlines() if "elternzeit-frage" in line)
    cells = [cell.strip() for cell in row.split("|")]
    assert cells[7] == "0.50"  # precision as judged: one supported, one partly, one not
    assert "0.50" in cells[9]  # coverage: every other point
    assert (docs / "images" / "evaluation-live.svg").exists()


@pytest.mark.parametrize("given", [["--live"], ["--live", "--cap", "0"]])
def test_a_live_run_without_a_cap_is_refused(
    given: list[str], docs: Path, key: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(given, docs)
    assert "--cap DOLLARS" in capsys.readouterr().err


def test_a_live_run_stays_below_its_cap(
    docs: Path, key: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with FakeAnthropic(Claude(recording("elternzeit-frage")), count=True) as server:
        key.setenv("ANTHROPIC_BASE_URL", server.url)
        assert main(["--live", "--cap", "0.1", "--only", "elternzeit-frage"], docs) == 1
    assert server.requests == []
    assert "not run, the cap is reached" in capsys.readouterr().out
    assert not (docs / "evaluation-live.md").exists()


@pytest.mark.parametrize("said", ["I cannot.", "{}", '{"points": [true], "sentences": []}'])
def test_a_judgement_that_cannot_be_read_is_a_problem_and_no_score(
    said: str, docs: Path, key: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with FakeAnthropic(Claude(recording("elternzeit-frage"), said), count=True) as server:
        key.setenv("ANTHROPIC_BASE_URL", server.url)
        assert main(["--live", "--cap", "2", "--only", "elternzeit-frage"], docs) == 1
    assert "PROBLEM: elternzeit-frage: the judge" in capsys.readouterr().out
