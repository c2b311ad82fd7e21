"""The exploration: one unit of work, and the only way its status may change."""

from datetime import date, datetime, timedelta
from typing import Literal

from pydantic import AliasChoices, BaseModel, ConfigDict, Field

from idea_explorer.domain.errors import ErrorCode, InvalidTransitionError
from idea_explorer.domain.ids import ExplorationId, new_id
from idea_explorer.domain.json import JsonObject
from idea_explorer.domain.request import ExploreRequest
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
FINAL: frozenset[Status] = frozenset({"completed", "partial", "failed", "timed_out", "cancelled"})
RESUMABLE: frozenset[Status] = frozenset({"partial", "timed_out", "failed", "cancelled"})

NEXT: dict[Status, frozenset[Status]] = {
    "queued": frozenset({"running", "failed", "cancelled"}),
    "running": FINAL | {"awaiting_approval"},
    "awaiting_approval": FINAL | {"running"},
    "completed": frozenset(),
    **{status: frozenset({"queued"}) for status in RESUMABLE},
}

FIRST_DELIVERY = timedelta(minutes=5)  # who ends a run sends its message; after this nobody did
OFFLINE = "offline"  # the id of the model that is none


class Stats(BaseModel):
    """What a run took. `cost_usd` is None where the model's price is not known.

    `unconfirmed_usd` is that part of it which stands for calls that broke off: the most that they can
    have cost, for nobody said what they did.
    """

    model_config = ConfigDict(frozen=True)

    steps: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    searches: int = 0
    cost_usd: float | None = None
    unconfirmed_usd: float = 0.0
    over_budget_usd: float = 0.0
    stop_reason: str | None = None
    citations: int = 0
    unmatched_citations: int = 0
    step_durations: tuple[int, ...] = ()
    tool_calls: tuple[ToolRecord, ...] = ()

    @property
    def usage(self) -> Usage:
        return Usage(
            input_tokens=self.input_tokens,
            output_tokens=self.output_tokens,
            cache_read_tokens=self.cache_read_tokens,
            cache_write_tokens=self.cache_write_tokens,
            searches=self.searches,
        )


class Receipt(BaseModel):
    """What a person needs after a run that did not complete: where it stopped and how to go on."""

    model_config = ConfigDict(frozen=True)

    code: ErrorCode
    message: str
    step: int
    cost_usd: float | None
    has_partial_text: bool
    resume: str | None
    stage: Literal["explore", "publish"] = "explore"  # a resume goes on from there


class Delivery(BaseModel):
    """How far the news of a run has come. It never changes what the research is."""

    model_config = ConfigDict(frozen=True)

    status: Literal["none", "pending", "delivered", "failed"] = "none"
    run: int = 0  # the run that it tells of
    attempts: int = 0
    rounds: int = 0  # of up to three attempts each, by the timetable for a receiver that is down
    last_error: str | None = None
    at: datetime | None = None
    next_try: datetime | None = None


class Pause(BaseModel):
    """What a run waits for before it goes on by itself."""

    model_config = ConfigDict(frozen=True)

    sentence: str
    until: datetime


