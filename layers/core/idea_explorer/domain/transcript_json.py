"""Entries of a transcript as JSON: how they are stored, and read again."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache

from pydantic import TypeAdapter
from pydantic_core import to_json

from idea_explorer.domain.approvals import Proposal
from idea_explorer.domain.completeness import Framework
from idea_explorer.domain.json import JsonObject
from idea_explorer.domain.transcript import AnyEntry, ApprovalsDecided, StoredResult, ToolsRan


@cache  # slow to build, and few functions read transcripts
def _adapter() -> TypeAdapter[AnyEntry]:
    for model in (Framework, Proposal):
        model.model_rebuild()  # what is read can be written again; read as a part, it is not built
    return TypeAdapter(AnyEntry)


def parse_entry(data: bytes | str) -> AnyEntry:
    entry = _adapter().validate_json(data)
    return _map_results(entry, _put_back_repeats)


def dump_entry(entry: AnyEntry) -> bytes:
    return to_json(_map_results(entry, _leave_out_repeats), inf_nan_mode="null")


def _map_results(entry: AnyEntry, change: Callable[[StoredResult], StoredResult]) -> AnyEntry:
    if isinstance(entry, ToolsRan | ApprovalsDecided):
        return replace(entry, results=tuple(map(change, entry.results)))
    return entry


def _leave_out_repeats(result: StoredResult) -> StoredResult:
    """The text of a document that was read is in the payload and in a passage. It is stored once: in place of
    the passage's text stands the name of the payload's field."""
    names = {text: name for name, text in result.payload.items() if isinstance(text, str) and text}
    texts_in = tuple(names.get(passage.text, "") for passage in result.passages)
    if not any(texts_in):
        return result
    passages = zip(result.passages, texts_in, strict=True)
    return replace(
        result,
        passages=tuple(replace(p, text="") if name else p for p, name in passages),
        texts_in=texts_in,
    )


def _put_back_repeats(result: StoredResult) -> StoredResult:
    """Raises ValueError if what is named is not there."""
    if not result.texts_in:
        return result
    passages = zip(result.passages, result.texts_in, strict=True)
    return replace(
        result,
        passages=tuple(
            replace(p, text=_text_in(result.payload, name)) if name else p for p, name in passages
        ),
        texts_in=(),
    )


def _text_in(payload: JsonObject, name: str) -> str:
    text = payload.get(name)
    if not isinstance(text, str):
        raise ValueError(f"the result has no text in {name!r}")  # noqa: TRY004  as of other damage
    return text
