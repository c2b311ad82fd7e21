"""Secrets from Secrets Manager, fetched again when they are too old, so rotation needs no deployment."""

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from idea_explorer.adapters.aws.client import error_code, map_aws_errors, map_error
from idea_explorer.domain.errors import ConfigurationError
from idea_explorer.domain.text import is_header_safe

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.parameters import SecretsProvider

SYSTEM = "Secrets Manager"
HINT = "Set it with 'idea admin secret set'."


class CloudSecrets:
    """Values never enter a message or a log."""

    def __init__(self, connect: Callable[[], Any], max_age_seconds: int) -> None:
        self._connect = connect
        self._max_age = max_age_seconds
        self._provider: SecretsProvider | None = None

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
        from aws_lambda_powertools.utilities.parameters import GetParameterError, SecretsProvider
        from botocore.exceptions import ClientError

        if self._provider is None:
            self._provider = SecretsProvider(boto3_client=self._connect())
        try:
            value = self._provider.get(name, max_age=self._max_age, force_fetch=fresh)
        except GetParameterError as error:
            cause = error.__context__
            if isinstance(cause, ClientError) and error_code(cause) == "ResourceNotFoundException":
                raise ConfigurationError(f"The secret {name} has no value.", hint=HINT) from error
            raise map_error(SYSTEM, cause) from error
        return value.decode() if isinstance(value, bytes) else str(value)


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
