"""API tokens: each names an owner. Only a token's hash is ever kept."""

import hashlib
import hmac
import secrets
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from idea_explorer.domain.errors import ConfigurationError, InvalidRequestError

TOKEN_BYTES = 32  # 256 random bits cannot be guessed, so a fast hash is enough to keep them
OWNER = r"^[A-Za-z0-9][A-Za-z0-9_.@-]{0,63}$"


class ApiToken(BaseModel):
    """What is stored of a token. The hash is SHA-256, in hexadecimal."""

    model_config = ConfigDict(frozen=True)

    owner: Annotated[str, Field(pattern=OWNER)]
    hash: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    created: datetime


_ADAPTER: TypeAdapter[list[ApiToken]] = TypeAdapter(list[ApiToken])


def issue_token(owner: str, *, now: datetime) -> tuple[str, ApiToken]:
    """A new token for an owner, to be shown once, and what is to be stored of it."""
    token = secrets.token_urlsafe(TOKEN_BYTES)
    return token, make_token_record(token, owner, now=now)


def make_token_record(token: str, owner: str, *, now: datetime) -> ApiToken:
    try:
        return ApiToken(owner=owner, hash=hash_token(token), created=now)
    except ValidationError as error:
        raise InvalidRequestError(
            "An owner is named by 1 to 64 letters, digits and the characters _ . @ -.",
            fields={"owner": "1 to 64 letters, digits and the characters _ . @ -"},
        ) from error


def hash_token(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def find_owner(token: str, tokens: Sequence[ApiToken]) -> str | None:
    """The owner a token names, if any. Every entry is compared, each in constant time."""
    given = hash_token(token)
    owner: str | None = None
    for known in tokens:
        if hmac.compare_digest(given, known.hash):
            owner = known.owner
    return owner


def parse_tokens(text: str) -> list[ApiToken]:
    """The tokens of a secret, `[]` where nothing was stored yet."""
    try:
        return _ADAPTER.validate_json(text or "[]")
    except ValidationError as error:
        # the text is a secret: neither it nor pydantic's account of it is passed on
        raise ConfigurationError(
            "The API tokens secret is not a list of tokens.",
            hint="Set it to [] and add tokens with: idea admin token add OWNER.",
        ) from error


def dump_tokens(tokens: Sequence[ApiToken]) -> str:
    return _ADAPTER.dump_json(list(tokens)).decode()
