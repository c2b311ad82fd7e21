"""The files of a published report, its document and the log of its folder; and the index of all documents.

Loaded by those runs only that write files.
"""

from datetime import datetime

from idea_explorer.domain.documents import (
    add_section,
    fingerprint,
    render_document,
    render_update,
)
from idea_explorer.domain.errors import ConflictError, DocumentError, ExplorerError
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.parsed_documents import OFFLINE
from idea_explorer.domain.paths import RESEARCH_ROOT
from idea_explorer.domain.publication import (
    ResearchFolder,
    append_log_entry,
    commit_message,
    find_fingerprints,
    find_folders,
    new_folder,
    parse_log,
)
from idea_explorer.ports import Change, PublishResult, Tree
from idea_explorer.usecases.deps import Deps
from idea_explorer.usecases.reuse import log_problems


def plan_files(exploration: Exploration, report: str, tree: Tree, now: datetime) -> Change:
    """The files to write: the same for the same exploration and tree, so that publishing can be repeated."""
    if exploration.request.update and exploration.builds_on:
        place = ResearchFolder.of(exploration.builds_on)
        base = tree.read_text(place.document)
        if base is not None:
            return _updated(exploration, report, tree, now, place, base)
        gone = f"{place.document} no longer exists, so the update is a separate document."
        return _written(exploration, report, tree, now, gone)
    return _written(exploration, report, tree, now, None)


def _updated(
    exploration: Exploration,
    report: str,
    tree: Tree,
    now: datetime,
    place: ResearchFolder,
    base: str,
) -> Change:
    log = tree.read_text(place.log)
    written = find_fingerprints(parse_log(log), exploration.id) or set()
    section = render_update(
        exploration.id,
        exploration.created_at.date(),
        report,
        is_offline=exploration.model_name == OFFLINE,
    )
    updated = add_section(base, section, exploration.id, written)
    notice = (
        "The section of an earlier run was changed by hand since, so this run adds its own."
        if updated.kept_edited
        else None
    )
    new_log = append_log_entry(
        log, exploration, place.document, now, sha256=fingerprint(section), note=notice
    )
    return Change(
        path=place.document,
        message=commit_message(exploration, updated=True),
        files={place.log: new_log, place.document: updated.text},
        notice=notice,
    )


def _written(
    exploration: Exploration, report: str, tree: Tree, now: datetime, notice: str | None
) -> Change:
    """Write a document of its own: the one that an earlier run wrote, or a new one."""
    names = set(tree.names(RESEARCH_ROOT))
    own, log = _own(exploration, tree, names)
    if own and log is None:
        notice = (
            f"{own.document} was changed since it was written, so it was left as it is and this"
            " run wrote a separate document."
        )
    place = own if own and log is not None else new_folder(exploration, names)
    text = render_document(exploration, report)
    new_log = append_log_entry(
        log, exploration, place.document, now, sha256=fingerprint(text), note=notice
    )
    return Change(
        path=place.document,
        message=commit_message(exploration, updated=False),
        files={place.log: new_log, place.document: text},
        notice=notice,
    )


def _own(
    exploration: Exploration, tree: Tree, names: set[str]
) -> tuple[ResearchFolder | None, str | None]:
    """Where an earlier run wrote, with the log if nobody has changed the document since."""
    for place in find_folders(exploration.request.idea, names):
        try:
            log = tree.read_text(place.log)
            written = find_fingerprints(parse_log(log), exploration.id)
        except (ConflictError, DocumentError):
            if place.document == exploration.publication.document:
                raise
            continue  # a log that somebody else broke is no reason to write nothing
        if written is None:
            continue
        text = tree.read_text(place.document)
        untouched = text is None or fingerprint(text) in written
        return place, log if untouched else None
    return None, None


def update_index(published: PublishResult, deps: Deps) -> None:
    """Add the document to the index. Any failure is logged: the report is published all the same."""
    try:
        index = deps.index()
        if index.add(published.document, published.text, deps.clock.now()):
            log_problems(index, deps.log)
    except Exception as error:  # noqa: BLE001  the run must end as what it is: published
        reason = error.sentence if isinstance(error, ExplorerError) else type(error).__name__
        deps.log.warning("research_index_not_updated", document=published.document, error=reason)
