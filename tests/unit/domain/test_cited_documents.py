"""A run's report and the team's documents: what was read or found may be cited, what was listed may not."""

from dataclasses import replace
from pathlib import Path

from idea_explorer.domain.citations import UNMATCHED
from idea_explorer.usecases.replay import replay
from tests.fakes.engine import Bench
from tests.fakes.models import calls, says, scripted

NOT_FOUND = f"{UNMATCHED}: not among what this run read or found"
PAGE = "https://github.com/acme/ideas"
REPORT = f"""# Tea rooms

As [read](market/2024-06.md), [found](../interviews.md), [listed](../listed.md) and [made up](../none.md);
also [read there]({PAGE}/blob/main/ideas/market/2024-06.md) and in https://asked.example/tea.

## Sources

1. market/2024-06.md
2. The interviews, interviews.md
3. A study of 2031
"""


def test_only_what_was_read_or_found_is_a_source(tmp_path: Path) -> None:
    looked = calls(
        ("list_research", {}),
        ("read_research", {"path": "market/2024-06.md"}),
        ("search_research", {"query": "people drink"}),
    )
    bench = Bench(tmp_path, scripted([looked, says(REPORT)]))
    bench.write("market/2024-06.md", "# Market\n\nTea rooms do well.")
    bench.write("interviews.md", "# Interviews\n\nMost people drink two cups.")
    bench.write("listed.md", "# Other\n\nSomething else.")
    bench.engine = replace(bench.engine, repository_url_for=lambda _: PAGE)

    final = bench.run("Tea rooms like https://asked.example/tea")

    text = bench.store.load_report(final.id)
    body, _, sources = text.partition("\n\n## Sources\n\n")
    assert f"[listed](../listed.md) {UNMATCHED} and [made up](../none.md) {UNMATCHED};" in body
    assert "As [read](../market/2024-06.md), [found](../interviews.md), " in body
    written, _, evidence = body.partition("\n\n## Evidence\n\n")
    assert written.endswith("/market/2024-06.md) and in https://asked.example/tea.")
    assert evidence.startswith(
        "- **several sources cited** (sources 1, 2, 3, 4): As read, found, listed and made up;"
    )
    assert [line.partition(" `")[0] for line in sources.splitlines()] == [
        "1. [Market](../market/2024-06.md)",
        "2. [Interviews](../interviews.md)",
        f"3. <../listed.md> {NOT_FOUND}",
        f"4. <../none.md> {NOT_FOUND}",
        f"5. A study of 2031 {NOT_FOUND}",
    ]
    assert (final.run.stats.citations, final.run.stats.unmatched_citations) == (6, 3)
    replayed = replay(bench.entries(final), PAGE)
    assert replayed.conclusion is not None
    assert replayed.conclusion.text == text
