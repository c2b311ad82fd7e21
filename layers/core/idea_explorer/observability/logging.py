"""The log: JSON lines through Powertools. It never has contents, prompts or secrets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from aws_lambda_powertools import Logger

SERVICE = "idea-explorer"
FIELDS = "fields"
LAMBDA_LEVELS = {"WARNING": "WARN", "CRITICAL": "FATAL"}  # what Lambda calls them
CALLER = 3  # stack frames, so that a line names the code that logged it


class PowertoolsLog:
    """Logs JSON lines through Powertools."""

    def __init__(self, logger: Logger) -> None:
        self._logger = logger

    def info(self, message: str, **fields: object) -> None:
        self._logger.info(message, extra={FIELDS: fields}, stacklevel=CALLER)

    def warning(self, message: str, **fields: object) -> None:
        self._logger.warning(message, extra={FIELDS: fields}, stacklevel=CALLER)

    def error(self, message: str, **fields: object) -> None:
        self._logger.error(message, extra={FIELDS: fields}, stacklevel=CALLER)


class SilentLog:
    """Logs nothing, for people who watch the progress instead."""

    def info(self, message: str, **fields: object) -> None:
        pass

    warning = error = info


def stream_log(stream: TextIO) -> PowertoolsLog:
    import logging

    handler = logging.StreamHandler(stream)
    return PowertoolsLog(powertools_logger(logger_handler=handler, level="INFO"))


def powertools_logger(**options: Any) -> Logger:
    """A logger that merges fields into a line when it is written: the standard library reserves names,
    such as `name`, that a tool_call line must have.

    Lambda drops lines below the level in force. It reads the level only by its own names, and only if the
    timestamp is RFC 3339; any other line counts as INFO.
    """
    from json import JSONEncoder

    from aws_lambda_powertools import Logger
    from aws_lambda_powertools.logging.formatter import LambdaPowertoolsFormatter
    from aws_lambda_powertools.shared.constants import PRETTY_INDENT
    from aws_lambda_powertools.shared.functions import powertools_dev_is_set

    class FlatFormatter(LambdaPowertoolsFormatter):
        def format(self, record: Any) -> str:
            """What Powertools makes of a line of ours, without its search for JSON in the message and for
            an exception, which take as long as all the rest."""
            fields = record.__dict__.get(FIELDS)
            if fields is None or record.exc_info:
                return super().format(record)
            known = {
                "level": record.levelname,
                "location": f"{record.funcName}:{record.lineno}",
                "message": record.msg,
                "timestamp": self.formatTime(record),
            }
            line = {
                **self.log_format,
                **self.thread_safe_get_current_keys(),
                **known,
                "xray_trace_id": self._get_latest_trace_id(),
            }
            written = {name: value for name, value in line.items() if value is not None}
            return self.serialize(written | fields)

        def serialize(self, log: Any) -> str:
            log["level"] = LAMBDA_LEVELS.get(log["level"], log["level"])
            return super().serialize(log)

    # a local time would be looked up in a file for every line, and an encoder made for it
    encoder = JSONEncoder(
        default=str,
        separators=(",", ":"),
        indent=PRETTY_INDENT if powertools_dev_is_set() else None,
        ensure_ascii=False,
    )
    formatter = FlatFormatter(use_rfc3339=True, utc=True, json_serializer=encoder.encode)
    return Logger(service=SERVICE, logger_formatter=formatter, **options)
