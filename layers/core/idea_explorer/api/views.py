"""The bodies of the API's responses. No model here has a field for a secret."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from idea_explorer.domain.base import DomainModel
from idea_explorer.domain.depths import DepthName
from idea_explorer.domain.exploration import Delivery, Exploration
from idea_explorer.domain.json import JsonObject
from idea_explorer.domain.progress import RunProgress
from idea_explorer.domain.request import ModelName
from idea_explorer.domain.run import Receipt, Status
from idea_explorer.domain.similar_research import Similar
from idea_explorer.domain.toolsets import ToolsetName


class SubmissionView(DomainModel):
    """`similar` lists earlier research on similar ideas; null if it could not be looked up."""

    id: str
    status: Literal["queued"] = "queued"
    similar: list[Similar] | None = None


class ReuseView(DomainModel):
    """`reused` is the path of the document that was reused instead of running again."""

    id: str
    status: Literal["completed"] = "completed"
    reused: str


class SimilarList(DomainModel):
    """Most similar first."""

    similar: list[Similar]


class UploadForm(DomainModel):
    """POST a form with these fields and then `file`, or PUT the raw content, as `method` says."""

    method: Literal["POST", "PUT"]
    url: str
    fields: dict[str, str]


class UploadView(DomainModel):
    """Where to upload the file. Then put `file_id` into a request's `files`."""

    file_id: str
    upload: UploadForm


class LinksView(DomainModel):
    """`published` is the report in the team's repository."""

    self_: Annotated[str, Field(alias="self")]
    events: str
    report: str | None = None
    published: str | None = None

    model_config = ConfigDict(populate_by_name=True)


class Summary(DomainModel):
    """An exploration in a list."""

    id: str
    run: int
    status: Status
    idea: str
    toolset: ToolsetName
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


class ExplorationList(DomainModel):
    """One page, newest first. Pass `cursor` to get the next page; it is null on the last one. `left_out` is
    how many of the page another version stored that this one cannot read."""

    explorations: list[Summary]
    cursor: str | None
    left_out: int = 0


class Details(Summary):
    """One exploration. Durations are in milliseconds; `failure` is the receipt if it ended early."""

    depth: DepthName | None = None  # null for a toolset without depths
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
    cost_limit_usd: float | None = None  # what applies, also where the request names no limit
    deadline_seconds: int
    started_at: datetime | None
    deadline_at: datetime | None
    links: LinksView
    failure: Receipt | None
    notice: str | None
    reused: str | None
    delivery: Delivery


class EventView(DomainModel):
    """An event as the stream sends it: its number, and its data with the event's `type`."""

    id: int
    data: JsonObject


class EventList(DomainModel):
    """`over` means that no more events follow unless the exploration is resumed. `retry_ms` is the pause
    before the next call."""

    events: list[EventView]
    last_event_id: int
    over: bool
    retry_ms: int


class HealthView(DomainModel):
    status: Literal["ok"] = "ok"
    service: str
    version: str
    python: str


def build_summary(exploration: Exploration) -> Summary:
    request = exploration.request
    return Summary(
        id=exploration.id,
        run=exploration.run.number,
        status=exploration.status,
        idea=request.idea,
        toolset=request.toolset,
        mode=request.mode,
        model=exploration.model_name,
        title=exploration.run.title,
        verdict=exploration.run.verdict,
        steps_completed=exploration.run.stats.steps,
        cost_usd=exploration.run.stats.cost_usd,
        path=exploration.publication.path,
        created_at=exploration.created_at,
        updated_at=exploration.updated_at,
        finished_at=exploration.run.finished_at,
    )


def build_details(exploration: Exploration, progress: RunProgress, prefix: str) -> Details:
    request, stats = exploration.request, progress.stats
    total = exploration.run.base_steps + request.steps
    summary = build_summary(exploration.replace(stats=stats))
    return Details(
        **summary.model_dump(),
        depth=request.depth if request.depth_limits else None,
        conversation_id=exploration.conversation_id,
        context=request.context,
        repository=request.repository,
        ref=request.ref,
        update=request.update,
        continue_from=request.continue_from,
        cancel_requested=exploration.cancel_requested,
        current_step=_find_current_step(exploration, stats.steps, total),
        current_step_label=progress.label,
        steps_total=total,
        step_durations=list(stats.step_durations),
        stats=exploration.stats_json(stats),
        max_cost_usd=request.max_cost_usd,
        cost_limit_usd=exploration.run.limit_usd or request.max_cost_usd,
        deadline_seconds=request.seconds,
        started_at=exploration.run.started_at,
        deadline_at=exploration.run.deadline_at,
        links=_build_links(exploration, prefix),
        failure=exploration.run.receipt,
        notice=exploration.publication.notice,
        reused=exploration.publication.reused,
        delivery=exploration.delivery,
    )


def _find_current_step(exploration: Exploration, completed: int, total: int) -> int | None:
    if exploration.status == "queued":
        return None
    return completed if exploration.is_final else min(completed + 1, total)


def _build_links(exploration: Exploration, prefix: str) -> LinksView:
    own = f"{prefix}/explorations/{exploration.id}"
    receipt = exploration.run.receipt
    readable = exploration.is_final and (receipt is None or receipt.has_partial_text)
    return LinksView(
        self_=own,
        events=f"{own}/events",
        report=f"{own}/report" if readable else None,
        published=exploration.publication.url,
    )
