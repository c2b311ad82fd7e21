"""How a failed command ends: one sentence that says what to do, and a traceback only with --debug."""

from contextlib import suppress

from idea_explorer.cli.streams import warn
from idea_explorer.domain.errors import ConfigurationError, ExplorerError, InvalidRequestError

BAD_USAGE = 2
FAILED = 1
NOT_FLAGS = {"idea": "The idea", "files": "--file"}


def report_failure(error: Exception, *, debug: bool) -> int:
    """Say what went wrong on stderr; returns the exit code."""
    with suppress(OSError, ValueError):  # there may be nowhere left to say it
        if debug:
            import traceback

            traceback.print_exception(error)
        warn(_describe(error))
    return BAD_USAGE if isinstance(error, InvalidRequestError | ConfigurationError) else FAILED


def _describe(error: Exception) -> str:
    match error:
        case InvalidRequestError():
            return _name_flags(error)
        case ExplorerError():
            return error.sentence
        case OSError():
            subject = error.filename or "The output"
            return f"{subject} cannot be read or written: {error.strerror or error}."
        case _:
            return f"Unexpected error: {error!r}. Run again with --debug to see where."


def _name_flags(error: InvalidRequestError) -> str:
    """A request's fields under the names that a command has for them."""
    if not error.message.startswith(tuple(f"'{name}': " for name in error.fields)):
        return _name_fields(error.sentence)
    rules = [_describe_flag(field, rule) for field, rule in error.fields.items()]
    return " ".join([*rules, error.hint]).strip()


def _describe_flag(field: str, rule: str) -> str:
    joint = " " if rule.startswith(("must ", "is ")) else ": "
    return f"{_name_flag(field)}{joint}{_name_fields(rule.removesuffix('.'))}."


def _name_fields(text: str) -> str:
    """A rule may name other fields of a request, in quotation marks."""
    from idea_explorer.domain.request import ExploreRequest, ResumeRequest

    for field in {**ExploreRequest.model_fields, **ResumeRequest.model_fields}:
        text = text.replace(f"'{field}'", _name_flag(field))
    return text


def _name_flag(field: str) -> str:
    return NOT_FLAGS.get(field, f"--{field.replace('_', '-')}")
