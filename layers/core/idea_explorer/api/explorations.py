"""The routes that show and steer explorations."""

from collections.abc import Iterator
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from idea_explorer.agent.prompts import modes
from idea_explorer.api.answer import Answer
from idea_explorer.api.call import Call
from idea_explorer.api.errors import RequestError
from idea_explorer.api.views import Details, Listing, details_of, summary_of
from idea_explorer.domain.errors import MissingError
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.progress import progress_of
from idea_explorer.domain.request import ResumeRequest, Toolset
from idea_explorer.domain.run import Status
from idea_explorer.ports import Filter
from idea_explorer.usecases.cancel import cancel
from idea_explorer.usecases.find import find
from idea_explorer.usecases.resume import resume
from idea_explorer.usecases.service import Service


def _known_mode(mode: str) -> str:
    if mode not in modes():
        raise ValueError(f"must be one of: {', '.join(modes())}")
    return mode


class ListQuery(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    status: Status | None = None
    mode: Annotated[str, Field(max_length=40), AfterValidator(_known_mode)] | None = None
    toolset: Toolset | None = None
    limit: Annotated[int, Field(ge=1, le=100)] = 20
    cursor: Annotated[str, Field(max_length=500)] | None = None


def list_explorations(call: Call, service: Service) -> Answer:
    asked = call.asked(ListQuery)
    wanted = Filter(status=asked.status, mode=asked.mode, toolset=asked.toolset)
    page = service.explorations.page(
        call.owner, wanted, limit=asked.limit, cursor=asked.cursor or None
    )
    listed = [summary_of(exploration) for exploration in page.explorations]
    return Answer(200, Listing(explorations=listed, cursor=page.cursor))


def show_exploration(call: Call, service: Service) -> Answer:
    return Answer(200, _details(_found(call, service), call, service))


def show_report(call: Call, service: Service) -> Answer:
    exploration = _found(call, service)
    try:
        markdown = service.reports.load_report(exploration.id)
    except MissingError as error:
        raise RequestError(
            404, f"Exploration {exploration.id} is {exploration.status} and has no report."
        ) from error
    if "text/html" not in call.header("accept").lower():
        return Answer(200, markdown, content_type="text/markdown; charset=utf-8")
    from idea_explorer.console.markdown import render_report  # only those who look pay for it

    return Answer(200, render_report(markdown), content_type="text/html; charset=utf-8")


def cancel_exploration(call: Call, service: Service) -> Answer:
    cancelled = cancel(
        call.path["exploration_id"],
        call.owner,
        explorations=service.explorations,
        clock=service.clock,
        wake=service.wake,
        sinks_for=service.sinks_for,
    )
    return Answer(202, _details(cancelled, call, service))


def resume_exploration(call: Call, service: Service) -> Answer:
    wanted = call.parsed(ResumeRequest)
    queued = resume(
        call.path["exploration_id"],
        call.owner,
        wanted,
        explorations=service.explorations,
        queue=service.queue,
        clock=service.clock,
        log=service.log,
        terms=service.terms,
    )
    return Answer(202, _details(queued, call, service))


def _found(call: Call, service: Service) -> Exploration:
    return find(call.path["exploration_id"], call.owner, service.explorations)


def _details(exploration: Exploration, call: Call, service: Service) -> Details:
    progress = progress_of(exploration, _told(exploration, service), service.clock.now())
    return details_of(exploration, progress, call.prefix)


def _told(exploration: Exploration, service: Service) -> Iterator[str]:
    """All events so far, page by page; read only when asked for."""
    after = 0
    while page := service.events.read(exploration.id, after=after):
        yield from (event.data for event in page)
        after = page[-1].number
