"""Undo what an exploration wrote: by a pull request, or in its folder."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from itertools import pairwise

from idea_explorer.domain.approvals import Approval, Proposal
from idea_explorer.domain.documents import fingerprint, has_section, remove_section
from idea_explorer.domain.errors import ConflictError, DocumentError, MissingError
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.ids import ExplorationId
from idea_explorer.domain.parsed_documents import parse_document
from idea_explorer.domain.paths import RESEARCH_ROOT
from idea_explorer.domain.publication import (
    ResearchFolder,
    find_fingerprints,
    find_folders,
    parse_log,
    remove_log_entries,
)
from idea_explorer.domain.run import FINAL, Status
from idea_explorer.domain.transcript import AnyEntry, ApprovalsDecided
from idea_explorer.ports import Reverter, RevertResult, Tree
from idea_explorer.usecases.deps import Deps


def revert(exploration: Exploration, deps: Deps) -> RevertResult:
    """Undo all of it or nothing. Safe to repeat.

    Raises ConflictError where it is still running, or where somebody has changed one of its files
    since, and MissingError where it wrote nothing.
    """
    if _is_on_github(exploration):
        reverter = deps.reverter_for(exploration)
        return revert_published(
            exploration.id, exploration.status, reverter, since=exploration.created_at
        )
    _check_ended(exploration.id, exploration.status)
    return _restored(exploration, deps)


def revert_published(
    exploration_id: ExplorationId, status: Status, reverter: Reverter, *, since: datetime
) -> RevertResult:
    """Undo what an exploration wrote to GitHub; its record need not be in this store."""
    _check_ended(exploration_id, status)
    return reverter.propose_revert(exploration_id, since=since)


def _check_ended(exploration_id: ExplorationId, status: Status) -> None:
    if status not in FINAL:
        raise ConflictError(
            f"Exploration {exploration_id} has not ended, so it may still write.",
            hint="Cancel it, or wait for its end.",
        )


def _is_on_github(exploration: Exploration) -> bool:
    """Whether the exploration used GitHub, whatever is configured now."""
    return bool(exploration.base_commit or exploration.publication.url)


def _restored(exploration: Exploration, deps: Deps) -> RevertResult:
    modes: dict[str, int] = {}
    if exploration.request.spec.proposes_changes:
        entries = deps.transcripts.open(exploration.id, exploration.lease).entries
        written = written_changes(entries, deps.approvals.approvals(exploration.id))
        named = sorted({change.path for approval in written for change in approval.changes})
        for approval in reversed(written):  # those before the first change count
            if approval.applied and approval.applied.mode is not None:
                modes[approval.proposal.path] = approval.applied.mode
        plan: Callable[[Tree], Plan] = partial(undo_changes, written)
    else:
        own = exploration.publication.document if exploration.publication.reused is None else None
        named = [own] if own else []
        plan = partial(undo_research, exploration)
    if not named:
        raise MissingError(f"Exploration {exploration.id} wrote nothing.")
    undone = deps.restorer().restore(exploration.id, plan, modes)
    return undone if undone.is_new else replace(undone, files=named)


Plan = Mapping[str, str | None]  # the text that a file shall have again; None: no file


def written_changes(
    entries: Sequence[AnyEntry], approvals: Sequence[Approval]
) -> Sequence[Approval]:
    """The changes that were approved and written, in the order of writing. Those that older versions wrote
    are known from their results alone."""
    decided = [entry for entry in entries if isinstance(entry, ApprovalsDecided)]
    ok = {result.call_id for entry in decided for result in entry.results if result.record.ok}
    written = [a for a in approvals if a.changes and (a.is_written or a.call_id in ok)]
    return sorted(written, key=lambda a: a.applied.at if a.applied else a.requested_at)


@dataclass(frozen=True, slots=True)
class _Step:
    """What one change did to one file; None is no file."""

    before: str | None
    after: str | None


def undo_changes(written: Sequence[Approval], tree: Tree) -> Plan:
    """Every changed file as it was before the first change; raises ConflictError, naming changed files.

    A file that is restored already is left out, so that an interrupted revert can be repeated.
    """
    steps: dict[str, list[_Step]] = {}
    for approval in written:
        base = _base_of(approval.proposal)
        for path, sha, content in approval.changes:
            steps.setdefault(path, []).append(_Step(None if sha is None else base, content))
    plan: dict[str, str | None] = {}
    changed: list[str] = []
    for path, own in steps.items():
        original = own[0].before
        now = tree.read_text(path)
        if now == original:
            continue
        # nobody else may have changed it, since or in between
        if now != own[-1].after or any(a.after != b.before for a, b in pairwise(own)):
            changed.append(path)
        plan[path] = original
    _refuse(changed)
    return plan


def _base_of(proposal: Proposal) -> str | None:
    try:
        return proposal.base
    except ValueError as error:
        raise ConflictError(f"What {proposal.path} was before is not known any more.") from error


def undo_research(exploration: Exploration, tree: Tree) -> Plan:
    """Remove its documents and log entries, and keep those of others; raises ConflictError as above.

    A section that is removed already is left out, so that an interrupted revert can be repeated.
    """
    plan: dict[str, str | None] = {}
    changed: list[str] = []
    for place, log in _own_places(exploration, tree):
        written = find_fingerprints(parse_log(log), exploration.id) or set()
        text = tree.read_text(place.document)
        if text is not None and has_section(text, exploration.id):
            plan[place.document] = remove_section(text, exploration.id, written)
            changed += [place.document] if plan[place.document] is None else []
        elif text is not None and not _is_of_another(text, exploration):
            plan[place.document] = None
            changed += [] if fingerprint(text) in written else [place.document]
        plan[place.log] = remove_log_entries(log, exploration.id)
    _refuse(changed)
    return plan


def _is_of_another(text: str, exploration: Exploration) -> bool:
    """Whether the document names another exploration as its writer. One that names none may be its own."""
    return parse_document(text).matter.get("exploration_id", exploration.id) != exploration.id


def _own_places(exploration: Exploration, tree: Tree) -> Iterator[tuple[ResearchFolder, str]]:
    """Where the logs say that the exploration wrote; a resumed run may have written a second document."""
    named = (
        [ResearchFolder.of(exploration.publication.document)]
        if exploration.publication.document
        else []
    )
    found = find_folders(exploration.request.idea, tree.names(RESEARCH_ROOT))
    for place in dict.fromkeys([*named, *found]):
        try:
            log = tree.read_text(place.log)
            written = find_fingerprints(parse_log(log), exploration.id)
        except (ConflictError, DocumentError):
            if place in named:
                raise
            continue  # of another exploration, for all that can be read
        if log is not None and written is not None:
            yield place, log


def _refuse(changed: Sequence[str]) -> None:
    if changed:
        raise ConflictError(f"Changed since: {', '.join(changed)}; nothing was undone.")
