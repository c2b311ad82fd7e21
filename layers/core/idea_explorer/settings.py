"""What this machine or deployment is set up with, read once from the environment."""

import json
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    SecretStr,
    ValidationError,
    ValidationInfo,
    field_validator,
)

from idea_explorer.domain import limits
from idea_explorer.domain.addresses import check_webhook_address
from idea_explorer.domain.errors import InvalidSettingError
from idea_explorer.domain.models import PROFILES, Efforts, ModelProfile, check_efforts, find_profile
from idea_explorer.domain.request import WebhookUrl, key_of
from idea_explorer.domain.text import is_header_safe
from idea_explorer.domain.usage import Price
from idea_explorer.domain.validation import describe_errors

MODELS = {
    "sonnet": "claude-sonnet-5-5",
    "opus": "claude-opus-5-5",
    "haiku": "claude-haiku-5-5",
}

# US dollars per million tokens, cache writes for five minutes, as published in November 2026.
PRICES = {
    "claude-sonnet-5-5": Price(input=2.0, output=10.0, cache_write=2.5, cache_read=0.1),
    "claude-opus-5-5": Price(input=4.0, output=20.0, cache_write=5.0, cache_read=0.2),
    "claude-haiku-5-5": Price(
        input=0.1,
        output=0.5,
        cache_write=0.125,
        cache_read=0.01,
        long_prompt_tokens=100_000,
        long_prompt_factor=5.0,
    ),
    "offline": Price(input=0.0, output=0.0, cache_write=0.0, cache_read=0.0, search=0.0),
}
Provider = Literal["anthropic", "aws", "offline"]
KEPT = Path(".idea-explorer")


def _key(secret: SecretStr) -> SecretStr:
    """A stray line end would fail at each call, and look like a network that does not work."""
    if not is_header_safe(secret.get_secret_value()):
        raise ValueError("holds characters that no key has")
    return secret


def _address(url: str) -> str:
    try:
        parts = urlsplit(url)
        whole = parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0
    except ValueError:
        whole = False
    if not whole or not url.isprintable() or " " in url:
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


Key = Annotated[SecretStr, AfterValidator(_key)]
Url = Annotated[str, AfterValidator(_address)]


