"""The offline model drives the real tools and says what it is."""

from pathlib import Path

import pytest

from idea_explorer.adapters.offline import OfflineModel
from idea_explorer.adapters.offline.conversation import Result
from idea_explorer.adapters.offline.scripts import _lines
from idea_explorer.domain.json import JsonObject
from idea_explorer.domain.report_text import find_verdict
from idea_explorer.settings import Settings
from idea_explorer.wiring.toolsets import toolset
from tests.fakes.engine import Bench


def test_it_reads_related_research_and_writes_the_business_framework(tmp_path: Path) -> None:
    bench = Bench(tmp_path, OfflineModel())
    bench.write("tea.md", "# Tea\n\nThe tea room market has grown to 3 million a year in towns.")
    bench.write("bees.md", "# Bees\n\nHoney.")
    done = bench.run("A tea room in every library")
    report = bench.store.load_report(done.id)
    assert done.status == "completed"
    assert "No model was called" in report
    assert "[Tea](../tea.md)" in report
    assert "grown to 3 million" in report
    assert find_verdict(report) is None  # there is none to take over, and none is made up
    assert "none of the documents above has a verdict" in report
    for heading in ("Problem", "Market", "Use cases and personas", "Feasibility", "Verdict"):
        assert f"## {heading}" in report
    assert {record.name for record in done.run.stats.tool_calls} >= {
        "read_research",
        "search_research",
    }


def test_a_verdict_is_taken_over_from_related_research_and_called_that(tmp_path: Path) -> None:
    bench = Bench(tmp_path, OfflineModel())
    bench.write("tea.md", "# Tea\n\nTea rooms in a library.\n\n## Verdict\n\n**Verdict: PIVOT**\n")
    done = bench.run("A tea room in every library")

    assert done.run.verdict == "PIVOT"
    report = bench.store.load_report(done.id)
    said = "**Verdict: PIVOT**, repeated from earlier research: no model judged this idea."
    assert f"## Verdict\n\n{said}\n" in report
    assert "The most common verdict of related research (1 of 1)." in report


@pytest.mark.parametrize(
    "sentence",
    [
        "The tea market of the region is $1.3 million; the SOM is 2.5% of it.",
        "As [the survey](../2026-01-02-tea/research.md) says, the market is 27% of all customers.",
        "The market share, approx. 3.5%, is what v1.2 of notes.md says about customers.",
        "Does the market of the U.S. share what its customers say?",
    ],
)
def test_a_sentence_does_not_end_inside_a_number_a_name_or_a_link(
    tmp_path: Path, sentence: str
) -> None:
    bench = Bench(tmp_path, OfflineModel())
    bench.write("tea.md", f"# Tea room\n\n- {sentence} ([Older](../old.tea.md))\n- And so on.\n")
    report = bench.store.load_report(bench.run("A tea room in every library").id)

    said = sentence.replace("[the survey](../2026-01-02-tea/research.md)", "the survey")
    market = report.partition("## Market\n\n")[2].partition("\n\n")[0]
    assert market == f"- {said} ([Tea room](../tea.md))"


def test_it_writes_the_exploration_framework(tmp_path: Path) -> None:
    bench = Bench(tmp_path, OfflineModel())
    report = bench.store.load_report(bench.run("Tea", mode="exploration").id)
    assert report.count("**First step:**") >= 5
    assert "learnt" not in report  # from nothing
    assert "## First principles" in report
    assert "## Questions worth answering" in report


def test_it_is_deterministic(tmp_path: Path) -> None:
    first, second = Bench(tmp_path / "a", OfflineModel()), Bench(tmp_path / "b", OfflineModel())
    reports = [b.store.load_report(b.run("Tea for two").id) for b in (first, second)]
    assert reports[0] == reports[1]


def test_with_one_step_it_writes_at_once(tmp_path: Path) -> None:
    bench = Bench(tmp_path, OfflineModel())
    bench.write("tea.md", "# Tea")
    done = bench.run("Tea", max_steps=1)
    assert (done.status, done.run.stats.steps, done.run.stats.tool_calls) == ("completed", 1, ())


def test_it_finds_its_way_around_code(tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text("class Shop:\n    pass\n")
    (tmp_path / "main.py").write_text("from shop import Shop\n")
    settings = Settings.from_environment({"IDEA_RESEARCH_DIR": str(tmp_path)})
    bench = Bench(tmp_path / "bench", OfflineModel(), toolset=toolset(settings, "code"))
    report = bench.store.load_report(bench.run("Where is Shop defined?", toolset="code").id)
    assert "- `shop.py:1` `class Shop`" in report
    assert "- `main.py:1` `from shop import Shop`" in report


def test_of_many_matches_it_lists_the_lines_and_not_the_folders(tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text("shop = 1\n" * 200)
    settings = Settings.from_environment({"IDEA_RESEARCH_DIR": str(tmp_path)})
    bench = Bench(tmp_path / "bench", OfflineModel(), toolset=toolset(settings, "code"))
    report = bench.store.load_report(bench.run("Where is the shop?", toolset="code").id)
    assert "- `shop.py:1` `shop = 1`" in report
    assert "- … and 192 more" in report


@pytest.mark.parametrize(
    ("listed", "total", "last"),
    [(3, 12, "- … and 9 more"), (3, 3, "- `2.py`"), (9, None, "- … and 1 more"), (0, 5, None)],
)
def test_what_a_result_leaves_out_is_counted(
    listed: int, total: int | None, last: str | None
) -> None:
    matches: list[JsonObject] = [{"file": f"{number}.py"} for number in range(listed)]
    found = Result("search_files", {}, {"matches": [*matches], "totalMatches": total})

    assert next(reversed(_lines(found)), None) == last


def test_of_code_that_mentions_nothing_it_says_so_before_it_lists_the_folder(
    tmp_path: Path,
) -> None:
    (tmp_path / "shop.py").write_text("shop = 1\n")
    settings = Settings.from_environment({"IDEA_RESEARCH_DIR": str(tmp_path)})
    bench = Bench(tmp_path / "bench", OfflineModel(), toolset=toolset(settings, "code"))
    report = bench.store.load_report(bench.run("Where is the budget?", toolset="code").id)
    assert "Nothing in the repository mentions `budget`.\n\n## The top folder" in report


def test_it_repeats_no_sentence_and_nothing_that_a_report_says_about_itself(tmp_path: Path) -> None:
    bench = Bench(tmp_path, OfflineModel())
    fact = "The tea market has grown to 3 million customers in towns."
    bench.write(
        "tea.md", f"# Tea\n\n{fact}\n\n## Evidence\n\n- unchecked: a market of tea in towns."
    )
    bench.write("tea-two.md", f"# Tea again\n\n{fact}")
    report = bench.store.load_report(bench.run("A tea room in towns").id)
    market = report.partition("## Market")[2].partition("\n## ")[0]
    assert market.count(fact) == 1
    assert "unchecked" not in market
