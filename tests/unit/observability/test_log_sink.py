"""What the log says of a run that has ended."""

from idea_explorer.domain.claims import Verification
from idea_explorer.domain.events import EventUsage, ReportVerified, RunFinished
from idea_explorer.domain.run import Stats
from idea_explorer.domain.usage import Usage
from idea_explorer.observability.log_sink import LogSink
from tests.fakes.engine import RecordedLog
from tests.fakes.explorations import an_exploration


def finished(stats: Stats) -> dict[str, object]:
    exploration, log = an_exploration(), RecordedLog()
    run = exploration.run.model_copy(update={"stats": stats})
    ended = exploration.model_copy(update={"run": run})
    LogSink(log, ended).emit(RunFinished(exploration=ended))
    (fields,) = log.of("exploration_finished")
    return fields


def test_only_a_run_that_was_verified_has_counts_of_it() -> None:
    counts = Verification(supported=2, unsupported=1)

    assert finished(Stats(verification=counts))["verification"] == counts.model_dump()
    assert "verification" not in finished(Stats())


def test_a_call_that_judges_a_report_has_a_line_of_its_own() -> None:
    log = RecordedLog()
    usage = EventUsage.of(Usage(input_tokens=900, output_tokens=80))
    LogSink(log, an_exploration()).emit(ReportVerified(usage=usage, cost=0.004))

    (fields,) = log.of("report_verified")
    assert (fields["cost"], fields["inputTokens"], fields["outputTokens"]) == (0.004, 900, 80)
