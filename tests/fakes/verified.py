"""An exploration that has ended with a verified report, without a model."""

from collections.abc import Sequence
from typing import Any

from idea_explorer.domain.claims import Claim, Verification
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.run import Stats
from idea_explorer.domain.tools import Passage, ToolRecord
from idea_explorer.domain.transcript import (
    ModelCallFinished,
    Opening,
    StoredResult,
    ToolsRan,
    VerificationFinished,
)
from idea_explorer.domain.usage import Usage
from tests.fakes.api import Api


def store_verified(
    api: Api,
    exploration: Exploration,
    report: str,
    page: tuple[str, str],
    claims: Sequence[Claim],
    **changes: Any,
) -> Exploration:
    """`page` is the address and the text of the one page that the run has read."""
    stats = Stats(cost_usd=0.42, citations=len(claims), verification=Verification.of(claims))
    ended = api.run_to(exploration, "completed", stats=stats, **changes)
    api.store.save_report(ended.id, ended.lease, report)
    address, text = page
    read = StoredResult(
        call_id="call-1",
        name="http_fetch",
        input={},
        payload={},
        sha256="a",
        record=ToolRecord(name="http_fetch", duration_ms=1, ok=True),
        passages=(Passage(source=address, title="A page", sha256="a" * 64, text=text),),
    )
    answer = ModelCallFinished(
        step=2,
        content=[{"type": "text", "text": report}],
        stop_reason="end_turn",
        usage=Usage(),
        duration_ms=1,
    )
    transcript = api.store.open(ended.id, ended.lease)
    transcript.append(Opening(model_id="a-model", system=[], tools=[], content=[]))
    transcript.append(ToolsRan(step=1, results=(read,)))
    transcript.append(answer)
    transcript.append(VerificationFinished(claims=tuple(claims)))
    return ended
