"""The first message lists what the team already knows about the idea."""

from dataclasses import replace
from pathlib import Path

from idea_explorer.adapters.folder.research import Folder
from idea_explorer.adapters.offline import OfflineModel
from idea_explorer.domain.errors import UnavailableError
from idea_explorer.domain.parsed_documents import OFFLINE
from idea_explorer.domain.paths import ResearchPath
from idea_explorer.domain.private_text import has_private_text
from idea_explorer.domain.transcript import Opening
from idea_explorer.ports import Document, ResearchRepository
from tests.fakes.engine import Bench
from tests.fakes.models import last_texts, says, scripted
from tests.fakes.research import index_of

IDEA = "A tea room for students in Leeds"
EARLIER = """\
# A tea room in Leeds

Students in Leeds drink more tea than coffee.

## Verdict

**Verdict: PASS**

Rents doubled in a year ⚠ unverified.
"""
WRITTEN_OFFLINE = f"---\nidea: {IDEA}\nmodel: offline\n---\n\n{EARLIER}"
CITING = says("# Tea\n\nStudents [drink tea](../2026-01-02-tea/research.md).")


def opening_of(bench: Bench, **fields: object) -> Opening:
    begun = bench.entries(bench.explore(IDEA, **fields))[0]
    assert isinstance(begun, Opening)
    return begun


def test_related_documents_come_with_the_first_message_and_can_be_cited(tmp_path: Path) -> None:
    model = scripted([CITING])
    bench = Bench(tmp_path, model)
    bench.write("2026-01-02-tea/research.md", EARLIER)
    bench.write("2026-01-03-bees/research.md", "# Bees\n\nBees on roofs.")
    done = bench.explore(IDEA)
    asked, listed = last_texts(model.requests[0])
    assert "`Related research`" in asked
    assert "document: 2026-01-02-tea/research.md; date: 2026-01-02; verdict: PASS" in listed
    assert "Students in Leeds drink more tea than coffee." in listed
    assert "- Rents doubled in a year" in listed
    assert "Bees" not in listed
    assert has_private_text(bench.entries(done))
    assert (done.run.stats.citations, done.run.stats.unmatched_citations) == (1, 0)


def test_what_the_offline_model_wrote_is_no_related_research(tmp_path: Path) -> None:
    bench = Bench(tmp_path, OfflineModel())
    policy = replace(bench.deps.policy, model_ids={"sonnet": OFFLINE})
    bench.deps = replace(bench.deps, policy=policy)
    written = bench.run(IDEA).publication.document
    assert written
    assert "\nmodel: offline\n" in (tmp_path / written).read_text()
    bench.with_model(model := scripted([says("# Tea")]))
    bench.explore(IDEA)
    assert "Related research" not in str(model.requests[0].messages)


def test_no_amount_of_it_hides_related_research(tmp_path: Path) -> None:
    bench = Bench(tmp_path, model := scripted([says("# Tea")]))
    bench.write("tea/research.md", EARLIER)
    for number in range(5):
        bench.write(f"offline-{number}/research.md", WRITTEN_OFFLINE)
    updated = f"{WRITTEN_OFFLINE}\n## Update - 2026-11-17\n\nRents fell.\n"
    bench.write("updated/research.md", updated)
    bench.explore(IDEA)
    _, listed = last_texts(model.requests[0])
    assert "document: tea/research.md" in listed
    assert "document: updated/research.md" in listed
    assert "offline-" not in listed


def test_without_related_research_nothing_is_said_about_it(tmp_path: Path) -> None:
    model = scripted([says("# Tea")])
    bench = Bench(tmp_path, model)
    bench.write("bees/research.md", "# Bees\n\nBees on roofs.")
    done = bench.explore(IDEA)
    assert "Related research" not in str(model.requests[0].messages)
    assert not has_private_text(bench.entries(done))


def test_the_document_that_a_run_continues_is_not_listed_again(tmp_path: Path) -> None:
    bench = Bench(tmp_path, scripted([says("# Tea")]))
    first = bench.run(IDEA)
    begun = opening_of(bench, continue_from=first.id)
    assert [block.get("type") for block in begun.content] == ["text", "document"]
    assert len(begun.passages) == 1


def test_a_repository_that_cannot_be_read_is_no_reason_to_fail(tmp_path: Path) -> None:
    class Unreachable(Folder):
        def read(self, path: ResearchPath, *, limit: int = 0) -> Document:
            raise UnavailableError("GitHub is down.")

    def research() -> ResearchRepository:
        return Unreachable(tmp_path)

    bench = Bench(tmp_path, scripted([says("# Tea")]))
    bench.write("tea/research.md", EARLIER)
    bench.deps = replace(bench.deps, research=research)
    assert bench.explore(IDEA).run.outcome == "completed"
    assert bench.log.of("related_research_skipped") != []


def test_a_document_that_was_removed_since_is_left_out(tmp_path: Path) -> None:
    bench = Bench(tmp_path, scripted([says("# Tea")]))
    bench.write("tea/research.md", EARLIER)
    (tmp_path / "ideas/tea/research.md").unlink()
    bench.deps = replace(bench.deps, index=lambda: index_of({"tea/research.md": EARLIER}))
    assert opening_of(bench).passages == []
