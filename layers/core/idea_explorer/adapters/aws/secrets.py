"""Secrets from Secrets Manager, fetched again when they are too old, so rotation needs no deployment."""

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from idea_explorer.adapters.aws.client import ExpectedError, error_code, map_aws_errors
from idea_explorer.domain.errors import ConfigurationError
from idea_explorer.domain.text import is_header_safe

if TYPE_CHECKING:
    from idea_explorer.ports import Clock

SYSTEM = "Secrets Manager"
HINT = "Set it with 'idea admin secret set'."


class CloudSecrets:
    """Values never enter a message or a log."""

    def __init__(self, connect: Callable[[], Any], max_age_seconds: int, clock: "Clock") -> None:
        self._connect = connect
        self._max_age = max_age_seconds
        self._clock = clock
        self._fetched: dict[str, tuple[float, str]] = {}  # when, and the value

    def get(self, name: str, field: str | None = None, *, fresh: bool = False) -> str:
        value = self._fetch(name, fresh=fresh).strip()
        if field is not None and value.startswith("{"):
            value = _read_field(name, value, field).strip()
        if not value:
            raise ConfigurationError(f"The secret {name} is empty.", hint=HINT)
        if field is not None and not is_header_safe(value):
            raise ConfigurationError(
                f"The secret {name} holds characters that no key has.", hint=HINT
            )
        return value

    def _fetch(self, name: str, *, fresh: bool) -> str:
        at, value = self._fetched.get(name, (0.0, None))
        if value is not None and not fresh and self._clock.monotonic() - at < self._max_age:
            return value
        try:
            with map_aws_errors(SYSTEM, expected={"ResourceNotFoundException"}):
                found = self._connect().get_secret_value(SecretId=name)
        except ExpectedError as error:
            raise ConfigurationError(f"The secret {name} has no value.", hint=HINT) from error
        value = (
            str(found["SecretString"])
            if "SecretString" in found
            else found["SecretBinary"].decode()
        )
        self._fetched[name] = (self._clock.monotonic(), value)
        return value


def _read_field(name: str, value: str, field: str) -> str:
    try:
        return str(json.loads(value)[field])
    except (ValueError, KeyError) as error:
        raise ConfigurationError(
            f"The secret {name} is not a JSON object with a '{field}' field.", hint=HINT
        ) from error


class OperatorSecrets:
    """Reads and writes current values, bypassing every cache. Values never enter a message."""

    def __init__(self, connect: Callable[[], Any]) -> None:
        self._connect = connect

    def read(self, name: str) -> str:
        from botocore.exceptions import ClientError

        with map_aws_errors(SYSTEM):
            try:
                found = self._connect().get_secret_value(SecretId=name)
            except ClientError as error:
                if not _has_no_value(error):
                    raise
                return ""
        return str(found.get("SecretString", ""))

    def write(self, name: str, value: str) -> None:
        with map_aws_errors(SYSTEM):
            self._connect().put_secret_value(SecretId=name, SecretString=value)


def _has_no_value(error: Any) -> bool:
    """Tells a secret that was never set from one that does not exist, which has the same code."""
    message = str(error.response.get("Error", {}).get("Message", ""))
    return error_code(error) == "ResourceNotFoundException" and "staging label" in message
