"""What the API answers with. Secrets have no field here, so none can be sent."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from idea_explorer.domain.exploration import Delivery, Exploration
from idea_explorer.domain.json import JsonObject
from idea_explorer.domain.progress import Progress
from idea_explorer.domain.request import ModelName, Toolset
from idea_explorer.domain.run import Receipt, Status
from idea_explorer.domain.similar_research import Similar


class Submitted(BaseModel):
    """`similar` is research that is near the idea; null where that is not known."""

    id: str
    status: Literal["queued"] = "queued"
    similar: list[Similar] | None = None


class Reused(BaseModel):
    """`reused` is the document that answers instead of a run."""

    id: str
    status: Literal["completed"] = "completed"
    reused: str


class SimilarList(BaseModel):
    """Nearest first."""

    similar: list[Similar]


class UploadForm(BaseModel):
    """POST a form of these fields and then `file`, or PUT the content as it is."""

    method: Literal["POST", "PUT"]
    url: str
    fields: dict[str, str]


class Announced(BaseModel):
    """A file that may now be sent; then its id can stand in a request's `files`."""

    file_id: str
    upload: UploadForm


class Links(BaseModel):
    """Where to read on. `published` is the report in the team's repository."""

    self_: Annotated[str, Field(alias="self")]
    events: str
    report: str | None = None
    published: str | None = None

    model_config = ConfigDict(populate_by_name=True)


class Summary(BaseModel):
    """One line of the list."""

    id: str
    run: int
    status: Status
    idea: str
    toolset: Toolset
    mode: str
    model: ModelName
    title: str | None
    verdict: str | None
    steps_completed: int
    cost_usd: float | None
    path: str | None
    created_at: datetime
    updated_at: datetime
    finished_at: datetime | None


class Listing(BaseModel):
    """A page, newest first. `cursor` asks for the next, and is null on the last."""

    explorations: list[Summary]
    cursor: str | None


class Details(Summary):
    """One exploration. Durations are in milliseconds; `failure` is the receipt of one that ended early."""

    conversation_id: str
    context: str | None
    repository: str | None = None
    ref: str | None = None
    update: bool
    continue_from: str | None
    cancel_requested: bool
    current_step: int | None
    current_step_label: str
    steps_total: int
    step_durations: list[int]
    stats: JsonObject
    max_cost_usd: float | None
    deadline_seconds: int
    started_at: datetime | None
    deadline_at: datetime | None
    links: Links
    failure: Receipt | None
    notice: str | None
    reused: str | None
    delivery: Delivery


class Event(BaseModel):
    """An event as the stream sends it: its number and its data, which names its `type`."""

    id: int
    data: JsonObject


class Events(BaseModel):
    """`over` where nothing follows, as long as nobody resumes the exploration."""

    events: list[Event]
    last_event_id: int
    over: bool


class Health(BaseModel):
    status: Literal["ok"] = "ok"
    service: str
    version: str
    python: str


def summary_of(exploration: Exploration) -> Summary:
    request = exploration.request
    return Summary(
        id=exploration.id,
        run=exploration.run.number,
        status=exploration.status,
        idea=request.idea,
        toolset=request.toolset,
        mode=request.mode,
        model=request.model,
        title=exploration.run.title,
        verdict=exploration.run.verdict,
        steps_completed=exploration.run.stats.steps,
        cost_usd=exploration.run.stats.cost_usd,
        path=exploration.publication.path,
        created_at=exploration.created_at,
        updated_at=exploration.updated_at,
        finished_at=exploration.run.finished_at,
    )


def details_of(exploration: Exploration, progress: Progress, prefix: str) -> Details:
    request, stats = exploration.request, progress.stats
    total = exploration.run.base_steps + request.steps
    summary = summary_of(exploration.replace(stats=stats))
    return Details(
        **summary.model_dump(),
        conversation_id=exploration.conversation_id,
        context=request.context,
        repository=request.repository,
        ref=request.ref,
        update=request.update,
        continue_from=request.continue_from,
        cancel_requested=exploration.cancel_requested,
        current_step=_current_step(exploration, stats.steps, total),
        current_step_label=progress.label,
        steps_total=total,
        step_durations=list(stats.step_durations),
        stats=exploration.stats_json(stats),
        max_cost_usd=request.max_cost_usd,
        deadline_seconds=request.deadline_seconds,
        started_at=exploration.run.started_at,
        deadline_at=exploration.run.deadline_at,
        links=_links(exploration, prefix),
        failure=exploration.run.receipt,
        notice=exploration.publication.notice,
        reused=exploration.publication.reused,
        delivery=exploration.delivery,
    )


def _current_step(exploration: Exploration, completed: int, total: int) -> int | None:
    if exploration.status == "queued":
        return None
    return completed if exploration.is_final else min(completed + 1, total)


def _links(exploration: Exploration, prefix: str) -> Links:
    own = f"{prefix}/explorations/{exploration.id}"
    receipt = exploration.run.receipt
    readable = exploration.is_final and (receipt is None or receipt.has_partial_text)
    return Links(
        self_=own,
        events=f"{own}/events",
        report=f"{own}/report" if readable else None,
        published=exploration.publication.url,
    )
