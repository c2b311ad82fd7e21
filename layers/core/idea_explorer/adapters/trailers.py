"""Commit trailers: how a commit says what it is for, so that no attempt repeats another's work."""

from idea_explorer.domain.approvals import Approval
from idea_explorer.domain.commit_text import clean_subject
from idea_explorer.domain.ids import ExplorationId

MAX_SUBJECT = 72  # characters, as git's own tools show them


def exploration_trailer(exploration_id: ExplorationId) -> str:
    return f"Exploration-Id: {exploration_id}"


def run_trailers(exploration_id: ExplorationId, run: int) -> str:
    return f"{exploration_trailer(exploration_id)}\nExploration-Run: {run}"


def approval_trailer(approval_id: str) -> str:
    return f"Approval-Id: {approval_id}"


def commit_subject(approval: Approval) -> str:
    """What was proposed, and whether all of that was approved."""
    how = ""
    if approval.is_edited:
        how = " (in part)" if approval.hunks else " (edited)"
    return clean_subject(approval.proposal.description, MAX_SUBJECT - len(how)) + how


def revert_message(subject: str, sha: str, exploration_id: ExplorationId) -> str:
    return f"{subject}\n\nThis reverts commit {sha}.\n\nReverts-Exploration: {exploration_id}"


def has_trailers(message: str, trailers: str) -> bool:
    # lines end in LF alone: another separator inside a subject begins no trailer
    lines = {line.strip() for line in message.split("\n")}
    return lines.issuperset(trailers.split("\n"))
