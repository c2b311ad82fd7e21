"""Webhook messages and their signatures.

The body depends on the record alone, so it is the same in every attempt; only the timestamp header differs.
"""

import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import field
from datetime import datetime
from urllib.parse import quote, urlsplit

from idea_explorer.domain.dataclass import dataclass
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
from idea_explorer.domain.toolsets import TOOLSETS

GITHUB, GITHUB_RAW = "github.com", "https://raw.githubusercontent.com"
EVENT = "idea_explored"
TEST_EVENT = "webhook_test"
EXCERPT_CHARS = 500
# Seconds between rounds of attempts while a receiver is down: from a minute to four hours, a day in all.
# The workflow (workflow/exploration.asl.yaml) and the workers of `idea serve` both wait this long.
WAITS = tuple(min(60 * 2**number, 14_400) for number in range(13))
RETRYABLE_STATUSES = frozenset({408, 425, 429})  # any other 4xx rejects the message itself


@dataclass(frozen=True, slots=True)
class WebhookTarget:
    """A receiver. Without a secret, messages are not signed."""

    url: str
    secret: str | None = field(default=None, repr=False)


def is_temporary(error: ExternalError) -> bool:
    """Whether the receiver may accept the message later: it is down or busy, and did not reject it."""
    if isinstance(error, HttpError):
        status = error.status or 0
        return status >= 500 or status in RETRYABLE_STATUSES
    return error.retryable or isinstance(error, UpstreamTimeoutError)


def is_final(error: ExternalError) -> bool:
    """Whether to stop at once: the address is blocked, or the receiver answered 410 Gone."""
    gone = isinstance(error, HttpError) and error.status == 410
    return gone or isinstance(error, BlockedAddressError)


@dataclass(frozen=True, slots=True)
class WebhookMessage:
    id: str
    body: bytes


def build_message(
    exploration: Exploration, report: str, *, repository: str | None, branch: str | None
) -> WebhookMessage:
    """The message about a finished run."""
    receipt = exploration.run.receipt
    moment = exploration.run.finished_at or exploration.updated_at
    fields: JsonObject = {
        "type": EVENT,
        "id": exploration.id,
        "status": exploration.status,
        "idea": exploration.request.idea,
        "mode": exploration.request.mode,
        "github_url": exploration.publication.url,
        "github_raw_url": build_raw_url(exploration),
        "report_excerpt": one_line(report, EXCERPT_CHARS) or None,
        **_describe_playlist(exploration, report),
        "error": {"code": receipt.code, "message": receipt.message} if receipt else None,
        "repo": exploration.request.repository or repository,
        "branch": exploration.publication.branch or branch,
        "step_durations": [*exploration.run.stats.step_durations],
        "timestamp": moment.isoformat(),
    }
    return WebhookMessage(f"msg_{exploration.id}_{exploration.run.number}", _dump(fields))


def _describe_playlist(exploration: Exploration, report: str) -> JsonObject:
    """The result of a run whose toolset has a tool for it; other messages do not mention it."""
    if TOOLSETS[exploration.request.toolset].result_tool is None:
        return {}
    from idea_explorer.domain.playlist import parse_playlist

    playlist = parse_playlist(report)
    return {"playlist": playlist.as_json() if playlist else None}


def build_raw_url(exploration: Exploration) -> str | None:
    """The address of the committed document's raw markdown; None if it is not known. GitHub Enterprise
    serves it at /raw/ or, with subdomain isolation, at raw.HOST; its addresses do not tell which."""
    publication = exploration.publication
    page = urlsplit(publication.url or "")
    owner, _, rest = page.path.lstrip("/").partition("/")
    repository, _, kind = rest.partition("/")
    document, ref = publication.document, publication.commit or publication.branch
    if page.hostname != GITHUB or not kind.startswith("blob/") or not (ref and document):
        return None
    return f"{GITHUB_RAW}/{owner}/{repository}/{quote(ref)}/{quote(document)}"


def test_message(unique: str, now: datetime) -> WebhookMessage:
    fields: JsonObject = {
        "type": TEST_EVENT,
        "id": unique,
        "status": "completed",
        "idea": "A test of this webhook",
        "timestamp": now.isoformat(),
    }
    return WebhookMessage(f"msg_{unique}", _dump(fields))


def _dump(fields: JsonObject) -> bytes:
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode()


def build_headers(message: WebhookMessage, secret: str | None, now: datetime) -> Mapping[str, str]:
    """Standard Webhooks headers, plus an HMAC of the body in X-Signature; no signatures without a secret."""
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