class Settings(BaseModel):
    """Secrets are never printed: their type hides them."""

    model_config = ConfigDict(frozen=True)

    model_provider: Provider | None = None  # unset, a key decides
    anthropic_api_key: Key | None = None
    anthropic_base_url: Url | None = None
    anthropic_workspace_id: str | None = None  # on AWS, as is what follows
    anthropic_aws_base_url: Url | None = None
    aws_region: str | None = None
    github_token: Key | None = None
    github_repository: str | None = Field(default=None, pattern=r"^[\w.-]+/[\w.-]+$")
    github_branch: str | None = None
    github_api_url: Url = "https://api.github.com"
    code_repositories: str = ""  # beside the configured one, with spaces or commas between
    approval_days: float = Field(default=7.0, gt=0, le=365)
    research_dir: Path = Path()
    models: dict[str, str] = MODELS
    prices: dict[str, Price] = PRICES
    efforts: dict[str, Efforts] = {}  # by model id, where they are not those of the table
    web_search_version: str = "web_search_20250305"
    min_deadline_seconds: int = Field(default=limits.MIN_DEADLINE_SECONDS, ge=1)
    max_cost_usd: float | None = Field(default=None, gt=0)
    daily_cost_usd: float | None = Field(default=None, gt=0)  # per owner
    max_total_tokens: int = Field(default=300_000, gt=0)  # two or three steps at their worst
    search_tokens: int = Field(
        default=10_000, gt=0
    )  # what one web search may bring, for the budget
    code_limits: limits.CodeLimits = limits.CodeLimits()
    events_wait_seconds: float = Field(default=20.0, ge=0, le=25)  # API Gateway ends a call at 29
    events_poll_seconds: float | None = Field(default=None, gt=0)
    webhook_url: Annotated[WebhookUrl, AfterValidator(_webhook)] | None = None  # told by default
    webhook_secret: Annotated[SecretStr, AfterValidator(_signing_key)] | None = None
    otlp_endpoint: Url | None = None
    trace_content: bool = False  # whether spans carry what was asked, read and written

    # Music, for the discover toolset.
    qdrant_url: Url | None = None
    qdrant_collection: str = "tracks"
    qdrant_api_key: Key | None = None
    qdrant_secret_id: str | None = None
    embedding_model: str | None = None  # on Bedrock
    tidal_client_id: str | None = None
    tidal_client_secret: Key | None = None
    tidal_secret_id: str | None = None
    tidal_country: str = "US"
    tidal_api_url: Url | None = None
    tidal_auth_url: Url | None = None

    # A deployment's own: names of what it has, never their contents.
    table_name: str | None = None
    bucket_name: str | None = None
    queue_url: str | None = None
    dead_letter_queue_url: str | None = None
    state_machine_arn: str | None = None
    notify_function_name: str | None = None
    github_secret_id: str | None = None
    anthropic_secret_id: str | None = None
    api_tokens_secret_id: str | None = None
    webhook_secret_id: str | None = None
    secret_max_age_seconds: int = Field(default=300, ge=0)
    max_running: int = Field(default=20, ge=1)
    defer_seconds: int = Field(default=30, ge=0, le=900)
    queued_too_long_seconds: int = Field(default=900, ge=0)
    running_too_long_seconds: int = Field(default=7_200, ge=0)
    aws_endpoint_url: Url | None = None
    sam_local: bool = False

    @field_validator("webhook_secret")
    @classmethod
    def _signs_something(cls, secret: SecretStr | None, info: ValidationInfo) -> SecretStr | None:
        if secret and not info.data.get("webhook_url"):
            raise ValueError("must come with IDEA_WEBHOOK_URL: it signs what is sent there")
        return secret

    @property
    def in_cloud(self) -> bool:
        """`sam local` sets a deployment's names but has none of its services around."""
        return self.table_name is not None and not self.sam_local

    @property
    def provider(self) -> Provider:
        """Who answers: Anthropic's API, Claude on AWS, or the offline model."""
        if self.model_provider:
            return self.model_provider
        return "anthropic" if self.anthropic_api_key or self.anthropic_secret_id else "offline"

    @property
    def uses_claude(self) -> bool:
        """Functions that only need its prices know it without having the key."""
        return self.provider != "offline"

    @property
    def profiles(self) -> dict[str, ModelProfile]:
        """How each model is asked here."""
        known = {*PROFILES, *self.efforts}
        return {name: profile for name in known if (profile := find_profile(name, self.efforts))}

    @property
    def uses_github(self) -> bool:
        return bool(self.github_repository and (self.github_token or self.github_secret_id))

    @property
    def published_to(self) -> str | None:
        """The repository that a receiver is told of. To name it takes no token, and all functions of a
        deployment name the same."""
        return self.github_repository if self.in_cloud or self.uses_github else None

    @property
    def published_branch(self) -> str | None:
        return self.github_branch if self.published_to else None

    def page_of(self, repository: str | None) -> str | None:
        """Where a repository, else the configured one, is read in a browser."""
        name = repository or self.github_repository
        if name is None:
            return None
        api = urlsplit(self.github_api_url)
        host = api.netloc
        if not api.path.rstrip("/").endswith("/api/v3"):
            host = host.removeprefix("api.") if host.startswith("api.") else "github.com"
        return f"https://{host}/{name}"

    @property
    def allowed_repositories(self) -> tuple[str, ...]:
        """Where code may be explored: the configured repository, and those that are named besides."""
        if self.github_repository is None:
            return ()
        return (self.github_repository, *self.code_repositories.replace(",", " ").split())

    @property
    def store(self) -> Path:
        return self.research_dir / KEPT / "explorations.db"

    @property
    def kept(self) -> Path:
        """The folder of whatever else is kept on this machine."""
        return self.research_dir / KEPT

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Self:
        """Empty variables count as unset. Tables are merged: an override names only what it changes."""
        given: dict[str, object] = {
            field: environment[name] for name, field in VARIABLES.items() if environment.get(name)
        }
        code = {
            field: environment[name]
            for name, field in CODE_VARIABLES.items()
            if environment.get(name)
        }
        try:
            given["code_limits"] = code
            tables: tuple[tuple[str, Mapping[str, object]], ...] = (
                ("models", MODELS),
                ("prices", PRICES),
                ("efforts", {}),
            )
            for name, table in tables:
                if text := environment.get(f"IDEA_{name.upper()}"):
                    given[name] = _merged(f"IDEA_{name.upper()}", table, text)
            settings = cls.model_validate(given)
        except ValidationError as error:
            raise InvalidSettingError(
                {
                    _NAMES.get(field, f"IDEA_{field.upper()}"): rule
                    for field, rule in describe_errors(error, within="code_limits").items()
                }
            ) from error
        check_efforts(settings.efforts, "IDEA_EFFORTS")
        _check_provider(settings)
        return settings


