"""Approvals that an earlier version stored, before what became of them was part of the record."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from idea_explorer.adapters.folder.writer import FolderWriter
from idea_explorer.adapters.sqlite.texts import SqliteApprovals
from idea_explorer.domain.approvals import Approval
from idea_explorer.domain.diffs import unified_diff
from idea_explorer.usecases.approvals.write import write_approved
from idea_explorer.usecases.revert import undo_changes, written_changes
from tests.fakes.deps import make_deps
from tests.fakes.explorations import an_exploration
from tests.fakes.stored import restore, rows

IDS = [
    exploration_id for (exploration_id,) in rows("SELECT DISTINCT exploration_id FROM approvals")
]


@pytest.fixture
def store(tmp_path: Path) -> SqliteApprovals:
    return SqliteApprovals(restore(tmp_path / "explorations.db"))


def approve(store: SqliteApprovals, exploration_id: str) -> Sequence[Approval]:
    for approval in store.approvals(exploration_id):  # type: ignore[arg-type]
        store.decide(approval.model_copy(update={"decision": "approve"}))
    return store.approvals(exploration_id)  # type: ignore[arg-type]


def test_there_are_some() -> None:
    assert len(IDS) == 3


@pytest.mark.parametrize("exploration_id", IDS)
def test_they_load_and_lead_back_to_their_base(store: SqliteApprovals, exploration_id: str) -> None:
    for approval in approve(store, exploration_id):
        proposal = approval.proposal
        diff = unified_diff(proposal.path, proposal.base, proposal.content)
        assert (approval.applied, proposal.new_path, diff) == (None, None, proposal.diff)


@pytest.mark.parametrize("exploration_id", IDS[:1])  # whose changes nobody has decided on
def test_they_are_approved_written_and_undone(
    tmp_path: Path, store: SqliteApprovals, exploration_id: str
) -> None:
    code = tmp_path / "code"
    for approval in approve(store, exploration_id):
        if (base := approval.proposal.base) is not None:
            file = code / approval.proposal.path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(base)
    writer = FolderWriter(code, tmp_path / "lock")
    deps = make_deps(tmp_path, approvals=store)
    for approval in approve(store, exploration_id):
        written = write_approved(an_exploration(), approval, lambda _: writer, deps)
        assert written.is_written
        assert (code / approval.proposal.path).read_text() == approval.proposal.content

    class Tree:
        def read_text(self, path: str) -> str:
            return (code / path).read_text()

        def names(self, path: str) -> list[str]:
            return []

    approvals = approve(store, exploration_id)
    assert undo_changes(written_changes((), approvals), Tree()) == {
        a.proposal.path: a.proposal.base for a in approvals
    }
