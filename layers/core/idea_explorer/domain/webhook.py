"""The webhook's message and its signatures, as receivers check them.

The body is made from the record alone and so is the same however often it is sent; only the time of
sending, in a header, differs.
"""

import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.json import JsonObject
from idea_explorer.domain.signing import key_of
from idea_explorer.domain.text import one_line

EVENT = "idea_explored"
TEST_EVENT = "webhook_test"
EXCERPT_CHARS = 500


@dataclass(frozen=True, slots=True)
class Message:
    id: str
    body: bytes


def message_of(
    exploration: Exploration, report: str, *, repository: str | None, branch: str | None
) -> Message:
    """What a receiver is told about a run that has come to its end."""
    receipt = exploration.receipt
    moment = exploration.finished_at or exploration.updated_at
    fields: JsonObject = {
        "type": EVENT,
        "id": exploration.id,
        "status": exploration.status,
        "idea": exploration.request.idea,
        "mode": exploration.request.mode,
        "github_url": exploration.url,
        "report_excerpt": one_line(report, EXCERPT_CHARS) or None,
        "error": {"code": receipt.code, "message": receipt.message} if receipt else None,
        "repo": exploration.request.repository or repository,
        "branch": exploration.branch or branch,
        "timestamp": moment.isoformat(),
    }
    return Message(f"msg_{exploration.id}_{exploration.run}", _json(fields))


def test_message(unique: str, now: datetime) -> Message:
    """A message by which a receiver can try out its address and its secret."""
    fields: JsonObject = {
        "type": TEST_EVENT,
        "id": unique,
        "status": "completed",
        "idea": "A test of this webhook",
        "timestamp": now.isoformat(),
    }
    return Message(f"msg_{unique}", _json(fields))


def _json(fields: JsonObject) -> bytes:
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode()


def headers_of(message: Message, secret: str | None, now: datetime) -> Mapping[str, str]:
    """Standard Webhooks headers, and a plain signature of the body; without a secret no signature."""
    headers = {
        "Content-Type": "application/json",
        "webhook-id": message.id,
        "webhook-timestamp": str(int(now.timestamp())),
    }
    if secret is None:
        return headers
    from standardwebhooks import Webhook

    key = key_of(secret)
    plain = hmac.new(key, message.body, hashlib.sha256).hexdigest()
    return headers | {
        "webhook-signature": Webhook(key).sign(message.id, now, message.body.decode()),
        "X-Signature": f"sha256={plain}",
    }
