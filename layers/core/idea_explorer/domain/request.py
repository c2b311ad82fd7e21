"""The request: one model for API body, queue message and command line."""

import base64
from collections.abc import Callable
from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, ValidationError, ValidationInfo, model_validator

from idea_explorer.domain import limits
from idea_explorer.domain.base import DomainModel
from idea_explorer.domain.depths import DEFAULT_DEPTH, DEPTHS, Depth, DepthName
from idea_explorer.domain.errors import InvalidRequestError
from idea_explorer.domain.ids import ExplorationId, is_id
from idea_explorer.domain.models import RequestEffort
from idea_explorer.domain.names import MAX_REF, check_ref, check_repository_name
from idea_explorer.domain.text import trim
from idea_explorer.domain.toolsets import (
    DEFAULT_TOOLSET,
    TOOLSETS,
    ToolsetName,
    ToolsetSpec,
    toolsets_taking,
)
from idea_explorer.domain.validation_errors import describe_errors
from idea_explorer.domain.web_scope import MAX_DOMAINS, NOT_BOTH, Domain, UserLocation, WebScope

PREFIX = "whsec_"


def key_of(secret: str) -> bytes:
    """The key of the signatures; raises ValueError for a `whsec_` secret that holds none."""
    if not secret.startswith(PREFIX):
        return secret.encode()
    encoded = secret.removeprefix(PREFIX)
    try:
        key = base64.b64decode(encoded + "=" * (-len(encoded) % 4), validate=True)
    except ValueError as error:
        raise ValueError("after whsec_ comes base64") from error
    if not key:
        raise ValueError("after whsec_ comes base64")
    return key


ModelName = Literal["sonnet", "opus", "haiku", "offline"]
IfExists = Literal["run", "reuse"]


def _trimmed(text: str) -> str:
    if not (trimmed := trim(text)):
        raise ValueError("must not be blank")
    if len(trimmed) > limits.MAX_IDEA:
        raise ValueError(f"must be at most {limits.MAX_IDEA:,} characters")
    return trimmed


