"""The exploration: one unit of work, and the only way its status may change."""

from datetime import datetime, timedelta
from typing import Literal

from pydantic import BaseModel, Field, model_validator

from idea_explorer.domain.base import DomainModel
from idea_explorer.domain.branches import Branch
from idea_explorer.domain.depths import DEPTHS, Depth
from idea_explorer.domain.errors import InvalidTransitionError
from idea_explorer.domain.ids import ExplorationId, new_id
from idea_explorer.domain.json import JsonObject
from idea_explorer.domain.parsed_documents import OFFLINE
from idea_explorer.domain.request import ExploreRequest, ModelName
from idea_explorer.domain.run import FINAL, RESUMABLE, Run, Stats, Status, nest

NEXT: dict[Status, frozenset[Status]] = {
    "queued": frozenset({"running", "failed", "cancelled"}),
    "running": FINAL | {"awaiting_approval"},
    "awaiting_approval": FINAL | {"running"},
    "completed": frozenset(),
    **{status: frozenset({"queued"}) for status in RESUMABLE},
}

# whoever ends the run sends it; after this, assume that nobody did
FIRST_DELIVERY = timedelta(minutes=5)


class Delivery(DomainModel, frozen=True):
    """The delivery of the webhook of a run. It never changes the research."""

    status: Literal["none", "pending", "delivered", "failed"] = "none"
    run: int = 0  # the run that it tells of
    attempts: int = 0
    rounds: int = 0  # of up to three attempts each, by the timetable for a receiver that is down
    last_error: str | None = None
    at: datetime | None = None
    next_try: datetime | None = None


class Publication(DomainModel, frozen=True):
    """Where the report was published. An exploration that has published nothing has an empty one."""

    path: str | None = None  # the document, as a person opens it
    document: str | None = None  # the document, by its path in the repository
    commit: str | None = None
    branch: str | None = None
    url: str | None = None
    notice: str | None = None  # how the result differs from the request, in a sentence
    reused: str | None = None  # the document that answered instead of a run


