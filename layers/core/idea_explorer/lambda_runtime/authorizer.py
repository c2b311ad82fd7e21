"""The settings of the authorizer alone.

Reading all settings of a deployment loads pydantic, which takes longer than the authorizer's own work; and
every call of an API that was idle waits for it.
"""

from collections.abc import Mapping

from idea_explorer.domain.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class AuthorizerSettings:
    """Fields as in `Settings`, set by the same variables."""

    api_tokens_secret_id: str | None = None
    aws_endpoint_url: str | None = None
    secret_max_age_seconds: int = 300

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> "AuthorizerSettings":
        return cls(
            api_tokens_secret_id=environment.get("API_TOKENS_SECRET_ID") or None,
            aws_endpoint_url=environment.get("AWS_ENDPOINT_URL") or None,
            secret_max_age_seconds=int(
                environment.get("IDEA_SECRET_MAX_AGE_SECONDS") or cls().secret_max_age_seconds
            ),
        )
