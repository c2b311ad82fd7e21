"""Update, follow-up and reuse: research that builds on research."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import ValidationError

from idea_explorer.domain.errors import InvalidRequestError
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.ids import new_id
from idea_explorer.domain.json import document_text, text_of
from idea_explorer.domain.request import ExploreRequest
from idea_explorer.ports import ModelRequest
from idea_explorer.usecases.continuation import PriorDocument, find_continuation
from idea_explorer.usecases.reuse import reuse
from idea_explorer.usecases.submit import submit
from tests.fakes.engine import Bench
from tests.fakes.models import ScriptedModel, says, scripted

IDEA = "A tea room"
FIRST = "# A tea room\n\nIt may work.\n\n## Verdict\n\n**PIVOT**"
SECTION = "### What changed\n\nRents fell.\n\n### Verdict\n\n**STRONG YES**: rents fell."


@pytest.fixture
def model() -> ScriptedModel:
    return scripted([says(FIRST), says(SECTION)])


@pytest.fixture
def bench(tmp_path: Path, model: ScriptedModel) -> Bench:
    return Bench(tmp_path, model)


def first_message(request: ModelRequest) -> str:
    """The text of the message, and after it the document that is attached."""
    content = request.messages[0]["content"]
    assert isinstance(content, list)
    asked, attached = content
    assert isinstance(asked, dict)
    assert isinstance(attached, dict)
    return f"{text_of(asked['text'])}\n\n{document_text(attached)}"


def read(bench: Bench, final: Exploration) -> str:
    return (bench.root / str(final.publication.document)).read_text("utf-8")


def log_of(bench: Bench, final: Exploration) -> list[dict[str, object]]:
    path = bench.root / str(final.publication.document).replace(
        "research.md", "exploration-log.json"
    )
    entries: list[dict[str, object]] = json.loads(path.read_text("utf-8"))
    return entries


def test_an_update_adds_a_dated_section_to_the_document_of_its_idea(
    bench: Bench, model: ScriptedModel
) -> None:
    first = bench.run(IDEA)
    before = read(bench, first)
    bench.write("2026-01-01-a-tea-room/research.md", "An older one by hand.")
    second = bench.run("a tea room!", update=True)

    assert second.publication.document == first.publication.document
    after = read(bench, first)
    assert after.startswith(before)
    assert f"\n## Update - {second.created_at:%Y-%m-%d}\n" in after
    assert after.rstrip().endswith("**STRONG YES**: rents fell.")
    assert second.run.verdict == "STRONG YES"
    assert [(e["jobId"], e["isUpdate"]) for e in log_of(bench, first)] == [
        (first.id, False),
        (second.id, True),
    ]
    said = first_message(model.requests[-1])
    assert "It may work." in said
    assert "do not repeat it" in said


def test_of_several_documents_the_newest_is_updated(bench: Bench) -> None:
    finals = [bench.run(IDEA), bench.run(IDEA)]
    bench.clock.pass_time(60)
    updated = bench.run(IDEA, update=True)

    assert str(finals[1].publication.document).endswith("-2/research.md")
    assert updated.publication.document == finals[1].publication.document


def test_another_idea_of_the_same_slug_is_not_updated(bench: Bench) -> None:
    long = "word " * 30
    first = bench.run(f"{long}one")
    second = bench.run(f"{long}two", update=True)

    assert second.publication.document != first.publication.document
    assert second.publication.notice is not None
    assert "no research of this idea" in second.publication.notice


@pytest.mark.parametrize("log", [None, "not json", b"\xff"])
def test_a_document_is_known_by_its_front_matter_where_the_log_says_nothing(
    bench: Bench, log: str | bytes | None
) -> None:
    first = bench.run(IDEA)
    path = bench.root / str(first.publication.document).replace(
        "research.md", "exploration-log.json"
    )
    path.unlink()
    if log is not None:
        path.write_bytes(log if isinstance(log, bytes) else log.encode())
    before = read(bench, first)
    updated = bench.run(IDEA, update=True)

    if log is None:
        assert updated.publication.document == first.publication.document
    else:
        assert updated.status == "failed"
        assert read(bench, first) == before
        assert bench.store.load_report(updated.id).startswith("### What changed")


WRITTEN_BY_HAND = {
    "plain": "# Tea rooms\n\nWritten by hand, no matter in front.\n",
    "with other line ends and no last one": "# Tea rooms\r\n\r\nFrom another editor",
    "with a matter that names no idea": "---\ntags: [tea]\n---\n\n# Tea rooms\n",
    "with a broken matter": "---\nidea: [unclosed\n---\n\n# Tea rooms\n",
}


@pytest.mark.parametrize("text", WRITTEN_BY_HAND.values(), ids=WRITTEN_BY_HAND)
def test_an_update_adds_to_a_document_without_front_matter_and_loses_nothing(
    bench: Bench, model: ScriptedModel, text: str
) -> None:
    bench.write("2026-01-01-a-tea-room/research.md", "")
    path = bench.root / "ideas" / "2026-01-01-a-tea-room" / "research.md"
    path.write_bytes(text.encode())
    bench.with_model(scripted([says(SECTION)]))

    updated = bench.run(IDEA, update=True)

    assert updated.publication.document == "ideas/2026-01-01-a-tea-room/research.md"
    assert updated.publication.notice is None
    after = path.read_bytes().decode()
    assert after.startswith(text)
    assert after.count("## Update - ") == 1
    assert "Rents fell." in after
    assert [entry["jobId"] for entry in log_of(bench, updated)] == [updated.id]
    assert [p.name for p in (bench.root / "ideas").iterdir()] == ["2026-01-01-a-tea-room"]


def test_of_a_document_without_front_matter_and_an_older_one_the_newest_is_updated(
    bench: Bench,
) -> None:
    bench.write("2026-01-01-a-tea-room/research.md", "---\nidea: A tea room\n---\n\n# Old\n")
    bench.write("2026-02-02-a-tea-room/research.md", "# Newer, by hand\n")
    bench.write("2026-03-03-a-tea-room/research.md", "---\nidea: Another one\n---\n\n# Other\n")
    bench.with_model(scripted([says(SECTION)]))

    updated = bench.run(IDEA, update=True)

    assert updated.publication.document == "ideas/2026-02-02-a-tea-room/research.md"


def test_an_update_without_research_writes_the_first_and_says_so(bench: Bench) -> None:
    final = bench.run(IDEA, update=True)

    assert final.status == "completed"
    assert read(bench, final).endswith("**PIVOT**\n")
    assert final.publication.notice == (
        "There was no research of this idea to update, so this is a new document."
    )


def test_a_document_removed_meanwhile_does_not_lose_the_update(bench: Bench) -> None:
    first = bench.run(IDEA)
    explored = bench.explore(IDEA, update=True)
    (bench.root / str(first.publication.document)).unlink()
    final = bench.publish(explored)

    assert final.status == "completed"
    assert "Rents fell." in read(bench, final)
    assert final.publication.notice is not None
    assert "no longer exists" in final.publication.notice


def test_hand_edits_stay_when_an_update_is_added(bench: Bench) -> None:
    first = bench.run(IDEA)
    edited = read(bench, first).replace("It may work.", "We doubt it.\r\n")
    (bench.root / str(first.publication.document)).write_bytes(edited.encode())
    bench.run(IDEA, update=True)

    assert (bench.root / str(first.publication.document)).read_bytes().startswith(edited.encode())


def test_a_resumed_update_replaces_its_section(bench: Bench, model: ScriptedModel) -> None:
    first = bench.run(IDEA)
    updated = bench.run(IDEA, update=True)
    bench.store.take_over(
        updated.id,
        lambda e: e.replace(number=2, status="running", outcome="completed"),
    )
    lease = bench.store.load(updated.id).lease
    bench.store.save_report(updated.id, lease, "### What changed\n\nRents rose again.")
    bench.publish(bench.store.load(updated.id))

    after = read(bench, first)
    assert "Rents rose again." in after
    assert "Rents fell." not in after
    assert after.count("## Update - ") == 1
    assert [entry["run"] for entry in log_of(bench, first)] == [1, 1, 2]


def test_a_document_too_large_to_build_on_ends_the_run_before_it_costs_anything(
    bench: Bench, model: ScriptedModel
) -> None:
    first = bench.run(IDEA)
    large = read(bench, first) + "x" * 1_000_001
    (bench.root / str(first.publication.document)).write_text(large)
    final = bench.run(IDEA, update=True)

    assert final.status == "failed"
    assert final.run.receipt is not None
    assert final.run.receipt.cost_usd == 0
    assert "bytes" in final.run.receipt.message
    assert len(model.requests) == 1
    assert read(bench, first) == large


def test_a_long_document_goes_into_the_prompt_by_its_two_ends(
    bench: Bench, model: ScriptedModel
) -> None:
    first = bench.run(IDEA)
    long = read(bench, first) + "middle " * 20_000 + "the newest finding"
    (bench.root / str(first.publication.document)).write_text(long)
    bench.run(IDEA, update=True)

    said = first_message(model.requests[-1])
    assert "It may work." in said
    assert "the newest finding" in said
    assert "is left out here" in said
    assert len(said) < 60_000


def test_a_follow_up_is_a_new_document_that_names_the_old(
    bench: Bench, model: ScriptedModel
) -> None:
    first = bench.run(IDEA)
    second = bench.run("Cakes for the tea room", continue_from=first.id)

    assert second.publication.document != first.publication.document
    text = read(bench, second)
    inside = str(first.publication.document).removeprefix("ideas/")
    assert f"(../{inside})" in text
    assert f"continue_from: {first.id}" in text
    assert [entry["continueFrom"] for entry in log_of(bench, second)] == [first.id]
    assert second.conversation_id == first.conversation_id
    said = first_message(model.requests[-1])
    assert "It may work." in said
    assert f"`{inside}`" in said


def test_citing_the_document_that_was_given_is_no_unverified_citation(tmp_path: Path) -> None:
    link = "2026-11-16-a-tea-room/research.md"
    bench = Bench(tmp_path, scripted([says(FIRST), says(f"# Cakes\n\nSee [tea](../{link}).")]))
    first = bench.run(IDEA)
    second = bench.run("Cakes", continue_from=first.id)

    assert (second.run.stats.citations, second.run.stats.unmatched_citations) == (1, 0)


def test_a_document_is_continued_from_even_where_the_store_does_not_know_it(
    bench: Bench, tmp_path: Path
) -> None:
    first = bench.run(IDEA)
    fresh = Bench(tmp_path / "fresh", scripted([says("# Cakes")]))
    fresh.write("2026-11-16-a-tea-room/research.md", read(bench, first))
    request = ExploreRequest(idea="Cakes", continue_from=first.id)
    queued = submit(request, "me", fresh.deps)
    explored = find_continuation(queued, fresh.deps)

    assert isinstance(explored, PriorDocument)
    assert explored.path == "ideas/2026-11-16-a-tea-room/research.md"


def test_what_cannot_be_continued_is_refused_at_submit(bench: Bench) -> None:
    bench.deps = replace(bench.deps, research=lambda: None)
    unknown = new_id(0)
    queued = bench.submit(IDEA)
    foreign = bench.run(IDEA)
    bench.store.take_over(foreign.id, lambda e: e.replace(owner="somebody else"))

    with pytest.raises(InvalidRequestError, match="no such exploration"):
        bench.submit("Cakes", continue_from=unknown)
    with pytest.raises(InvalidRequestError, match="no such exploration"):
        bench.submit("Cakes", continue_from=foreign.id)
    with pytest.raises(InvalidRequestError, match="still queued"):
        bench.submit("Cakes", continue_from=queued.id)


def test_update_is_for_research_only(bench: Bench) -> None:
    with pytest.raises(ValidationError, match="research toolset"):
        bench.submit("Sum up", toolset="assistant", update=True)


def reused(bench: Bench, idea: str, **fields: object) -> Exploration | None:
    request = ExploreRequest.model_validate({"idea": idea, "if_exists": "reuse", **fields})
    return reuse(request, "tester", bench.deps)


def test_reuse_answers_with_what_is_there_and_calls_no_model(
    bench: Bench, model: ScriptedModel
) -> None:
    first = bench.run(IDEA)
    calls = len(model.requests)
    again = reused(bench, "a tea room")

    assert again is not None
    assert (again.status, again.publication.reused, again.run.stats.cost_usd) == (
        "completed",
        first.publication.document,
        0,
    )
    assert again.id != first.id
    assert bench.store.load(again.id) == again
    assert "It may work." in bench.store.load_report(again.id)
    assert [event.type for event in bench.store.read(again.id)] == ["status_changed"]
    assert len(model.requests) == calls


def test_reuse_needs_the_same_idea_and_mode_and_a_whole_report(bench: Bench) -> None:
    bench.run(IDEA)

    assert reused(bench, "A coffee room") is None
    assert reused(bench, IDEA, mode="exploration") is None
    assert reused(bench, IDEA, toolset="assistant") is None


def test_reuse_does_not_offer_what_was_removed(bench: Bench) -> None:
    first = bench.run(IDEA)
    (bench.root / str(first.publication.document)).unlink()

    assert reused(bench, IDEA) is None
