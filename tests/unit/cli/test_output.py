"""What a person reads of an exploration, and the commands it suggests."""

from datetime import UTC, datetime

import pytest

from idea_explorer.api.views import Details, build_details
from idea_explorer.cli.explorations import _describe_left_out
from idea_explorer.cli.output import (
    format_details,
    format_summary,
    suggest_reading,
    suggest_resume,
)
from idea_explorer.domain.claims import Verification
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.parsed_documents import OFFLINE
from idea_explorer.domain.progress import progress_of
from idea_explorer.domain.request import ExploreRequest
from idea_explorer.domain.run import Receipt, Stats, Status
from idea_explorer.domain.usage import Usage

NOW = datetime.now(UTC)
RAN = Stats(steps=1, usage=Usage(input_tokens=10, output_tokens=5), cost_usd=0.01)


def ended(status: Status, resume: str = "", stats: Stats = RAN, **request: str) -> Details:
    """`resume` holds the flags of the command, "-" for none at all."""
    new = Exploration.new(ExploreRequest(idea="Tea", **request), "local", at=NOW)  # type: ignore[arg-type]
    receipt = None
    if status != "completed":
        receipt = Receipt.of(new.id, "INTERNAL_ERROR", "It ended.", stats=stats, has_text=True)
        command = None if resume == "-" else f"{receipt.resume}{resume}"
        receipt = receipt.model_copy(update={"resume": command})
    final = new.started(at=NOW).finished(status, at=NOW, stats=stats, receipt=receipt)
    return build_details(final, progress_of(final, [], NOW), "")


def test_a_completed_exploration_is_called_so_once() -> None:
    lines = format_details(ended("completed"), "ID")

    assert lines[1] == "completed after 1 step"
    assert "\n".join(lines).lower().count("completed") == 1


def test_a_run_that_costs_nothing_has_no_limit_to_show() -> None:
    free = ended("completed", stats=RAN.model_copy(update={"cost_usd": 0.0}))
    paid = ended("completed")

    assert format_details(free.model_copy(update={"max_cost_usd": 2.0}), "ID")[2].startswith(
        "$0.0000 · "
    )
    assert format_details(paid.model_copy(update={"max_cost_usd": 2.0}), "ID")[2].startswith(
        "$0.0100 of $2.00 · "
    )


def test_a_verdict_of_the_offline_model_is_none() -> None:
    judged = ended("completed").model_copy(update={"verdict": "PIVOT"})
    offline = judged.model_copy(update={"model": OFFLINE})

    assert "PIVOT" in format_details(judged, "ID")
    assert format_summary(judged, RAN).startswith("completed · PIVOT\n")
    assert "no verdict (offline)" in format_details(offline, "ID")
    assert "PIVOT" not in format_details(offline, "ID")
    assert format_summary(offline, RAN).startswith("completed · no verdict (offline)\n")


def test_a_status_is_said_in_words() -> None:
    assert format_summary(ended("timed_out"), RAN).startswith("timed out\n1 step · ")


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        (Verification(unchecked=16), None),
        (Verification(supported=2), "2 of 2 cited sentences supported"),
        (
            Verification(supported=3, partly=2, unsupported=1, unchecked=10),
            "3 of 16 cited sentences supported, 2 partly, 1 not, 10 not checked",
        ),
    ],
)
def test_the_sentences_that_nobody_checked_are_not_counted_as_unsupported(
    counts: Verification, said: str | None
) -> None:
    stats = RAN.model_copy(update={"verification": counts})
    parts = format_summary(ended("completed"), stats).splitlines()[1].split(" · ")

    assert [part for part in parts if "cited" in part] == ([said] if said else [])


def test_interrupted_calls_are_part_of_the_cost() -> None:
    stats = RAN.model_copy(update={"unconfirmed_usd": 0.005})

    assert format_summary(ended("completed"), stats).endswith(
        "$0.0100 · up to $0.0050 of it for interrupted calls"
    )


def test_the_suggested_resume_names_the_folder_and_keeps_the_budget_it_needs() -> None:
    details = ended("partial", " --max-cost-usd 0.40")

    assert suggest_resume(details, f"{details.id} --research demo") == (
        f"Continue with: idea resume {details.id} --research demo --max-cost-usd 0.40"
    )


@pytest.mark.parametrize(
    "details",
    [ended("completed"), ended("failed", "-"), ended("failed", stats=Stats())],
    ids=["completed", "refused", "never begun"],
)
def test_a_resume_that_would_not_help_is_not_suggested(details: Details) -> None:
    assert suggest_resume(details, details.id) is None


def test_a_report_that_is_not_printed_can_be_read_with_a_command() -> None:
    published, kept = ended("completed"), ended("failed")
    printed = ended("completed", toolset="assistant")

    assert suggest_reading(published, "ID") == "Read the report with: idea report ID"
    assert suggest_reading(kept, "ID") == (
        "Nothing was published. Read what was kept with: idea report ID"
    )
    assert suggest_reading(printed, "ID") is None


def test_several_that_cannot_be_read_are_several() -> None:
    said = (
        "2 explorations are not shown: another version stored them, and this one cannot read them."
    )
    assert _describe_left_out(2) == said
