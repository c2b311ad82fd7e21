"""The settings of this machine or deployment, read once from the environment."""

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    AliasChoices,
    BeforeValidator,
    ConfigDict,
    ValidationError,
    create_model,
)
from pydantic.fields import FieldInfo

from idea_explorer.domain import limits
from idea_explorer.domain.base import DomainModel
from idea_explorer.domain.errors import InvalidSettingError
from idea_explorer.domain.models import PROFILES, Efforts, ModelProfile, check_efforts, find_profile
from idea_explorer.domain.names import (
    check_ref,
    check_repository_name,
    check_repository_names,
    split_names,
)
from idea_explorer.domain.usage import Price
from idea_explorer.domain.validation_errors import describe_errors
from idea_explorer.domain.web_scope import UserLocation, WebScope, check_domains, parse_location
from idea_explorer.setting_values import DefaultWebhook, Key, SigningKey, Url, env, overrides

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
EmbedderName = Literal["lexicon", "wordllama"]
DATA_DIR = Path(".idea-explorer")


class Settings(DomainModel):
    """Secrets are never printed: their type hides them."""

    model_config = ConfigDict(frozen=True, validate_by_name=True)

    model_provider: Provider | None = env("IDEA_MODEL_PROVIDER")  # without it, the key decides
    anthropic_api_key: Key | None = env("ANTHROPIC_API_KEY")
    anthropic_base_url: Url | None = env("ANTHROPIC_BASE_URL")
    anthropic_workspace_id: str | None = env("ANTHROPIC_AWS_WORKSPACE_ID")
    anthropic_aws_base_url: Url | None = env("ANTHROPIC_AWS_BASE_URL")
    aws_region: str | None = env(AliasChoices("AWS_REGION", "AWS_DEFAULT_REGION"))
    models: Annotated[dict[str, str], overrides(MODELS)] = env("IDEA_MODELS", MODELS)
    prices: Annotated[dict[str, Price], overrides(PRICES)] = env("IDEA_PRICES", PRICES)
    efforts: Annotated[dict[str, Efforts], overrides({})] = env("IDEA_EFFORTS", {})  # by model id
    # without it, the newest that the model and the provider take
    web_search_version: str | None = env("IDEA_WEB_SEARCH_VERSION")
    dynamic_filtering: bool = env("IDEA_DYNAMIC_FILTERING", False)

    allowed_domains: Annotated[str, AfterValidator(check_domains)] = env("IDEA_ALLOWED_DOMAINS", "")
    blocked_domains: Annotated[str, AfterValidator(check_domains)] = env("IDEA_BLOCKED_DOMAINS", "")
    user_location: Annotated[UserLocation | None, BeforeValidator(parse_location)] = env(
        "IDEA_USER_LOCATION"
    )
    fetch_domains: str = env("IDEA_FETCH_DOMAINS", "")
    search_with_private_text: bool = env("IDEA_SEARCH_WITH_PRIVATE_TEXT", True)

    github_token: Key | None = env("GITHUB_TOKEN")
    github_repository: Annotated[str, AfterValidator(check_repository_name)] | None = env(
        "GITHUB_REPOSITORY"
    )
    github_branch: Annotated[str, AfterValidator(check_ref)] | None = env("GITHUB_BRANCH")
    github_api_url: Url = env("GITHUB_API_URL", "https://api.github.com")
    research_dir: Path = env("IDEA_RESEARCH_DIR", Path())
    # whether a person named it: only then may documents outside its `ideas/` be read
    research_is_named: bool = False
    code_repositories: Annotated[str, AfterValidator(check_repository_names)] = env(
        "IDEA_CODE_REPOSITORIES", ""
    )
    code_limits: limits.CodeLimits = limits.CodeLimits()  # each is a variable: CODE_VARIABLES
    checks_seconds: float = env("IDEA_CHECKS_SECONDS", 120.0, gt=0, le=600)  # for each command
    checks_memory_mb: int = env("IDEA_CHECKS_MEMORY_MB", 2_048, ge=64)  # for all its processes
    checks_read: str = env(
        "IDEA_CHECKS_READ", ""
    )  # folders that commands need, separated by colons
    checks_without_isolation: bool = env("IDEA_CHECKS_WITHOUT_ISOLATION", False)
    approval_days: float = env("IDEA_APPROVAL_DAYS", 7.0, gt=0, le=365)

    min_deadline_seconds: int = env("IDEA_MIN_DEADLINE_SECONDS", limits.MIN_DEADLINE_SECONDS, ge=1)
    max_cost_usd: float = env("IDEA_MAX_COST_USD", limits.MAX_COST_USD, gt=0)
    daily_cost_usd: float | None = env("IDEA_DAILY_COST_USD", gt=0)  # per owner
    max_total_tokens: int = env("IDEA_MAX_TOTAL_TOKENS", 300_000, gt=0)  # two or three large steps
    search_tokens: int = env("IDEA_SEARCH_TOKENS", 10_000, gt=0)  # budgeted for one web search
    page_tokens: int = env("IDEA_PAGE_TOKENS", limits.PAGE_TOKENS, gt=0)  # of one page at most
    # API Gateway ends a call after 29 s
    events_wait_seconds: float | None = env("IDEA_EVENTS_WAIT_SECONDS", ge=0, le=25)
    events_poll_seconds: float | None = env("IDEA_EVENTS_POLL_SECONDS", gt=0)
    allowed_hosts: str = env("IDEA_ALLOWED_HOSTS", "")
    trusted_proxies: str = env("IDEA_TRUSTED_PROXIES", "")

    webhook_url: DefaultWebhook | None = env("IDEA_WEBHOOK_URL")
    webhook_secret: SigningKey | None = env("IDEA_WEBHOOK_SECRET")
    otlp_endpoint: Url | None = env("OTEL_EXPORTER_OTLP_ENDPOINT")
    trace_content: bool = env("IDEA_TRACE_CONTENT", False)  # ideas and reports in spans

    # Music, for the discover toolset
    qdrant_url: Url | None = env("QDRANT_URL")
    qdrant_collection: str = env("QDRANT_COLLECTION", "tracks")
    qdrant_api_key: Key | None = env("QDRANT_API_KEY")
    qdrant_secret_id: str | None = env("QDRANT_SECRET_ID")
    embedding_model: str | None = env("BEDROCK_EMBEDDING_MODEL")
    embedder: EmbedderName = env("IDEA_EMBEDDER", "lexicon")  # of this machine
    tidal_client_id: str | None = env("TIDAL_CLIENT_ID")
    tidal_client_secret: Key | None = env("TIDAL_CLIENT_SECRET")
    tidal_secret_id: str | None = env("TIDAL_SECRET_ID")
    tidal_country: str = env("TIDAL_COUNTRY", "US")
    tidal_api_url: Url | None = env("TIDAL_API_URL")
    tidal_auth_url: Url | None = env("TIDAL_AUTH_URL")

    # A deployment's own: the names of its resources and secrets, never their contents
    table_name: str | None = env("TABLE_NAME")
    bucket_name: str | None = env("BUCKET_NAME")
    queue_url: str | None = env("QUEUE_URL")
    dead_letter_queue_url: str | None = env("DEAD_LETTER_QUEUE_URL")
    state_machine_arn: str | None = env("STATE_MACHINE_ARN")
    notify_function_name: str | None = env("NOTIFY_FUNCTION_NAME")
    github_secret_id: str | None = env("GITHUB_SECRET_ID")
    anthropic_secret_id: str | None = env("ANTHROPIC_SECRET_ID")
    api_tokens_secret_id: str | None = env("API_TOKENS_SECRET_ID")
    webhook_secret_id: str | None = env("WEBHOOK_SECRET_ID")
    secret_max_age_seconds: int = env("IDEA_SECRET_MAX_AGE_SECONDS", 300, ge=0)
    max_running: int = env("MAX_RUNNING", 5, ge=1)
    max_streams: int = env("MAX_STREAMS", 0, ge=0)  # of events; 0 in functions that cannot stream
    queued_too_long_seconds: int = env("IDEA_QUEUED_TOO_LONG_SECONDS", 900, ge=0)
    running_too_long_seconds: int = env("IDEA_RUNNING_TOO_LONG_SECONDS", 7_200, ge=0)
    aws_endpoint_url: Url | None = env("AWS_ENDPOINT_URL")
    sam_local: bool = env("AWS_SAM_LOCAL", False)

    @property
    def in_cloud(self) -> bool:
        """False under `sam local`, which sets the names of a deployment but has none of its services."""
        return self.table_name is not None and not self.sam_local

    @property
    def on_lambda(self) -> bool:
        """Whether the functions run here, in a deployment or under `sam local`."""
        return self.in_cloud or self.sam_local

    @property
    def provider(self) -> Provider:
        """Which model service is called: Anthropic's API, Claude on AWS, or the offline model."""
        if self.model_provider:
            return self.model_provider
        return "anthropic" if self.anthropic_api_key or self.anthropic_secret_id else "offline"

    @property
    def uses_claude(self) -> bool:
        """Also true in functions that have no key and only need the prices."""
        return self.provider != "offline"

    @property
    def profiles(self) -> dict[str, ModelProfile]:
        """How to call each model: the known ones, with the efforts set here."""
        known = {*PROFILES, *self.efforts}
        return {name: profile for name in known if (profile := find_profile(name, self.efforts))}

    @property
    def uses_github(self) -> bool:
        return bool(self.github_repository and (self.github_token or self.github_secret_id))

    @property
    def published_to(self) -> str | None:
        """The repository named in webhooks: the same in every function of a deployment, with or without
        a token."""
        return self.github_repository if self.in_cloud or self.uses_github else None

    @property
    def published_branch(self) -> str | None:
        return self.github_branch if self.published_to else None

    def repository_url(self, repository: str | None) -> str | None:
        """The web page of a repository, by default the configured one."""
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
        """The repositories whose code may be explored."""
        if self.github_repository is None:
            return ()
        return (self.github_repository, *split_names(self.code_repositories))

    @property
    def open_domains(self) -> tuple[str, ...]:
        """The domains whose pages any run may open; they are separated by spaces or commas."""
        return tuple(self.fetch_domains.replace(",", " ").split())

    @property
    def web_scope(self) -> WebScope:
        """Where runs look on the web; their requests can only narrow it."""
        allowed, blocked = split_names(self.allowed_domains), split_names(self.blocked_domains)
        return WebScope(
            tuple(name.lower() for name in allowed),
            tuple(name.lower() for name in blocked),
            self.user_location,
        )

    @property
    def store(self) -> Path:
        return self.data_dir / "explorations.db"

    @property
    def data_dir(self) -> Path:
        """The folder for everything this machine stores."""
        return self.research_dir / DATA_DIR

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> "Settings":
        """Empty variables count as not set. Raises InvalidSettingError, which names each wrong one."""
        given = {
            n: value for n, value in environment.items() if value and n not in cls.model_fields
        }
        code = {field: given[name] for name, field in CODE_VARIABLES.items() if name in given}
        try:
            values = cls._validate({**given, "code_limits": code} if code else given)
        except ValidationError as error:
            names = {field: name for name, field in CODE_VARIABLES.items()}
            wrong = describe_errors(error, within="code_limits")
            wrong = {names.get(field, field): rule for field, rule in wrong.items()}
            raise InvalidSettingError(wrong) from None  # its cause quotes values, keys among them
        settings = cls.model_construct(**values, research_is_named="IDEA_RESEARCH_DIR" in given)
        check_efforts(settings.efforts, "IDEA_EFFORTS")
        _check_combinations(settings)
        return settings

    @classmethod
    def _validate(cls, given: Mapping[str, object]) -> dict[str, Any]:
        """Only what is given is validated: a validator for all settings takes long to build."""
        chosen: dict[str, Any] = {
            name: (field.annotation, field)
            for name, field in cls.model_fields.items()
            if not _list_names(name, field).isdisjoint(given)
        }
        model = create_model("GivenSettings", __base__=DomainModel, **chosen)
        validated = model.model_validate(given) if chosen else None
        return {name: getattr(validated, name) for name in chosen}