def _whole_text(text: str) -> str:
    """Refuse lone surrogates: they cannot be stored or sent as UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError("must be valid Unicode text") from error
    return text


def check_id(text: str) -> ExplorationId:
    if not is_id(text):
        raise ValueError("must be an exploration id")
    return ExplorationId(text)


STORED = "stored"  # context that loads a record of an earlier version, whose names had other rules


def _new_name(check: Callable[[str], str]) -> AfterValidator:
    def check_unless_stored(name: str, info: ValidationInfo) -> str:
        return name if info.context == STORED else check(name)

    return AfterValidator(check_unless_stored)


def _with_key(secret: str) -> str:
    key_of(secret)
    return secret


def _https(url: str) -> str:
    try:
        parts = urlsplit(url)
        whole = parts.scheme == "https" and parts.hostname and parts.port != 0
    except ValueError:
        whole = False
    if not whole or any(character <= " " for character in url):
        raise ValueError("must be an https URL")
    return url


Text = Annotated[str, AfterValidator(_whole_text)]
MaxCost = Annotated[float, Field(gt=0, allow_inf_nan=False)]
MaxSteps = Annotated[int, Field(ge=1, le=limits.MAX_STEPS)]
DeadlineSeconds = Annotated[int, Field(ge=1, le=limits.MAX_DEADLINE_SECONDS)]
Idea = Annotated[
    Text,
    Field(json_schema_extra={"minLength": 1, "maxLength": limits.MAX_IDEA}),
    AfterValidator(_trimmed),
]
WebhookUrl = Annotated[Text, Field(max_length=2_048), AfterValidator(_https)]
CallbackSecret = Annotated[
    Text, Field(min_length=1, max_length=limits.MAX_SECRET), AfterValidator(_with_key)
]
RepositoryName = Annotated[
    Text,
    Field(json_schema_extra={"pattern": r"^[A-Za-z0-9][A-Za-z0-9_-]{0,38}/[A-Za-z0-9_.-]{1,100}$"}),
    _new_name(check_repository_name),
]
Ref = Annotated[
    Text, Field(json_schema_extra={"minLength": 1, "maxLength": MAX_REF}), _new_name(check_ref)
]


Domains = Annotated[tuple[Domain, ...], Field(max_length=MAX_DOMAINS, strict=False)]


# In a loaded record, in place of a secret that is encrypted with a key which is not at hand.
UNREADABLE_SECRET = "(unreadable)"  # noqa: S105  it is none  # nosec B105


class ExploreRequest(DomainModel, extra="forbid", frozen=True, strict=True):
    """What a person may ask for. Unknown fields are errors; `secret` fields never leave the record."""

    idea: Idea
    toolset: ToolsetName = DEFAULT_TOOLSET
    mode: Annotated[Text, Field(pattern=r"^[a-z][a-z0-9_-]{0,39}$")] = "business"
    depth: DepthName = DEFAULT_DEPTH
    review_plan: bool = False
    model: ModelName = "sonnet"
    effort: RequestEffort | None = None
    context: Annotated[Text, Field(max_length=limits.MAX_CONTEXT)] | None = None
    update: bool = False
    continue_from: Annotated[str, AfterValidator(check_id)] | None = None
    if_exists: IfExists = "run"
    collect_tool_stats: bool = False
    max_cost_usd: MaxCost | None = None
    max_steps: MaxSteps | None = None
    deadline_seconds: DeadlineSeconds | None = None
    webhook_url: WebhookUrl | None = None
    callback_secret: CallbackSecret | None = Field(
        default=None, repr=False, json_schema_extra={"writeOnly": True}
    )
    repository: RepositoryName | None = None
    ref: Ref | None = None
    files: Annotated[tuple[Text, ...], Field(max_length=limits.MAX_FILES, strict=False)] = ()
    allow_fetch_after_private: bool = False
    allowed_domains: Domains = ()
    blocked_domains: Domains = ()
    user_location: Annotated[UserLocation, Field(strict=False)] | None = None

    @model_validator(mode="after")
    def _not_both(self) -> Self:
        if self.update and self.continue_from:
            raise ValueError("Cannot use both 'update' and 'continue_from'.")
        if self.allowed_domains and self.blocked_domains:
            raise ValueError(NOT_BOTH)
        if self.update and not self.spec.takes("update"):
            takers = " or ".join(toolsets_taking("update"))
            raise ValueError(f"'update' is for the {takers} toolset.")
        if self.review_plan and self.depth_limits and not self.plans:
            planning = " or ".join(name for name, depth in DEPTHS.items() if depth.plans)
            raise ValueError(f"'review_plan' needs a plan: use the depth {planning}.")
        return self

    @property
    def depth_limits(self) -> Depth | None:
        """What follows from the depth; None for a toolset that has no depths."""
        return DEPTHS[self.depth] if self.spec.takes("depth") else None

    @property
    def plans(self) -> bool:
        """Whether a plan comes before the research."""
        return self.depth_limits is not None and self.depth_limits.plans

    @property
    def steps(self) -> int:
        depth = self.depth_limits
        return self.max_steps or (depth.steps if depth else self.spec.default_steps)

    @property
    def seconds(self) -> int:
        """From its start to its deadline."""
        depth = self.depth_limits
        default = depth.deadline_seconds if depth else self.spec.default_seconds
        return self.deadline_seconds or default

    def scope_within(self, settings: WebScope) -> WebScope:
        """Where on the web it may look: within the lists of the settings, which it can only narrow. Its
        location replaces theirs. Raises InvalidRequestError where nothing is left."""
        asked = WebScope(self.allowed_domains, self.blocked_domains, self.user_location)
        try:
            return settings.narrow(asked)
        except ValueError as error:
            name = "allowed_domains" if self.allowed_domains else "blocked_domains"
            raise InvalidRequestError(f"'{name}': {error}", fields={name: str(error)}) from error

    @property
    def wanted_effort(self) -> RequestEffort | None:
        """None: the model's own."""
        depth = self.depth_limits
        return self.effort or (depth.effort if depth else None)

    @property
    def searches(self) -> int:
        """The most web searches of one answer."""
        depth = self.depth_limits
        return depth.searches if depth else limits.MAX_SEARCHES_PER_CALL

    @property
    def spec(self) -> ToolsetSpec:
        return TOOLSETS[self.toolset]


class ResumeRequest(DomainModel, extra="forbid", frozen=True, strict=True):
    """New limits for a run that goes on; what is left out stays as it was."""

    max_steps: MaxSteps | None = None
    max_cost_usd: MaxCost | None = None
    deadline_seconds: DeadlineSeconds | None = None


def invalid_request(error: ValidationError) -> InvalidRequestError:
    """What was found as one sentence and a table by field, without echoing any value."""
    fields = describe_errors(error)
    sentence = "; ".join(
        f"'{name}': {message}" if name else message for name, message in fields.items()
    )
    return InvalidRequestError(sentence, fields=fields)
