"""The offline model on questions: real tools, an answer with sources, and what failed."""

from pathlib import Path

import pytest

from idea_explorer.adapters.documents.process import ChildProcessReader
from idea_explorer.adapters.offline import OfflineModel
from idea_explorer.domain.events import ToolCallStart
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.json import JsonObject
from idea_explorer.tools import DIRECT_VERSION
from idea_explorer.tools.assistant import assistant_tools
from tests.fakes.documents import make_pdf
from tests.fakes.engine import Bench
from tests.fakes.fetching import Files, local_pages
from tests.fakes.toolsets import OnePage

NOTES = Files(
    api_notes__md=b"Our API endpoints are GET /orders and [POST](https://x.example) /orders."
)


def bench(tmp_path: Path, files: Files | None = None) -> Bench:
    tools = assistant_tools(
        OnePage(), files or Files(), DIRECT_VERSION, None, documents=ChildProcessReader()
    )
    return Bench(tmp_path, OfflineModel(), toolset=tools)


def asked(b: Bench, question: str) -> tuple[Exploration, str]:
    done = b.run(question, toolset="assistant")
    return done, b.store.load_report(done.id)


def calls(b: Bench) -> list[tuple[str, JsonObject]]:
    return [(e.tool_name, e.input) for e in b.seen.events if isinstance(e, ToolCallStart)]


def test_it_searches_the_files_and_names_them_as_sources(tmp_path: Path) -> None:
    b = bench(tmp_path, NOTES)
    done, report = asked(b, "Search my uploaded documentation for API endpoints")
    assert calls(b) == [("file_search", {"query": "API search uploaded documentation endpoints"})]
    assert "“Our API endpoints are GET /orders" in report
    assert "1. [api_notes.md](api_notes.md) `" in report.split("## Sources")[1]
    assert "No model was called" in report
    assert (done.status, done.run.stats.unmatched_citations, done.publication.path) == (
        "completed",
        1,  # the address in the file, which this run did not find itself
        None,
    )
    assert not list((tmp_path / "ideas").iterdir())


def test_it_reads_the_pages_and_does_the_sums_that_the_question_names(tmp_path: Path) -> None:
    b = bench(tmp_path)
    _, report = asked(b, "What are 3 permits at (https://city.example/fees), i.e. 3 * 1,120 + 5?")
    assert sorted(name for name, _ in calls(b)) == ["calculator", "http_fetch"]
    assert "`3 * 1120 + 5` = 3365" in report
    assert "[Permits](https://city.example/fees): “A permit costs 120 a year.”" in report
    assert "unverified" not in report


def test_it_says_which_tool_failed_and_why(tmp_path: Path) -> None:
    tools = assistant_tools(
        local_pages(), Files(), DIRECT_VERSION, None, documents=ChildProcessReader()
    )
    b = Bench(tmp_path, OfflineModel(), toolset=tools)
    done, report = asked(b, "Read http://10.0.0.1/x and divide 1 / 0")
    failed = report.split("## What failed")[1]
    assert "- http_fetch of `http://10.0.0.1/x`: " in failed
    assert "- calculator of `1 / 0`: " in failed
    assert done.status == "completed"


def test_without_anything_to_work_on_it_says_that_there_is_no_answer(tmp_path: Path) -> None:
    b = bench(tmp_path)
    _, report = asked(b, "Who won?")
    assert calls(b) == []
    assert "There is no answer here" in report
    assert "No model was called" in report


def test_a_question_is_quoted_as_it_is(tmp_path: Path) -> None:
    done, report = asked(bench(tmp_path), "What is 3*3 [really]?")

    assert report.startswith("# What is 3\\*3 \\[really\\]?\n")
    assert done.run.title == "What is 3*3 [really]?"


@pytest.mark.parametrize(
    ("question", "sums"),
    [
        ("What is 1200 * (1 + 7.5%) ^ 3?", ["1200 * (1 + 7.5%) ^ 3"]),
        ("How much is 15% of 80, and 2+2?", ["15% * 80", "2+2"]),
        ("sqrt(2), round(2.5, 1) and 2 * pi", ["sqrt(2)", "round(2.5, 1)", "2 * pi"]),
        ("12 / 4 - 1", ["12 / 4 - 1"]),
        ("On 2024-06-12 we met 10-20 people, 24/7", []),
        ("Section (2), foo(3), v1.2.3 + 4 and C++ 11", []),
        ("See https://x.example/1+1", []),
    ],
)
def test_sums_are_told_from_dates_ranges_and_versions(
    question: str, sums: list[str], tmp_path: Path
) -> None:
    b = bench(tmp_path)
    asked(b, question)
    expressions = [given["expression"] for name, given in calls(b) if name == "calculator"]
    assert sorted(map(str, expressions)) == sorted(sums)


def test_with_one_step_it_writes_at_once(tmp_path: Path) -> None:
    b = bench(tmp_path, NOTES)
    done = b.run("Which endpoints?", toolset="assistant", max_steps=1)
    assert (done.status, done.run.stats.steps, calls(b)) == ("completed", 1, [])


def test_a_passage_of_a_document_is_cited_with_its_page(tmp_path: Path) -> None:
    files = Files(report__pdf=make_pdf(["Nothing", "The roof rent is 40 euros a month."]))
    _, report = asked(bench(tmp_path, files), "What is the roof rent in my documents?")
    assert "([report.pdf, page 2](report.pdf%2C%20page%202))" in report
    assert "unverified" not in report
