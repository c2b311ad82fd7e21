"""Every route of the API: what the resolver serves and what docs/openapi.json describes."""

import platform
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from pydantic import BaseModel

from idea_explorer import __version__
from idea_explorer.api.answer import Answer
from idea_explorer.api.approvals import (
    ApprovalList,
    ApprovalView,
    decide_approval,
    list_approvals,
)
from idea_explorer.api.around import (
    FileAnnouncement,
    SimilarQuestion,
    WebhookTest,
    announce_file,
    find_similar,
    resend_webhook,
    try_webhook,
)
from idea_explorer.api.call import MAX_BODY_BYTES, MAX_DECISION_BYTES, Call
from idea_explorer.api.events import show_events
from idea_explorer.api.explorations import (
    ListQuery,
    cancel_exploration,
    list_explorations,
    resume_exploration,
    show_exploration,
    show_report,
)
from idea_explorer.api.submit import submit_exploration
from idea_explorer.api.views import (
    Announced,
    Details,
    Events,
    Health,
    Listing,
    Reused,
    SimilarList,
    Submitted,
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
    """`answers` are the good ones: contents by status. An `open` route needs no token."""

    method: Literal["GET", "POST"]
    path: str
    handle: Callable[[Call, Deps], Answer]
    summary: str
    answers: Mapping[int, tuple[Content, ...]]
    body: type[BaseModel] | None = None
    query: type[BaseModel] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    open: bool = False
    max_body: int = MAX_BODY_BYTES


def show_health(_call: Call, _deps: Deps) -> Answer:
    python = platform.python_version()
    return Answer(200, Health(service="idea-explorer", version=__version__, python=python))


ONE = "/explorations/<exploration_id>"
ROUTES: tuple[Route, ...] = (
    Route(
        "POST",
        "/explorations",
        submit_exploration,
        "Start an exploration",
        answers={202: (Submitted,), 200: (Reused,)},
        body=ExploreRequest,
        headers={"Idempotency-Key": "a repetition with the same key gets the first answer"},
    ),
    Route(
        "GET",
        "/explorations",
        list_explorations,
        "List your explorations, newest first",
        answers={200: (Listing,)},
        query=ListQuery,
    ),
    Route("GET", ONE, show_exploration, "Show an exploration", answers={200: (Details,)}),
    Route(
        "GET",
        f"{ONE}/events",
        show_events,
        "Follow an exploration live",
        answers={200: ("text/event-stream", Events), 204: (None,)},
        headers={"Last-Event-ID": "the number of the last event seen; what follows it is sent"},
    ),
    Route(
        "GET",
        f"{ONE}/report",
        show_report,
        "Read the report",
        answers={200: ("text/markdown", "text/html")},
    ),
    Route(
        "POST",
        f"{ONE}/cancel",
        cancel_exploration,
        "Stop soon, keeping what is there",
        answers={202: (Details,)},
    ),
    Route(
        "POST",
        f"{ONE}/resume",
        resume_exploration,
        "Go on from the checkpoint of one that ended early",
        answers={202: (Details,)},
        body=ResumeRequest,
    ),
    Route(
        "GET",
        f"{ONE}/approvals",
        list_approvals,
        "See the changes that a run proposes",
        answers={200: (ApprovalList,)},
    ),
    Route(
        "POST",
        f"{ONE}/approvals/<approval_id>",
        decide_approval,
        "Approve a change, also with another content, or reject it",
        answers={200: (ApprovalView,)},
        body=DecisionRequest,
        max_body=MAX_DECISION_BYTES,
    ),
    Route(
        "POST",
        f"{ONE}/webhook",
        resend_webhook,
        "Send the webhook's message once more",
        answers={200: (Delivery,)},
    ),
    Route(
        "POST",
        "/similar",
        find_similar,
        "Find research that is near an idea, without starting anything",
        answers={200: (SimilarList,)},
        body=SimilarQuestion,
    ),
    Route(
        "POST",
        "/files",
        announce_file,
        "Announce a file, and learn how to send it",
        answers={201: (Announced,)},
        body=FileAnnouncement,
    ),
    Route(
        "POST",
        "/webhooks/test",
        try_webhook,
        "Send a signed test message",
        answers={200: (Delivery,)},
        body=WebhookTest,
    ),
    Route("GET", "/health", show_health, "Say the versions", {200: (Health,)}, open=True),
)
