"""`idea replay`: an exploration again, from its transcript, for nothing."""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from idea_explorer.cli.environment import settings_for
from idea_explorer.domain.errors import InvalidRequestError, MissingError
from idea_explorer.domain.ids import ExplorationId, is_id
from idea_explorer.domain.json import JsonObject
from idea_explorer.domain.transcript import AnyEntry, dump_entry, parse_entry
from idea_explorer.usecases.replay import Replayed, replay
from idea_explorer.wiring.local import local_store


def run(arguments: argparse.Namespace) -> int:
    entries, recorded, page = _recording(arguments)
    if arguments.export:
        _export(Path(arguments.export), entries)
    replayed = replay(entries, page)
    same = recorded is None or _text(replayed) == recorded
    good = not replayed.divergence and same
    print(_as_json(replayed, same=good) if arguments.json else _in_words(replayed, same=same))
    return 0 if good else 1


def _export(path: Path, entries: Sequence[AnyEntry]) -> None:
    try:
        path.write_bytes(b"".join(dump_entry(entry) + b"\n" for entry in entries))
    except OSError as error:
        raise InvalidRequestError(f"{path} cannot be written: {error.strerror}.") from error


def _recording(
    arguments: argparse.Namespace,
) -> tuple[Sequence[AnyEntry], str | None, str | None]:
    """The entries of a stored exploration or of an exported file, the report where one is stored, and
    the page of its repository."""
    settings = settings_for(arguments.research)
    if not is_id(arguments.id):
        return _from_file(Path(arguments.id)), None, settings.page_of(None)
    store = local_store(settings)
    exploration = store.load(ExplorationId(arguments.id))
    if exploration.publication.reused:
        raise MissingError(
            f"Exploration {exploration.id} reused {exploration.publication.reused}: nothing ran,"
            " so there is nothing to run again."
        )
    entries = store.open(exploration.id, exploration.lease).entries
    if not entries:
        raise MissingError(f"Exploration {exploration.id} has no transcript yet.")
    page = settings.page_of(exploration.request.repository)
    try:
        return entries, store.load_report(exploration.id), page
    except MissingError:
        return entries, None, page


def _from_file(path: Path) -> Sequence[AnyEntry]:
    try:
        return [parse_entry(line) for line in path.read_bytes().splitlines() if line.strip()]
    except OSError as error:
        raise InvalidRequestError(
            f"{path} is neither an exploration id nor a file that can be read.",
            hint="An id is printed by `idea explore --json`.",
        ) from error
    except ValueError as error:
        raise InvalidRequestError(f"{path} is not an exported transcript.") from error


def _text(replayed: Replayed) -> str:
    return replayed.conclusion.text if replayed.conclusion else ""


def _as_json(replayed: Replayed, *, same: bool) -> str:
    outcome: JsonObject = {
        "same": same,
        "steps": replayed.steps,
        "tool_calls": replayed.tool_calls,
        "content": _text(replayed) or None,
        "divergence": replayed.divergence or None,
    }
    return json.dumps(outcome, ensure_ascii=False)


def _in_words(replayed: Replayed, *, same: bool) -> str:
    counts = f"{replayed.steps} steps, {replayed.tool_calls} tool calls, no network"
    if replayed.divergence:
        return f"differs: {replayed.divergence} ({counts})"
    return f"{'same report' if same else 'another report'} ({counts})"