class Exploration(BaseModel):
    """A record of the store. Changed only by its methods, each of which returns a new one."""

    model_config = ConfigDict(frozen=True)

    id: ExplorationId
    run: int = 1
    owner: str
    request: ExploreRequest
    status: Status = "queued"
    by_command: bool = False  # the command that asked for this run does it itself: no worker may
    conversation_id: ExplorationId
    created_at: datetime
    updated_at: datetime
    started_at: datetime | None = None
    finished_at: datetime | None = None
    deadline_at: datetime | None = None
    awaiting_since: datetime | None = None  # the deadline's clock stands still from here on
    pause: Pause | None = None
    lease: int = 0
    cancel_requested: bool = False
    stats: Stats = Field(default_factory=Stats)
    outcome: Status | None = None  # what the run came to; the status follows once it is published
    base_cost_usd: float = 0.0  # what earlier runs had cost
    base_steps: int = 0  # steps of earlier runs, which a resumed run does not have to share
    receipt: Receipt | None = None
    # the least that a resume costs, beside what was spent
    min_resume_usd: float | None = Field(
        default=None, validation_alias=AliasChoices("min_resume_usd", "go_on_usd")
    )
    limit_usd: float | None = None  # what all runs may cost, as it was when this one began
    charged_on: date | None = None  # the owner's day that pays for this run; None before it begins
    base_commit: str | None = None  # code: the commit that every run reads
    builds_on: str | None = None  # the document that an update adds to or a follow-up builds on
    path: str | None = None  # the document, as a person opens it
    document: str | None = None  # the document, by its path in the repository
    commit: str | None = None
    branch: str | None = None
    url: str | None = None
    notice: str | None = None  # what turned out otherwise than asked for, in a sentence
    reused: str | None = None  # the document that answered instead of a run
    delivery: Delivery = Field(default_factory=Delivery)
    verdict: str | None = None
    title: str | None = None
    model_id: str | None = None  # what wrote it, once it is written

    @property
    def model_name(self) -> str:
        """Who is named as its writer: the model that was asked for, unless none was called."""
        return OFFLINE if self.model_id == OFFLINE else self.request.model

    def waits_for(self, now: datetime) -> str | None:
        """What a run waits for at this moment, in a sentence."""
        waits = self.pause is not None and self.status == "running" and now < self.pause.until
        return self.pause.sentence if self.pause and waits else None

    @property
    def was_short_of_money(self) -> bool:
        """Whether the budget ended it with a report, so that a resume for less would write the same."""
        return self.status == "partial" and self.stats.stop_reason == "budget"

    @property
    def is_final(self) -> bool:
        return self.status in FINAL

    @property
    def delivery_due(self) -> datetime | None:
        """When the message of the end has to be sent, if whoever was to send it has not by then."""
        if not self.is_final or self.delivery.status != "pending":
            return None
        return self.delivery.next_try or (self.finished_at or self.updated_at) + FIRST_DELIVERY

    def stats_json(self, stats: Stats | None = None) -> JsonObject:
        """The stats for people and scripts; single calls only where the request asked for them."""
        shown = stats or self.stats
        told: JsonObject = shown.model_dump(mode="json", exclude={"tool_calls"})
        if self.request.collect_tool_stats:
            told["tool_calls"] = [record.as_json() for record in shown.tool_calls]
        return told

    def moved(self, to: Status, *, at: datetime, **changes: object) -> "Exploration":
        """The exploration in another status; raises InvalidTransitionError where that cannot be."""
        if to not in NEXT[self.status]:
            raise InvalidTransitionError(
                f"Exploration {self.id} is {self.status}; it cannot become {to}."
            )
        return self.model_copy(update={"status": to, "updated_at": at, **changes})

    @classmethod
    def new(
        cls,
        request: ExploreRequest,
        owner: str,
        *,
        at: datetime,
        exploration_id: ExplorationId | None = None,
        conversation_id: ExplorationId | None = None,
        by_command: bool = False,
        default_webhook: bool = False,
    ) -> "Exploration":
        """One that is asked for now, the first of its conversation unless that is named. With a default
        webhook somebody is told of its end even where the request names nobody."""
        new = exploration_id or new_id(int(at.timestamp() * 1_000))
        return cls(
            id=new,
            owner=owner,
            request=request,
            by_command=by_command,
            conversation_id=conversation_id or new,
            created_at=at,
            updated_at=at,
            delivery=_delivery_of(told=default_webhook or request.webhook_url is not None),
        )

    @property
    def new_delivery(self) -> Delivery:
        """The delivery of a run that has yet to end."""
        return _delivery_of(told=self.delivery.status != "none")

    def started(self, *, at: datetime) -> "Exploration":
        return self.moved("running", at=at, started_at=self.started_at or at)

    def finished(self, to: Status, *, at: datetime, **changes: object) -> "Exploration":
        return self.moved(to, at=at, finished_at=at, **changes)


def _delivery_of(*, told: bool) -> Delivery:
    return Delivery(status="pending" if told else "none")
