"""The routes that list, show, cancel and resume explorations, and send their webhooks again."""

from typing import Annotated, Literal

from pydantic import AfterValidator, ConfigDict, Field

from idea_explorer.agent.prompts import modes
from idea_explorer.api.http import ApiCall, ApiResponse, RequestError
from idea_explorer.api.views import Details, ExplorationList, build_details, build_summary
from idea_explorer.domain.base import DomainModel
from idea_explorer.domain.errors import MissingError
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.playlist import MEDIA_TYPES, Format, export
from idea_explorer.domain.request import CallbackSecret, ResumeRequest, WebhookUrl
from idea_explorer.domain.run import Status
from idea_explorer.domain.toolsets import ToolsetName
from idea_explorer.ports import Filter
from idea_explorer.usecases.cancel import cancel
from idea_explorer.usecases.deps import Deps
from idea_explorer.usecases.find import find, find_readable
from idea_explorer.usecases.notify import API_TIMEOUT_SECONDS, resend, send_test
from idea_explorer.usecases.read_progress import read_progress
from idea_explorer.usecases.resume import resume


def _check_mode(mode: str) -> str:
    if mode not in modes():
        raise ValueError(f"must be one of: {', '.join(modes())}")
    return mode


class ListQuery(DomainModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    status: Status | None = None
    mode: Annotated[str, Field(max_length=40), AfterValidator(_check_mode)] | None = None
    toolset: ToolsetName | None = None
    limit: Annotated[int, Field(ge=1, le=100)] = 20
    cursor: Annotated[str, Field(max_length=500)] | None = None


def list_explorations(call: ApiCall, deps: Deps) -> ApiResponse:
    asked = call.parse_query(ListQuery)
    wanted = Filter(status=asked.status, mode=asked.mode, toolset=asked.toolset)
    page = deps.explorations.page(
        call.owner, wanted, limit=asked.limit, cursor=asked.cursor or None
    )
    listed = [build_summary(exploration) for exploration in page.explorations]
    return ApiResponse(
        200, ExplorationList(explorations=listed, cursor=page.cursor, left_out=page.left_out)
    )


def show_exploration(call: ApiCall, deps: Deps) -> ApiResponse:
    exploration = find(call.path["exploration_id"], call.owner, deps)
    return ApiResponse(200, _describe(exploration, call, deps))


class ReportQuery(DomainModel):
    """`html` is a page to save, which needs no other file; the rest are forms of a playlist. Without a format
    the Accept header chooses between Markdown and the HTML that the console shows."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    format: Format | Literal["html"] | None = None


def show_report(call: ApiCall, deps: Deps) -> ApiResponse:
    wanted = call.parse_query(ReportQuery).format
    exploration = find_readable(call.path["exploration_id"], call.owner, deps)
    try:
        markdown = deps.reports.load_report(exploration.id)
    except MissingError as error:
        raise RequestError(
            404, f"Exploration {exploration.id} is {exploration.status} and has no report."
        ) from error
    if wanted and wanted != "html":
        exported = export(markdown, wanted, exploration.request.toolset)
        return ApiResponse(200, exported, content_type=MEDIA_TYPES[wanted])
    if not wanted and "text/html" not in call.header("accept").lower():
        return ApiResponse(200, markdown, content_type="text/markdown; charset=utf-8")
    # slow to import; only this route needs them
    from idea_explorer.console.markdown import UNPUBLISHED, render_report
    from idea_explorer.console.page import render_page
    from idea_explorer.usecases.claims import explain_claims

    claims = explain_claims(exploration, deps)
    base = exploration.publication.document or UNPUBLISHED
    if wanted:
        html = render_page(exploration.run.title or exploration.request.idea, markdown, claims)
    else:
        html = render_report(markdown, claims, base=base)
    return ApiResponse(200, html, content_type="text/html; charset=utf-8")


def cancel_exploration(call: ApiCall, deps: Deps) -> ApiResponse:
    cancelled = cancel(call.path["exploration_id"], call.owner, deps)
    return ApiResponse(202, _describe(cancelled, call, deps))


def resume_exploration(call: ApiCall, deps: Deps) -> ApiResponse:
    wanted = call.parse_body(ResumeRequest)
    queued = resume(call.path["exploration_id"], call.owner, wanted, deps)
    return ApiResponse(202, _describe(queued, call, deps))


def _describe(exploration: Exploration, call: ApiCall, deps: Deps) -> Details:
    return build_details(exploration, read_progress(exploration, deps), call.prefix)


class WebhookTest(DomainModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    webhook_url: WebhookUrl
    callback_secret: CallbackSecret | None = None


def try_webhook(call: ApiCall, deps: Deps) -> ApiResponse:
    asked = call.parse_body(WebhookTest)
    return ApiResponse(200, send_test(asked.webhook_url, asked.callback_secret, deps))


def resend_webhook(call: ApiCall, deps: Deps) -> ApiResponse:
    exploration = find_readable(call.path["exploration_id"], call.owner, deps)
    resent = resend(exploration.id, deps, timeout=API_TIMEOUT_SECONDS)
    return ApiResponse(200, resent.delivery)