def _check_provider(settings: Settings) -> None:
    """What a provider cannot be asked without."""
    if settings.provider != "aws":
        return
    needed = {
        "ANTHROPIC_AWS_WORKSPACE_ID": settings.anthropic_workspace_id,
        "AWS_REGION": settings.aws_region,
    }
    rule = "must be set where IDEA_MODEL_PROVIDER is aws"
    if missing := {name: rule for name, value in needed.items() if not value}:
        raise InvalidSettingError(missing)


def _merged(variable: str, table: Mapping[str, object], text: str) -> dict[str, object]:
    try:
        return {**table, **json.loads(text)}
    except (ValueError, TypeError, RecursionError) as error:
        raise InvalidSettingError({variable: "must be a JSON object"}) from error


VARIABLES = {
    "IDEA_MODEL_PROVIDER": "model_provider",
    "ANTHROPIC_API_KEY": "anthropic_api_key",
    "ANTHROPIC_BASE_URL": "anthropic_base_url",
    "ANTHROPIC_AWS_WORKSPACE_ID": "anthropic_workspace_id",
    "ANTHROPIC_AWS_BASE_URL": "anthropic_aws_base_url",
    "AWS_DEFAULT_REGION": "aws_region",
    "AWS_REGION": "aws_region",  # the later of the two wins, as it does for AWS itself
    "GITHUB_TOKEN": "github_token",
    "GITHUB_REPOSITORY": "github_repository",
    "GITHUB_BRANCH": "github_branch",
    "GITHUB_API_URL": "github_api_url",
    "IDEA_RESEARCH_DIR": "research_dir",
    "IDEA_WEB_SEARCH_VERSION": "web_search_version",
    "IDEA_MIN_DEADLINE_SECONDS": "min_deadline_seconds",
    "IDEA_MAX_COST_USD": "max_cost_usd",
    "QDRANT_URL": "qdrant_url",
    "QDRANT_COLLECTION": "qdrant_collection",
    "QDRANT_API_KEY": "qdrant_api_key",
    "QDRANT_SECRET_ID": "qdrant_secret_id",
    "BEDROCK_EMBEDDING_MODEL": "embedding_model",
    "TIDAL_CLIENT_ID": "tidal_client_id",
    "TIDAL_CLIENT_SECRET": "tidal_client_secret",
    "TIDAL_SECRET_ID": "tidal_secret_id",
    "TIDAL_COUNTRY": "tidal_country",
    "TIDAL_API_URL": "tidal_api_url",
    "TIDAL_AUTH_URL": "tidal_auth_url",
    "IDEA_DAILY_COST_USD": "daily_cost_usd",
    "IDEA_MAX_TOTAL_TOKENS": "max_total_tokens",
    "IDEA_SEARCH_TOKENS": "search_tokens",
    "IDEA_APPROVAL_DAYS": "approval_days",
    "IDEA_CODE_REPOSITORIES": "code_repositories",
    "IDEA_WEBHOOK_URL": "webhook_url",
    "IDEA_WEBHOOK_SECRET": "webhook_secret",
    "WEBHOOK_SECRET_ID": "webhook_secret_id",
    "IDEA_TRACE_CONTENT": "trace_content",
    "OTEL_EXPORTER_OTLP_ENDPOINT": "otlp_endpoint",
    "IDEA_SECRET_MAX_AGE_SECONDS": "secret_max_age_seconds",
    "TABLE_NAME": "table_name",
    "BUCKET_NAME": "bucket_name",
    "QUEUE_URL": "queue_url",
    "DEAD_LETTER_QUEUE_URL": "dead_letter_queue_url",
    "STATE_MACHINE_ARN": "state_machine_arn",
    "NOTIFY_FUNCTION_NAME": "notify_function_name",
    "GITHUB_SECRET_ID": "github_secret_id",
    "ANTHROPIC_SECRET_ID": "anthropic_secret_id",
    "API_TOKENS_SECRET_ID": "api_tokens_secret_id",
    "MAX_RUNNING": "max_running",
    "IDEA_DEFER_SECONDS": "defer_seconds",
    "IDEA_QUEUED_TOO_LONG_SECONDS": "queued_too_long_seconds",
    "IDEA_RUNNING_TOO_LONG_SECONDS": "running_too_long_seconds",
    "AWS_ENDPOINT_URL": "aws_endpoint_url",
    "AWS_SAM_LOCAL": "sam_local",
    "IDEA_EVENTS_WAIT_SECONDS": "events_wait_seconds",
    "IDEA_EVENTS_POLL_SECONDS": "events_poll_seconds",
}
CODE_VARIABLES = {f"IDEA_CODE_{f.name.upper()}": f.name for f in fields(limits.CodeLimits)}
_NAMES = {field: name for name, field in (VARIABLES | CODE_VARIABLES).items()}
