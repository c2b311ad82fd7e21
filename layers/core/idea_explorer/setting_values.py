"""The kinds of values that settings have, with the rules that each must meet."""

import json
from collections.abc import Mapping
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import AfterValidator, AliasChoices, BeforeValidator, Field, SecretStr

from idea_explorer.domain import limits
from idea_explorer.domain.addresses import check_webhook_address
from idea_explorer.domain.request import WebhookUrl, key_of
from idea_explorer.domain.text import is_header_safe


def _key(secret: SecretStr) -> SecretStr:
    """A stray line ending would fail every request, and look like a network error."""
    if not is_header_safe(secret.get_secret_value()):
        raise ValueError("holds characters that no key has")
    return secret


def _url(url: str) -> str:
    try:
        parts = urlsplit(url)
        complete = parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0
    except ValueError:
        complete = False
    if not complete or not url.isprintable() or " " in url:
        raise ValueError("must be an address that begins with https:// or http://")
    return url


def _webhook(url: str) -> str:
    if wrong := check_webhook_address(url):
        raise ValueError(wrong)
    return url


def _signing_key(secret: SecretStr) -> SecretStr:
    value = secret.get_secret_value()
    if len(value) > limits.MAX_SECRET:
        raise ValueError(f"must be at most {limits.MAX_SECRET} characters")
    key_of(value)
    return secret


def overrides(defaults: Mapping[str, object]) -> BeforeValidator:
    """Reads a JSON object that names only the entries it changes."""

    def merge(given: object) -> object:
        if not isinstance(given, str):
            return given
        try:
            return {**defaults, **json.loads(given)}
        except (ValueError, TypeError, RecursionError):
            raise ValueError("must be a JSON object") from None

    return BeforeValidator(merge)


def env(variable: str | AliasChoices, default: Any = None, **rules: Any) -> Any:
    """A field that is set by this environment variable."""
    return Field(default, validation_alias=variable, **rules)


Key = Annotated[SecretStr, AfterValidator(_key)]
Url = Annotated[str, AfterValidator(_url)]
DefaultWebhook = Annotated[WebhookUrl, AfterValidator(_webhook)]
SigningKey = Annotated[SecretStr, AfterValidator(_signing_key)]
