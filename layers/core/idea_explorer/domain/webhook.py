"""The webhook's message and its signatures, as receivers check them.

The body is made from the record alone and so is the same however often it is sent; only the time of
sending, in a header, differs.
"""

import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from urllib.parse import quote, urlsplit

from idea_explorer.domain.errors import (
    BlockedAddressError,
    ExternalError,
    HttpError,
    UpstreamTimeoutError,
)
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.json import JsonObject
from idea_explorer.domain.request import key_of
from idea_explorer.domain.text import one_line

GITHUB, GITHUB_RAW = "github.com", "https://raw.githubusercontent.com"
EVENT = "idea_explored"
TEST_EVENT = "webhook_test"
EXCERPT_CHARS = 500
# Seconds between the rounds of attempts at a receiver that is down: from a minute to four hours, a day in
# all. The workflow waits as long (workflow/exploration.asl.yaml), and so do the workers of `idea serve`.
WAITS = tuple(min(60 * 2**number, 14_400) for number in range(13))
PASSING_STATUSES = frozenset({408, 425, 429})  # of 4xx, which else refuse the message itself


@dataclass(frozen=True, slots=True)
class Target:
    """Whom to tell. Without a secret nothing is signed."""

    url: str
    secret: str | None = field(default=None, repr=False)


def may_pass(error: ExternalError) -> bool:
    """Whether the receiver may take the same message later: it is down or busy, and has not refused it."""
    if isinstance(error, HttpError):
        status = error.status or 0
        return status >= 500 or status in PASSING_STATUSES
    return error.retryable or isinstance(error, UpstreamTimeoutError)


def is_final(error: ExternalError) -> bool:
    """Whether not even the next attempt makes sense: an address that may not be used, or 410 Gone, by
    which a receiver says that it wants no more of this."""
    gone = isinstance(error, HttpError) and error.status == 410
    return gone or isinstance(error, BlockedAddressError)


@dataclass(frozen=True, slots=True)
class Message:
    id: str
    body: bytes


def message_of(
    exploration: Exploration, report: str, *, repository: str | None, branch: str | None
) -> Message:
    """What a receiver is told about a run that has come to its end."""
    receipt = exploration.run.receipt
    moment = exploration.run.finished_at or exploration.updated_at
    fields: JsonObject = {
        "type": EVENT,
        "id": exploration.id,
        "status": exploration.status,
        "idea": exploration.request.idea,
        "mode": exploration.request.mode,
        "github_url": exploration.publication.url,
        "github_raw_url": raw_url(exploration),
        "report_excerpt": one_line(report, EXCERPT_CHARS) or None,
        "error": {"code": receipt.code, "message": receipt.message} if receipt else None,
        "repo": exploration.request.repository or repository,
        "branch": exploration.publication.branch or branch,
        "step_durations": [*exploration.run.stats.step_durations],
        "timestamp": moment.isoformat(),
    }
    return Message(f"msg_{exploration.id}_{exploration.run.number}", _json(fields))


def raw_url(exploration: Exploration) -> str | None:
    """Where the document's markdown itself is read, as it was committed; None where that is not known.

    A server of GitHub Enterprise has it at /raw/ or, with subdomain isolation, at raw.HOST; which of them
    its addresses do not tell.
    """
    page = urlsplit(exploration.publication.url or "")
    owner, _, rest = page.path.lstrip("/").partition("/")
    repository, _, kind = rest.partition("/")
    ref = exploration.publication.commit or exploration.publication.branch
    if (
        page.hostname != GITHUB
        or not kind.startswith("blob/")
        or not (ref and exploration.publication.document)
    ):
        return None
    return (
        f"{GITHUB_RAW}/{owner}/{repository}/{quote(ref)}/{quote(exploration.publication.document)}"
    )


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
