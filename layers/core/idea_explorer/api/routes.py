"""Every route of the API. app.py serves them and docs/openapi.json describes them."""

import platform
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from pydantic import BaseModel

from idea_explorer import __version__
from idea_explorer.api.approvals import (
    ApprovalList,
    ApprovalView,
    decide_approval,
    list_approvals,
)
from idea_explorer.api.events import show_events
from idea_explorer.api.explorations import (
    ListQuery,
    WebhookTest,
    cancel_exploration,
    list_explorations,
    resend_webhook,
    resume_exploration,
    show_exploration,
    show_report,
    try_webhook,
)
from idea_explorer.api.http import MAX_BODY_BYTES, MAX_DECISION_BYTES, ApiCall, ApiResponse
from idea_explorer.api.submit import (
    FileAnnouncement,
    SimilarQuestion,
    announce_file,
    find_similar,
    submit_exploration,
)
from idea_explorer.api.views import (
    Details,
    EventList,
    ExplorationList,
    HealthView,
    ReuseView,
    SimilarList,
    SubmissionView,
    UploadView,
)
from idea_explorer.domain.exploration import Delivery
from idea_explorer.domain.request import ExploreRequest, ResumeRequest
from idea_explorer.usecases.approvals.decide import DecisionRequest
from idea_explorer.usecases.deps import Deps

Content: TypeAlias = (
    type[BaseModel] | Literal["text/markdown", "text/html", "text/event-stream"] | None
)


@dataclass(frozen=True)
class Route:
    """`responses` are the successful ones: contents by status. A `public` route needs no token."""

    method: Literal["GET", "POST"]
    path: str
    handle: Callable[[ApiCall, Deps], ApiResponse]
    summary: str
    responses: Mapping[int, tuple[Content, ...]]
    body: type[BaseModel] | None = None
    query: type[BaseModel] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    public: bool = False
    max_body: int = MAX_BODY_BYTES


def show_health(_call: ApiCall, _deps: Deps) -> ApiResponse:
    python = platform.python_version()
    return ApiResponse(200, HealthView(service="idea-explorer", version=__version__, python=python))


ONE = "/explorations/<exploration_id>"
ROUTES: tuple[Route, ...] = (
    Route(
        "POST",
        "/explorations",
        submit_exploration,
        "Start an exploration",
        responses={202: (SubmissionView,), 200: (ReuseView,)},
        body=ExploreRequest,
        headers={"Idempotency-Key": "a repeated request with the same key gets the first response"},
    ),
    Route(
        "GET",
        "/explorations",
        list_explorations,
        "List your explorations, newest first",
        responses={200: (ExplorationList,)},
        query=ListQuery,
    ),
    Route("GET", ONE, show_exploration, "Show an exploration", responses={200: (Details,)}),
    Route(
        "GET",
        f"{ONE}/events",
        show_events,
        "Follow an exploration live",
        responses={200: ("text/event-stream", EventList), 204: (None,)},
        headers={"Last-Event-ID": "the number of the last event received; later ones are sent"},
    ),
    Route(
        "GET",
        f"{ONE}/report",
        show_report,
        "Read the report",
        responses={200: ("text/markdown", "text/html")},
    ),
    Route(
        "POST",
        f"{ONE}/cancel",
        cancel_exploration,
        "Stop an exploration and keep what it has found",
        responses={202: (Details,)},
    ),
    Route(
        "POST",
        f"{ONE}/resume",
        resume_exploration,
        "Resume an exploration that ended early from its checkpoint",
        responses={202: (Details,)},
        body=ResumeRequest,
    ),
    Route(
        "GET",
        f"{ONE}/approvals",
        list_approvals,
        "List the changes that a run proposes",
        responses={200: (ApprovalList,)},
    ),
    Route(
        "POST",
        f"{ONE}/approvals/<approval_id>",
        decide_approval,
        "Approve a change, optionally with edited content, or reject it",
        responses={200: (ApprovalView,)},
        body=DecisionRequest,
        max_body=MAX_DECISION_BYTES,
    ),
    Route(
        "POST",
        f"{ONE}/webhook",
        resend_webhook,
        "Send the webhook message again",
        responses={200: (Delivery,)},
    ),
    Route(
        "POST",
        "/similar",
        find_similar,
        "Find similar research without starting an exploration",
        responses={200: (SimilarList,)},
        body=SimilarQuestion,
    ),
    Route(
        "POST",
        "/files",
        announce_file,
        "Announce a file and get a form to upload it with",
        responses={201: (UploadView,)},
        body=FileAnnouncement,
    ),
    Route(
        "POST",
        "/webhooks/test",
        try_webhook,
        "Send a signed test message",
        responses={200: (Delivery,)},
        body=WebhookTest,
    ),
    Route(
        "GET",
        "/health",
        show_health,
        "Check health and show versions",
        {200: (HealthView,)},
        public=True,
    ),
)
