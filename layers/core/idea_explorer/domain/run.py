"""One run of an exploration: its cost, its outcome and how to resume it."""

from collections.abc import Collection, Mapping
from dataclasses import asdict, fields
from datetime import date, datetime
from typing import Literal

from pydantic import AliasChoices, Field, model_validator

from idea_explorer.domain.base import DomainModel
from idea_explorer.domain.branches import BranchRun
from idea_explorer.domain.claims import Verification
from idea_explorer.domain.errors import ErrorCode
from idea_explorer.domain.ids import ExplorationId
from idea_explorer.domain.json import JsonObject
from idea_explorer.domain.tools import ToolRecord
from idea_explorer.domain.usage import Usage

Status = Literal[
    "queued",
    "running",
    "awaiting_approval",
    "completed",
    "partial",
    "failed",
    "timed_out",
    "cancelled",
]
Stage = Literal["explore", "publish"]

FINAL: frozenset[Status] = frozenset({"completed", "partial", "failed", "timed_out", "cancelled"})
NO_PLAN = "plan_not_accepted"  # why a run stopped whose plan a person wanted to see
RESUMABLE: frozenset[Status] = frozenset({"partial", "timed_out", "failed", "cancelled"})


def nest(record: object, parts: Mapping[str, Collection[str]]) -> object:
    """A flat record with the fields of each part gathered under the part's name."""
    if not isinstance(record, dict) or all(map(record.keys().isdisjoint, parts.values())):
        return record
    flat = dict(record)
    for name, part in parts.items():
        found = {key: flat.pop(key) for key in part if key in flat}
        known = flat.get(name, {})
        if found and not isinstance(known, dict):
            raise ValueError(f"{', '.join(found)}: belong to '{name}', which is given as well")
        if found:
            flat[name] = {**found, **known}
    return flat


class Stats(DomainModel, frozen=True):
    """What the runs of an exploration took so far. `cost_usd` is None where the price is not known.
    `unconfirmed_usd` is the part of it that stands for calls that failed before they said what they cost:
    the most that they can have cost."""

    steps: int = 0
    usage: Usage = Field(default_factory=Usage)
    cost_usd: float | None = None
    unconfirmed_usd: float = 0.0
    over_budget_usd: float = 0.0
    stop_reason: str | None = None
    citations: int = 0
    unmatched_citations: int = 0
    verification: Verification | None = None  # of the cited sentences; None where none was made
    private_text_read: bool = False  # from then on only addresses open that the request names
    step_durations: tuple[int, ...] = ()
    tool_calls: tuple[ToolRecord, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _nest_usage(cls, record: object) -> object:
        """Records of version 0.1 had the token counts among the other fields."""
        return nest(record, {"usage": [field.name for field in fields(Usage)]})

    def as_json(self, *, tool_calls: bool) -> JsonObject:
        """The stats for people and scripts, who know the token counts as fields of the stats."""
        shown: JsonObject = self.model_dump(mode="json", exclude={"usage", "tool_calls"})
        shown |= asdict(self.usage)
        if not self.private_text_read:
            del shown["private_text_read"]
        if self.verification is None:
            del shown["verification"]
        if tool_calls:
            shown["tool_calls"] = [record.as_json() for record in self.tool_calls]
        return shown


class Receipt(DomainModel, frozen=True):
    """What a person needs after a run that did not complete: where it stopped and how to go on."""

    code: ErrorCode
    message: str
    step: int
    cost_usd: float | None
    has_partial_text: bool
    resume: str | None
    stage: Stage = "explore"  # a resume goes on from there

    @classmethod
    def of(
        cls,
        exploration_id: ExplorationId,
        code: ErrorCode,
        message: str,
        *,
        stats: Stats | None = None,
        has_text: bool = False,
        resumable: bool = True,
        stage: Stage = "explore",
    ) -> "Receipt":
        """The receipt of a run that took `stats`; without them, of one that never began."""
        return cls(
            code=code,
            message=message,
            step=stats.steps if stats else 0,
            cost_usd=stats.cost_usd if stats else None,
            has_partial_text=has_text,
            resume=f"idea resume {exploration_id}" if resumable else None,
            stage=stage,
        )


class Pause(DomainModel, frozen=True):
    """What a run waits for before it goes on by itself."""

    sentence: str
    until: datetime


class Run(DomainModel, frozen=True):
    """The run that an exploration is in, or has ended with. A resume starts the next one."""

    number: int = 1
    by_command: bool = False  # the command that asked for this run does it itself: no worker may
    started_at: datetime | None = None  # when the first run began
    finished_at: datetime | None = None
    deadline_at: datetime | None = None
    awaiting_since: datetime | None = None  # waiting for approval does not use up the deadline
    decided_at: datetime | None = None  # since when everything is decided, while it awaits approval
    pause: Pause | None = None
    branches: tuple[BranchRun, ...] = ()  # that it waits for; their ends let it go on
    stats: Stats = Field(default_factory=Stats)  # of all runs so far
    outcome: Status | None = None  # becomes the status once the report is published
    base_cost_usd: float = 0.0  # what earlier runs cost
    base_steps: int = 0  # steps of earlier runs, which do not count against this one's limit
    receipt: Receipt | None = None
    # the least that a resume costs, beside what was spent
    min_resume_usd: float | None = Field(
        default=None, validation_alias=AliasChoices("min_resume_usd", "go_on_usd")
    )
    limit_usd: float | None = None  # what all runs may cost, as it was when this one began
    charged_on: date | None = None  # the owner's day that pays for this run; None before it begins
    verdict: str | None = None
    title: str | None = None
    model_id: str | None = None  # the model that wrote the report, once it is written

    def next(self, *, by_command: bool, outcome: Status | None) -> "Run":
        """The run after this one. `outcome` is that of a report which only has to be published."""
        return Run(
            number=self.number + 1,
            by_command=by_command,
            started_at=self.started_at,
            stats=self.stats,
            outcome=outcome,
            base_cost_usd=self.stats.cost_usd or 0.0,
            base_steps=self.stats.steps,
            min_resume_usd=self.min_resume_usd,
            verdict=self.verdict,
            title=self.title,
            model_id=self.model_id,
        )
