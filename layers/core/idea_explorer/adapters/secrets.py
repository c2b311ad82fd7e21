"""Secrets from Secrets Manager, asked for again once they are too old: rotation needs no deploy."""

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from idea_explorer.adapters.aws import code_of, meaning
from idea_explorer.domain.errors import ConfigurationError
from idea_explorer.domain.text import is_sendable

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
        value = self._value(name, fresh=fresh).strip()
        if field is not None and value.startswith("{"):
            value = _field(name, value, field).strip()
        if not value:
            raise ConfigurationError(f"The secret {name} is empty.", hint=HINT)
        if field is not None and not is_sendable(value):
            raise ConfigurationError(
                f"The secret {name} holds characters that no key has.", hint=HINT
            )
        return value

    def _value(self, name: str, *, fresh: bool) -> str:
        from aws_lambda_powertools.utilities.parameters import GetParameterError, SecretsProvider
        from botocore.exceptions import ClientError

        if self._provider is None:
            self._provider = SecretsProvider(boto3_client=self._connect())
        try:
            value = self._provider.get(name, max_age=self._max_age, force_fetch=fresh)
        except GetParameterError as error:
            cause = error.__context__
            if isinstance(cause, ClientError) and code_of(cause) == "ResourceNotFoundException":
                raise ConfigurationError(f"The secret {name} has no value.", hint=HINT) from error
            raise meaning(SYSTEM, cause) from error
        return value.decode() if isinstance(value, bytes) else str(value)


def _field(name: str, value: str, field: str) -> str:
    try:
        return str(json.loads(value)[field])
    except (ValueError, KeyError) as error:
        raise ConfigurationError(
            f"The secret {name} is not a JSON object with '{field}'.", hint=HINT
        ) from error
