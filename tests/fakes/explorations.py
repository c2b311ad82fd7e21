"""Explorations and what happens in them, for tests that need some."""

from datetime import UTC, datetime, timedelta

from idea_explorer.domain.approvals import Approval, approval_id, propose
from idea_explorer.domain.events import TextDelta
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.paths import RepositoryPath
from idea_explorer.domain.request import ExploreRequest
from idea_explorer.domain.run import Receipt
from idea_explorer.domain.transcript import Instruction

NOW = datetime(2026, 11, 16, 9, 0, tzinfo=UTC)
RECEIPT = Receipt(
    code="TIMEOUT", message="Too late.", step=2, cost_usd=0.1, has_partial_text=True, resume="x"
)


def an_exploration(
    *, owner: str = "ada", minutes: float = 0, idea: str = "A library of tools", **changes: object
) -> Exploration:
    """Queued `minutes` after NOW."""
    at = NOW + timedelta(minutes=minutes)
    return Exploration.new(ExploreRequest(idea=idea), owner, at=at).replace(**changes)


def an_approval(
    exploration: Exploration, path: str, content: str, base: bytes | None, call: str = ""
) -> Approval:
    """A change that a person has approved."""
    call = call or f"{path} {content}"
    return Approval(
        id=approval_id(exploration.id, call),
        exploration_id=exploration.id,
        call_id=call,
        proposal=propose(RepositoryPath(path), content, f"Change {path}", base),
        requested_at=NOW,
        decision="approve",
    )


def words(text: str) -> TextDelta:
    return TextDelta(content=text)


def said(text: str) -> Instruction:
    return Instruction(purpose="continue", text=text)
