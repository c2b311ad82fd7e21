"""Commit trailers: how a commit says what it is for, so that no attempt repeats another's work."""

from idea_explorer.domain.ids import ExplorationId


def exploration_trailer(exploration_id: ExplorationId) -> str:
    return f"Exploration-Id: {exploration_id}"


def run_trailers(exploration_id: ExplorationId, run: int) -> str:
    return f"{exploration_trailer(exploration_id)}\nExploration-Run: {run}"


def approval_trailer(approval_id: str) -> str:
    return f"Approval-Id: {approval_id}"


def revert_message(subject: str, sha: str, exploration_id: ExplorationId) -> str:
    return f"{subject}\n\nThis reverts commit {sha}.\n\nReverts-Exploration: {exploration_id}"


def has_trailers(message: str, trailers: str) -> bool:
    # lines end in LF alone: another separator inside a subject begins no trailer
    lines = {line.strip() for line in message.split("\n")}
    return lines.issuperset(trailers.split("\n"))
