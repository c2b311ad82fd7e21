"""What the log says of a run that has ended."""

from dataclasses import asdict

import pytest

from idea_explorer.domain.branches import Branch
from idea_explorer.domain.claims import Verification
from idea_explorer.domain.events import EventUsage, ReportVerified, RunFinished
from idea_explorer.domain.request import ExploreRequest
from idea_explorer.domain.run import Stats
from idea_explorer.domain.usage import Usage
from idea_explorer.observability.log_sink import LogSink
from tests.fakes.engine import RecordedLog
from tests.fakes.explorations import an_exploration


def finished(stats: Stats, **fields: object) -> dict[str, object]:
    request = ExploreRequest.model_validate({"idea": "Tea", **fields})
    exploration, log = an_exploration(request=request), RecordedLog()
    run = exploration.run.model_copy(update={"stats": stats})
    ended = exploration.model_copy(update={"run": run})
    LogSink(log, ended).emit(RunFinished(exploration=ended))
    (fields,) = log.of("exploration_finished")
    return fields


def test_only_a_run_that_was_verified_has_counts_of_it() -> None:
    counts = Verification(supported=2, unsupported=1)

    assert finished(Stats(verification=counts))["verification"] == asdict(counts)
    assert "verification" not in finished(Stats())


@pytest.mark.parametrize(
    ("fields", "depth"),
    [({}, "quick"), ({"depth": "deep"}, "deep"), ({"toolset": "assistant"}, None)],
)
def test_a_research_run_is_logged_with_its_depth(
    fields: dict[str, object], depth: str | None
) -> None:
    assert finished(Stats(), **fields).get("depth") == depth


def test_a_branch_is_logged_with_the_depth_of_its_run() -> None:
    exploration, log = an_exploration(), RecordedLog()
    branch = Branch(
        parent=exploration.id,
        number=1,
        question="Who drinks tea?",
        model_id="sonnet",
        until=exploration.created_at,
        depth="deep",
    )
    ended = exploration.replace(branch_of=branch)
    LogSink(log, ended).emit(RunFinished(exploration=ended))
    assert log.of("exploration_finished")[0]["depth"] == "deep"


def test_a_call_that_judges_a_report_has_a_line_of_its_own() -> None:
    log = RecordedLog()
    usage = EventUsage.of(Usage(input_tokens=900, output_tokens=80))
    LogSink(log, an_exploration()).emit(ReportVerified(usage=usage, cost=0.004))

    (fields,) = log.of("report_verified")
    assert (fields["cost"], fields["inputTokens"], fields["outputTokens"]) == (0.004, 900, 80)
