"""What this deployment asks of every request, beyond what the request's own types can know."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING

from idea_explorer.agent.minimum import minimum_usd
from idea_explorer.agent.prompts import system_prompt
from idea_explorer.domain import limits
from idea_explorer.domain.addresses import check_webhook_address
from idea_explorer.domain.deadline import write_reserve
from idea_explorer.domain.errors import (
    InvalidRequestError,
    MissingError,
    QuotaSpentError,
    UnreadableFileError,
)
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.file_kinds import check_uploaded_kind
from idea_explorer.domain.models import PROFILES, ModelProfile
from idea_explorer.domain.parsed_documents import OFFLINE
from idea_explorer.domain.request import ExploreRequest
from idea_explorer.domain.text import one_line
from idea_explorer.domain.toolsets import TOOLSETS, toolsets_taking
from idea_explorer.domain.usage import Price
from idea_explorer.domain.web_scope import ANYWHERE, WebScope

if TYPE_CHECKING:
    from idea_explorer.ports import Spend, Uploads

ANYTHING = "write anything at all"
RESEARCH = "look anything up and write a short report"
PLAN_SECONDS = 30
NOTHING_TO_SIGN = "must come with 'webhook_url': it signs what is sent there"


@dataclass(frozen=True)
class RequestPolicy:
    min_deadline_seconds: int = limits.MIN_DEADLINE_SECONDS
    model_ids: Mapping[str, str] = field(default_factory=dict)
    prices: Mapping[str, Price] = field(default_factory=dict)
    profiles: Mapping[str, ModelProfile] = field(default_factory=lambda: PROFILES)
    max_cost_usd: float | None = None
    search_tokens: int = 10_000  # budgeted for one web search
    daily_cost_usd: float | None = None
    spend: Spend | None = None
    code_repositories: tuple[str, ...] = ()
    is_own_machine: bool = False  # whether only those who ran an exploration here can ask for it
    uploads: Uploads | None = None
    missing: Mapping[str, str] = field(default_factory=dict)  # by toolset that cannot run here
    web_scope: WebScope = ANYWHERE  # that requests can only narrow
    default_webhook: bool = False  # whether somebody is told who is not named in the request

    def check(self, request: ExploreRequest, owner: str, now: datetime) -> None:
        """Raises InvalidRequestError with the field, or QuotaSpentError."""
        self.check_request(request, owner)
        self.check_quota(owner, now)

    def check_request(self, request: ExploreRequest, owner: str) -> None:
        """All but whether the owner's day can pay, which is no matter where no model will be called."""
        self.check_toolset(request.toolset)
        check_model(request, owner)
        check_fields_count(request)
        system_prompt(request)  # raises for a mode that there is not
        request.scope_within(self.web_scope)
        check_webhook(request)
        self.check_deadline(request.seconds)
        check_time_for_branches(request)
        self.check_effort(request)
        self.check_budget(request)
        self.check_repository(request)
        self.check_files(request, owner)

    def check_toolset(self, toolset: str) -> None:
        if missing := self.missing.get(toolset):
            raise _wrong("toolset", f"{toolset} is not set up here. {missing}")

    def check_repository(self, request: ExploreRequest) -> None:
        """Code is read and changed only where the deployment allows it."""
        if not self._allows(request.repository):
            raise _wrong("repository", "is not among the repositories that may be explored here")

    def check_access(self, exploration: Exploration) -> None:
        """Raises MissingError for an exploration of a repository that may no longer be explored: what it
        read and wrote of the code is as closed as the code itself. On their own machine, with no repository
        set up, people read what they explored with other settings."""
        if not self.may_show(exploration):
            repository = exploration.request.repository
            raise MissingError(
                f"Exploration {exploration.id} is closed: {repository} may not be explored here any more.",
                hint="An operator can allow it again.",
            )

    def may_show(self, exploration: Exploration) -> bool:
        """Whether what an exploration read and wrote may leave the store."""
        has_no_list = self.is_own_machine and not self.code_repositories
        return has_no_list or self._allows(exploration.request.repository)

    def _allows(self, repository: str | None) -> bool:
        known = {name.casefold() for name in self.code_repositories}
        return repository is None or repository.casefold() in known

    def check_effort(self, request: ExploreRequest) -> None:
        """An effort that the model does not take would fail its first call."""
        model_id = self.model_ids.get(request.model)
        if request.effort is None or model_id is None:
            return
        profile = self.profiles.get(model_id)
        if profile is None:
            rule = f"is not known of {model_id}; an operator names its efforts in IDEA_EFFORTS"
            raise _wrong("effort", rule)
        if request.effort not in profile.efforts:
            raise _wrong("effort", f"{model_id} takes {' or '.join(profile.efforts)}")

    def check_deadline(self, seconds: int) -> None:
        if seconds < self.min_deadline_seconds:
            raise _wrong("deadline_seconds", f"must be at least {self.min_deadline_seconds}")

    def check_budget(self, request: ExploreRequest, spent_usd: float = 0.0) -> None:
        """A budget must pay for looking something up and a short report, beside what earlier runs have
        spent of it: a report without research is not worth its price."""
        least, budget = self.least_usd(request), self.limit_of(request)
        if least is None or budget is None:
            return
        if request.max_cost_usd is None and budget < spent_usd + least:
            raise _default_too_small(budget, spent_usd + least)
        _check_least(budget, least, spent_usd, RESEARCH)

    def least_usd(self, request: ExploreRequest) -> float | None:
        """The least that a run needs to look anything up; None if the price is not known."""
        price = self.prices.get(self.model_ids.get(request.model, ""))
        return minimum_usd(request, self.search_tokens, price) if price else None

    def limit_of(self, request: ExploreRequest) -> float | None:
        """What all runs of a request may cost; None where there is no limit."""
        return request.max_cost_usd or self.max_cost_usd

    def check_resume(self, request: ExploreRequest, before: Exploration) -> None:
        """A budget must pay for going on from what was said, which may have become much: for another
        step where the budget ended the last run, for a report everywhere else."""
        spent, budget = before.run.stats.cost_usd or 0.0, self.limit_of(request)
        if before.run.min_resume_usd is None:
            self.check_budget(request, spent)
        elif budget is not None:
            purpose = "look any further" if before.was_short_of_money else ANYTHING
            _check_least(budget, before.run.min_resume_usd, spent, purpose)

    def check_files(self, request: ExploreRequest, owner: str) -> None:
        """A file of a kind that cannot be read is refused now, before anything is paid."""
        if self.uploads:
            for file_id in request.files:
                _check_file(self.uploads, owner, file_id)

    def check_quota(self, owner: str, now: datetime) -> None:
        left = self.left_today(owner, now)
        if left is not None and left <= 0:
            raise QuotaSpentError(
                f"Today's budget of ${self.daily_cost_usd:.2f} is spent, or held for what is running.",
                hint="Try again when that has ended, or tomorrow.",
            )

    def left_today(self, owner: str, now: datetime) -> float | None:
        """What an owner may still spend today; None where there is no limit."""
        if self.daily_cost_usd is None or self.spend is None:
            return None
        return self.daily_cost_usd - self.spend.spent(owner, now.date())


