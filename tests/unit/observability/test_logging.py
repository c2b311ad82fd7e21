"""The log lines as Lambda reads them.

Lambda takes the level of a line from `level`, by its own names (TRACE, DEBUG, INFO, WARN, ERROR, FATAL), and
only if `timestamp` is RFC 3339; otherwise the line counts as INFO, whatever it says:
https://docs.aws.amazon.com/lambda/latest/dg/monitoring-cloudwatchlogs-log-level.html
"""

import io
import json
import logging
import re
from typing import Any

import pytest
from aws_lambda_powertools.logging.formatter import LambdaPowertoolsFormatter

from idea_explorer.observability.logging import SERVICE, PowertoolsLog, powertools_logger

RFC3339 = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+[+-]\d\d:\d\d")


def lines_of(monkeypatch: pytest.MonkeyPatch, *levels: str) -> list[dict[str, Any]]:
    """What a function writes that starts now: the logger of a process is set up once."""
    monkeypatch.delitem(logging.Logger.manager.loggerDict, SERVICE, raising=False)
    written = io.StringIO()
    log = PowertoolsLog(powertools_logger(logger_handler=logging.StreamHandler(written)))
    for level in levels:
        getattr(log, level)("tool_call", name="read_research")
    return [json.loads(line) for line in written.getvalue().splitlines()]


def test_a_line_has_a_time_and_a_level_that_lambda_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = lines_of(monkeypatch, "info", "warning", "error")

    assert [line["level"] for line in lines] == ["INFO", "WARN", "ERROR"]
    assert {(line["message"], line["name"]) for line in lines} == {("tool_call", "read_research")}
    assert all(RFC3339.fullmatch(line["timestamp"]) for line in lines)


@pytest.mark.parametrize(("level", "written"), [("INFO", 3), ("WARN", 2), ("ERROR", 1)])
def test_the_level_of_the_function_is_in_force(
    monkeypatch: pytest.MonkeyPatch, level: str, written: int
) -> None:
    """Lambda sets AWS_LAMBDA_LOG_LEVEL from the function's ApplicationLogLevel; the template sets both
    variables to the same, because this one wins."""
    monkeypatch.setenv("AWS_LAMBDA_LOG_LEVEL", level)
    monkeypatch.setenv("POWERTOOLS_LOG_LEVEL", level)

    assert len(lines_of(monkeypatch, "info", "warning", "error")) == written


def test_a_line_is_as_powertools_writes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_X_AMZN_TRACE_ID", "Root=1-2-3;Parent=4")
    monkeypatch.delitem(logging.Logger.manager.loggerDict, SERVICE, raising=False)
    written = io.StringIO()
    logger = powertools_logger(logger_handler=logging.StreamHandler(written))
    logger.append_keys(cold_start=True, correlation_id=None)
    logger.thread_safe_append_keys(request="r")
    PowertoolsLog(logger).warning("tool_call", step=3, name=None)
    plain = LambdaPowertoolsFormatter(use_rfc3339=True)
    plain.append_keys(service=SERVICE, cold_start=True, correlation_id=None)
    record = logging.LogRecord(SERVICE, logging.WARNING, __file__, 1, "tool_call", (), None)
    theirs, ours = json.loads(plain.format(record)), json.loads(written.getvalue())
    logger.thread_safe_clear_keys()

    changed = {name: ours[name] for name in ("location", "timestamp")}
    assert ours == {**theirs, **changed, "level": "WARN", "step": 3, "name": None}
