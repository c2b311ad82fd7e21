"""What the calls of a run were billed, from its transcript."""

from collections.abc import Sequence

from idea_explorer.domain.transcript import (
    AnyEntry,
    ModelCallFailed,
    ModelCallFinished,
    ModelCallStarted,
    VerificationFinished,
    VerificationStarted,
)
from idea_explorer.domain.usage import ModelUsage, Usage


def list_own_calls(entries: Sequence[AnyEntry]) -> list[Usage]:
    """The calls of the run's own model. One that was never answered counts with all that it reserved."""
    parts: list[Usage] = []
    open_call: ModelCallStarted | None = None
    for entry in entries:
        match entry:
            case ModelCallStarted():
                if open_call:
                    parts.append(open_call.reserved)
                open_call = entry
            case ModelCallFinished() | ModelCallFailed():
                parts.append(entry.usage)
                open_call = None
    return [*parts, *([open_call.reserved] if open_call else [])]


def list_other_calls(entries: Sequence[AnyEntry]) -> list[ModelUsage]:
    """The calls of other models: those that verified the report."""
    parts: list[ModelUsage] = []
    open_call: VerificationStarted | None = None
    for entry in entries:
        match entry:
            case VerificationStarted():
                if open_call:
                    parts.append(_reserved(open_call))
                open_call = entry
            case VerificationFinished():
                if entry.model_id:
                    parts.append(ModelUsage(model_id=entry.model_id, usage=entry.usage))
                elif open_call:
                    parts.append(_reserved(open_call))
                open_call = None
    return [*parts, *([_reserved(open_call)] if open_call else [])]


def _reserved(call: VerificationStarted) -> ModelUsage:
    return ModelUsage(model_id=call.model_id, usage=call.reserved)


def list_confirmed_calls(entries: Sequence[AnyEntry], model_id: str) -> list[ModelUsage]:
    """The complete answers of any model; `model_id` is the run's own."""
    confirmed: list[ModelUsage] = []
    for entry in entries:
        match entry:
            case ModelCallFinished():
                confirmed.append(ModelUsage(model_id=model_id, usage=entry.usage))
            case VerificationFinished(error="") if entry.model_id:
                confirmed.append(ModelUsage(model_id=entry.model_id, usage=entry.usage))
    return confirmed
