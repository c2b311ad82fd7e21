"""`idea replay`: runs an exploration again from its transcript, without a model or network."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from idea_explorer.cli.arguments import read_settings
from idea_explorer.cli.output import print_json
from idea_explorer.cli.streams import say, until_reader_leaves
from idea_explorer.cli.targets.ids import find_id, is_name
from idea_explorer.cli.targets.local import LocalTarget
from idea_explorer.domain.errors import InvalidRequestError, MissingError
from idea_explorer.domain.text import pluralize
from idea_explorer.domain.transcript import AnyEntry
from idea_explorer.domain.transcript_json import dump_entry, parse_entry
from idea_explorer.usecases.replay import ReplayResult, replay
from idea_explorer.wiring.local import local_store, read_given_file

MAX_TRANSCRIPT_BYTES = 256 * 1_048_576  # far more than the steps of a run can say


def run(arguments: argparse.Namespace) -> int:
    entries, report, page = _load(arguments)
    if arguments.export:
        _export(Path(arguments.export), entries)
    replayed = replay(entries, page)
    text = replayed.conclusion.text if replayed.conclusion else ""
    is_same = not replayed.divergence and (report is None or text == report)
    with until_reader_leaves():
        if arguments.json:
            print_json(
                {
                    "same": is_same,
                    "steps": replayed.steps,
                    "tool_calls": replayed.tool_calls,
                    "content": text or None,
                    "divergence": replayed.divergence or None,
                }
            )
        else:
            say(_describe(replayed, is_same=is_same))
    return 0 if is_same else 1


def _export(path: Path, entries: Sequence[AnyEntry]) -> None:
    try:
        path.write_bytes(b"".join(dump_entry(entry) + b"\n" for entry in entries))
    except OSError as error:
        raise InvalidRequestError(f"{path} cannot be written: {error.strerror}.") from error


def _load(arguments: argparse.Namespace) -> tuple[Sequence[AnyEntry], str | None, str | None]:
    """The entries of a stored exploration or of an exported file, the report where one is stored, and
    the web page of its repository."""
    settings = read_settings(arguments.research)
    if not is_name(arguments.id) or Path(arguments.id).is_file():
        return _read_file(Path(arguments.id)), None, settings.repository_url(None)
    target = LocalTarget(settings, arguments.research)
    exploration = target.find_readable(find_id(arguments.id, target))
    if exploration.publication.reused:
        raise MissingError(
            f"Exploration {exploration.id} reused {exploration.publication.reused}: nothing ran,"
            " so there is nothing to run again."
        )
    store = local_store(settings)
    entries = store.open(exploration.id, exploration.lease).entries
    if not entries:
        raise MissingError(f"Exploration {exploration.id} has no transcript yet.")
    page = settings.repository_url(exploration.request.repository)
    try:
        return entries, store.load_report(exploration.id), page
    except MissingError:
        return entries, None, page


def _read_file(path: Path) -> Sequence[AnyEntry]:
    try:
        data = read_given_file(path, MAX_TRANSCRIPT_BYTES)
    except InvalidRequestError as error:
        raise InvalidRequestError(
            f"{path} is neither an exploration id nor a file that can be read: {error.sentence}",
            hint="`idea list` shows the ids.",
        ) from error
    try:
        return [parse_entry(line) for line in data.splitlines() if line.strip()]
    except ValueError as error:
        raise InvalidRequestError(f"{path} is not an exported transcript.") from error


def _describe(replayed: ReplayResult, *, is_same: bool) -> str:
    steps, calls = pluralize(replayed.steps, "step"), pluralize(replayed.tool_calls, "tool call")
    counts = f"{steps}, {calls}, no network"
    if replayed.divergence:
        return f"The replay differs: {replayed.divergence} ({counts})"
    if is_same and not replayed.conclusion:
        return f"No report, as before ({counts})"
    return f"{'The same report' if is_same else 'A different report'} ({counts})"