def _check_file(uploads: Uploads, owner: str, file_id: str) -> None:
    try:
        sample = uploads.sample(owner, file_id)
    except MissingError as error:
        rule = f"there is no file {file_id[:60]!r}; send it first"
        raise _wrong("files", rule) from error
    try:
        check_uploaded_kind(sample)
    except UnreadableFileError as error:
        raise _wrong("files", f"{one_line(sample.name, 100)} {error.reason}") from error


def _check_least(budget: float, least_usd: float, spent_usd: float, purpose: str) -> None:
    least = spent_usd + least_usd
    if budget < least:
        sentence = f"must be at least {_rounded_up(least)} to {purpose}"
        told = f"{sentence}; {spent_usd:.3f} is spent already" if spent_usd else sentence
        raise _wrong("max_cost_usd", told)


def _default_too_small(default: float, least: float) -> InvalidRequestError:
    """The person gave no limit, so the sentence is about the one that counts for everybody."""
    message = (
        f"The default limit of ${default:.2f} (IDEA_MAX_COST_USD) is too small for this exploration:"
        f" it takes at least ${_rounded_up(least)} to {RESEARCH}."
    )
    hint = "Set a limit of at least that for it."
    fields = {"max_cost_usd": f"{message} {hint}"}
    return InvalidRequestError(message, hint=hint, fields=fields)


def _rounded_up(usd: float) -> str:
    """So that the number that is told is enough."""
    return f"{math.ceil(usd * 1_000) / 1_000:.3f}"


def check_fields_count(request: ExploreRequest) -> None:
    """A field that would change nothing is an error: whoever sent it expects that it does."""
    spec = request.spec
    fields = {
        name: _only_for(name)
        for name, default in _toolset_field_defaults().items()
        if not spec.takes(name) and getattr(request, name) != default
    }
    if request.callback_secret and not request.webhook_url:
        fields |= {"callback_secret": NOTHING_TO_SIGN}
    if fields:
        sentence = "; ".join(f"'{name}': {message}" for name, message in fields.items())
        raise InvalidRequestError(sentence, fields=fields)


@cache
def _toolset_field_defaults() -> dict[str, object]:
    """The defaults of the fields that only some toolsets take."""
    known = ExploreRequest.model_fields
    return {name: known[name].default for spec in TOOLSETS.values() for name in spec.fields}


def check_time_for_branches(request: ExploreRequest) -> None:
    """Before its time to write, a run with branches needs time to plan and the least that a branch takes."""
    depth = request.depth_limits
    if not (depth and depth.branches):
        return
    needed = PLAN_SECONDS + limits.MIN_DEADLINE_SECONDS
    times = range(needed, limits.MAX_DEADLINE_SECONDS)
    least = next(seconds for seconds in times if seconds - write_reserve(seconds) >= needed)
    if request.seconds < least:
        raise _wrong("deadline_seconds", f"must be at least {least} for the depth {request.depth}")


def check_model(request: ExploreRequest, owner: str) -> None:
    """Nobody else gets a report that no model wrote from a deployment that has one."""
    from idea_explorer.domain.queue_messages import SMOKE_OWNER

    if request.model == OFFLINE and owner != SMOKE_OWNER:
        raise _wrong("model", "offline is only for `idea admin smoke`")


def check_webhook(request: ExploreRequest) -> None:
    """Refuse at once what can be refused without a look-up; the rest is refused on connecting."""
    if wrong := request.webhook_url and check_webhook_address(request.webhook_url):
        raise _wrong("webhook_url", wrong)


def check_takes_files(toolset: str) -> None:
    if toolset not in toolsets_taking("files"):
        raise _wrong("files", _only_for("files"))


def _only_for(name: str) -> str:
    """The rule of a field that only some toolsets take."""
    takers = toolsets_taking(name)
    return f"only the {' or '.join(takers)} toolset {next(iter(takers.values()))}"


def _wrong(field_name: str, message: str) -> InvalidRequestError:
    return InvalidRequestError(f"'{field_name}': {message}", fields={field_name: message})