def _list_names(name: str, field: FieldInfo) -> set[str]:
    """The variables that a setting is read from; its own name, if it has none."""
    alias = field.validation_alias
    if isinstance(alias, AliasChoices):
        return {str(choice) for choice in alias.choices}
    return {name if alias is None else str(alias)}


def _check_combinations(settings: Settings) -> None:
    """Check the settings that need others, or exclude them."""
    wrong: dict[str, str] = {}
    if settings.provider == "aws":
        needed = {
            "ANTHROPIC_AWS_WORKSPACE_ID": settings.anthropic_workspace_id,
            "AWS_REGION": settings.aws_region,
        }
        rule = "must be set where IDEA_MODEL_PROVIDER is aws"
        wrong |= {name: rule for name, value in needed.items() if not value}
    if settings.webhook_secret and not settings.webhook_url:
        rule = "must come with IDEA_WEBHOOK_URL: it signs what is sent there"
        wrong["IDEA_WEBHOOK_SECRET"] = rule
    if settings.allowed_domains and settings.blocked_domains:
        rule = "must be empty where IDEA_ALLOWED_DOMAINS is set: only one list can be in force"
        wrong["IDEA_BLOCKED_DOMAINS"] = rule
    if wrong:
        raise InvalidSettingError(wrong)


CODE_VARIABLES = {f"IDEA_CODE_{f.name.upper()}": f.name for f in fields(limits.CodeLimits)}
