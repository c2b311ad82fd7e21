"""Write an approved change, exactly once, and store what became of it."""

from collections.abc import Callable

from idea_explorer.domain.approvals import BASE_MOVED, AppliedChange, Approval
from idea_explorer.domain.errors import AuthFailedError, BaseMovedError, ExplorerError
from idea_explorer.domain.exploration import Exploration
from idea_explorer.ports import ChangeWriter
from idea_explorer.usecases.deps import Deps


def write_approved(
    exploration: Exploration,
    approval: Approval,
    writer_for: Callable[[Exploration], ChangeWriter],
    deps: Deps,
) -> Approval:
    """Safe to repeat: what is stored counts, even if the file has changed again since. Raises errors that a
    retry may fix."""
    if approval.applied:
        return approval
    applied = _write(exploration, approval, writer_for(exploration), deps)
    return deps.approvals.apply(approval.model_copy(update={"applied": applied}))


def _write(
    exploration: Exploration, approval: Approval, writer: ChangeWriter, deps: Deps
) -> AppliedChange:
    now = deps.clock.now()
    try:
        at = writer.write_change(exploration, approval)
    except BaseMovedError as error:
        return AppliedChange(at=now, error_type=BASE_MOVED, message=error.sentence)
    except ExplorerError as error:
        if error.retryable:
            raise
        kind = "auth_failed" if isinstance(error, AuthFailedError) else "internal_error"
        return AppliedChange(at=now, error_type=kind, message=error.sentence)
    return AppliedChange(
        at=now, commit=at.commit, branch=at.branch, message=at.notice, mode=at.mode
    )