class Exploration(DomainModel, frozen=True):
    """A record of the store. Changed only by its methods, each of which returns a new one."""

    id: ExplorationId
    owner: str
    request: ExploreRequest
    conversation_id: ExplorationId
    created_at: datetime
    updated_at: datetime
    status: Status = "queued"
    lease: int = 0
    cancel_requested: bool = False
    base_commit: str | None = None  # code: the commit that every run reads
    branch_of: Branch | None = None  # the exploration that this one is a part of
    builds_on: str | None = None  # the document that an update adds to or a follow-up builds on
    run: Run = Field(default_factory=Run)
    publication: Publication = Field(default_factory=Publication)
    delivery: Delivery = Field(default_factory=Delivery)

    @model_validator(mode="before")
    @classmethod
    def _nest_parts(cls, record: object) -> object:
        """Records of version 0.1 had all fields side by side, with the run's number as `run`."""
        if isinstance(record, dict):
            renamed = {"go_on_usd": "min_resume_usd"}
            if isinstance(record.get("run"), int):
                renamed["run"] = "number"
            record = {renamed.get(name, name): value for name, value in record.items()}
        return nest(record, {"run": Run.model_fields, "publication": Publication.model_fields})

    @property
    def model_name(self) -> ModelName:
        """Who is named as its writer: the model that was asked for, unless none was called."""
        return OFFLINE if self.run.model_id == OFFLINE else self.request.model

    @property
    def parent(self) -> ExplorationId | None:
        """The exploration whose branch this is."""
        return self.branch_of.parent if self.branch_of else None

    @property
    def depth(self) -> str | None:
        """How deep it goes; a branch as deep as its run. None for a toolset that has no depths."""
        if self.branch_of:
            return self.branch_of.depth
        return self.request.depth if self.request.depth_limits else None

    @property
    def depth_limits(self) -> Depth | None:
        """What follows from the depth."""
        return DEPTHS[self.depth] if self.depth else None

    @property
    def searches(self) -> int:
        """The most web searches of one answer."""
        depth = self.depth_limits
        return depth.searches if depth else self.request.searches

    def waits_for(self, now: datetime) -> str | None:
        """What a run waits for at this moment, in a sentence."""
        pause = self.run.pause
        return pause.sentence if pause and self.status == "running" and now < pause.until else None

    @property
    def has_branches(self) -> bool:
        """Whether the questions of its plan are researched by explorations of their own."""
        depth = self.request.depth_limits
        return self.branch_of is None and depth is not None and depth.branches > 0

    @property
    def was_short_of_money(self) -> bool:
        """Whether the budget ended it with a report, so that a resume for less would write the same."""
        return self.status == "partial" and self.run.stats.stop_reason == "budget"

    @property
    def is_final(self) -> bool:
        return self.status in FINAL

    @property
    def is_exploring(self) -> bool:
        """Whether it is being researched, as opposed to waiting, being published or having ended."""
        return self.status == "running" and self.run.outcome is None

    @property
    def seconds_worked(self) -> float | None:
        """How long the run took. Waits for a person move its deadline, so they do not count."""
        if self.run.deadline_at is None or self.run.finished_at is None:
            return None
        start = self.run.deadline_at - timedelta(seconds=self.request.seconds)
        return max(0.0, (self.run.finished_at - start).total_seconds())

    @property
    def is_starting(self) -> bool:
        """Whether it may run, or go on after a decision, but no worker has begun with that."""
        has_begun = self.run.deadline_at is not None and self.run.awaiting_since is None
        return self.status == "running" and not has_begun

    @property
    def waiting_since(self) -> datetime | None:
        """Since when it has waited for a worker: to be started, or to go on after a person's decisions.
        None if it does not wait for that, as a branch never does: its parent's slot counts for it."""
        if self.branch_of:
            return None
        match self.status:
            case "queued" if not self.run.by_command:
                return self.updated_at
            case "awaiting_approval":
                return self.run.decided_at
            case _:
                return None

    @property
    def delivery_due(self) -> datetime | None:
        """When the message of the end has to be sent, if whoever was to send it has not by then."""
        if not self.is_final or self.delivery.status != "pending":
            return None
        return self.delivery.next_try or (self.run.finished_at or self.updated_at) + FIRST_DELIVERY

    def stats_json(self, stats: Stats | None = None) -> JsonObject:
        """The stats for people and scripts; single calls only where the request asked for them."""
        return (stats or self.run.stats).as_json(tool_calls=self.request.collect_tool_stats)

    def replace(self, **changes: object) -> "Exploration":
        """A copy with other values of its own fields, of its run's or of its publication's."""
        known = type(self).model_fields
        own = {name: changes.pop(name) for name in list(changes) if name in known}
        parts: dict[str, BaseModel] = {"run": self.run, "publication": self.publication}
        for name, before in parts.items():
            part = own.get(name, before)
            if not isinstance(part, type(before)):
                raise TypeError(f"{name} is a {type(before).__name__}, not {part!r}.")
            fields = type(before).model_fields
            if inner := {key: changes.pop(key) for key in list(changes) if key in fields}:
                own[name] = part.model_copy(update=inner)
        if changes:
            raise TypeError(f"An exploration has no {', '.join(changes)}.")
        return self.model_copy(update=own)

    def moved(self, to: Status, *, at: datetime, **changes: object) -> "Exploration":
        """The exploration in another status; raises InvalidTransitionError where that cannot be."""
        if to not in NEXT[self.status]:
            raise InvalidTransitionError(
                f"Exploration {self.id} is {self.status}; it cannot become {to}."
            )
        return self.replace(status=to, updated_at=at, **changes)

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
        """A new exploration; it starts a conversation unless one is given. With a default webhook its end is
        reported even if the request names no webhook."""
        new = exploration_id or new_id(int(at.timestamp() * 1_000))
        return cls(
            id=new,
            owner=owner,
            request=request,
            conversation_id=conversation_id or new,
            created_at=at,
            updated_at=at,
            run=Run(by_command=by_command),
            delivery=_new_delivery(has_webhook=default_webhook or request.webhook_url is not None),
        )

    @property
    def new_delivery(self) -> Delivery:
        """The delivery of a run that has yet to end."""
        return _new_delivery(has_webhook=self.delivery.status != "none")

    def started(self, *, at: datetime) -> "Exploration":
        return self.moved("running", at=at, started_at=self.run.started_at or at, decided_at=None)

    def finished(self, to: Status, *, at: datetime, **changes: object) -> "Exploration":
        return self.moved(to, at=at, finished_at=at, **changes)


def _new_delivery(*, has_webhook: bool) -> Delivery:
    return Delivery(status="pending" if has_webhook else "none")
