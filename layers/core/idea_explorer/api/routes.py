"""Every route of the API. app.py serves them and docs/openapi.json describes them.

Handlers and models go by name and are loaded when they are used: a call needs those of its own route.
"""

import platform
from collections.abc import Callable, Mapping
from dataclasses import field
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from idea_explorer import __version__
from idea_explorer.api.http import MAX_BODY_BYTES, MAX_DECISION_BYTES, ApiCall, ApiResponse
from idea_explorer.domain.dataclass import dataclass

if TYPE_CHECKING:
    from pydantic import BaseModel

    from idea_explorer.usecases.deps import Deps

Name: TypeAlias = str  # module:name, below idea_explorer
Content: TypeAlias = (
    "type[BaseModel] | str | None"  # JSON of a model, another media type, or nothing
)


@dataclass(frozen=True)
class Route:
    """`returns` are the successful responses: contents by status. A `public` route needs no token."""

    method: Literal["GET", "POST"]
    path: str
    handler: Name
    summary: str
    returns: Mapping[int, tuple[Name | None, ...]]
    takes: Name | None = None
    asks: Name | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    public: bool = False
    max_body: int = MAX_BODY_BYTES

    @property
    def handle(self) -> "Callable[[ApiCall, Deps], ApiResponse]":
        found: Callable[[ApiCall, Deps], ApiResponse] = _load(self.handler)
        return found

    @property
    def body(self) -> "type[BaseModel] | None":
        return _load(self.takes) if self.takes else None

    @property
    def query(self) -> "type[BaseModel] | None":
        return _load(self.asks) if self.asks else None

    @property
    def responses(self) -> "Mapping[int, tuple[Content, ...]]":
        return {
            status: tuple(_load(name) if name and ":" in name else name for name in contents)
            for status, contents in self.returns.items()
        }


def _load(name: Name) -> Any:
    return resolve_name(f"idea_explorer.{name}")


def show_health(_call: ApiCall, _deps: "Deps") -> ApiResponse:
    from idea_explorer.api.views import HealthView

    python = platform.python_version()
    return ApiResponse(200, HealthView(service="idea-explorer", version=__version__, python=python))


ONE = "/explorations/<exploration_id>"
ROUTES: tuple[Route, ...] = (
    Route(
        "POST",
        "/explorations",
        "api.submit:submit_exploration",
        "Start an exploration",
        returns={202: ("api.views:SubmissionView",), 200: ("api.views:ReuseView",)},
        takes="domain.request:ExploreRequest",
        headers={"Idempotency-Key": "a repeated request with the same key gets the first response"},
    ),
    Route(
        "POST",
        "/explorations/estimate",
        "api.estimates:estimate_exploration",
        "Estimate cost and duration without starting an exploration",
        returns={200: ("domain.estimate:Estimate",)},
        takes="domain.request:ExploreRequest",
    ),
    Route(
        "GET",
        "/explorations",
        "api.explorations:list_explorations",
        "List your explorations, newest first",
        returns={200: ("api.views:ExplorationList",)},
        asks="api.explorations:ListQuery",
    ),
    Route(
        "GET",
        ONE,
        "api.explorations:show_exploration",
        "Show an exploration",
        returns={200: ("api.views:Details",)},
    ),
    Route(
        "GET",
        f"{ONE}/events",
        "api.events:show_events",
        "Follow an exploration live",
        returns={200: ("text/event-stream", "api.views:EventList"), 204: (None,)},
        asks="api.events:EventsQuery",
        headers={"Last-Event-ID": "the number of the last event received; later ones are sent"},
    ),
    Route(
        "GET",
        f"{ONE}/report",
        "api.explorations:show_report",
        "Read the report",
        returns={
            200: (
                "text/markdown",
                "text/html",
                "audio/x-mpegurl",
                "text/csv",
                "domain.playlist:Playlist",
            )
        },
        asks="api.explorations:ReportQuery",
    ),
    Route(
        "POST",
        f"{ONE}/cancel",
        "api.explorations:cancel_exploration",
        "Stop an exploration and keep what it has found",
        returns={202: ("api.views:Details",)},
    ),
    Route(
        "POST",
        f"{ONE}/resume",
        "api.explorations:resume_exploration",
        "Resume an exploration that ended early from its checkpoint",
        returns={202: ("api.views:Details",)},
        takes="domain.request:ResumeRequest",
    ),
    Route(
        "GET",
        f"{ONE}/approvals",
        "api.approvals:list_approvals",
        "List the changes that a run proposes",
        returns={200: ("api.approvals:ApprovalList",)},
    ),
    Route(
        "POST",
        f"{ONE}/approvals/<approval_id>",
        "api.approvals:decide_approval",
        "Approve a change, optionally edited or in part, or reject it",
        returns={200: ("api.approvals:ApprovalView",)},
        takes="usecases.approvals.decide:DecisionRequest",
        max_body=MAX_DECISION_BYTES,
    ),
    Route(
        "POST",
        f"{ONE}/approvals/<approval_id>/preview",
        "api.approvals:preview_approval",
        "Show the diff of a change as edited, without deciding",
        returns={200: ("api.approvals:ApprovalPreview",)},
        takes="usecases.approvals.decide:EditRequest",
        max_body=MAX_DECISION_BYTES,
    ),
    Route(
        "POST",
        f"{ONE}/webhook",
        "api.explorations:resend_webhook",
        "Send the webhook message again",
        returns={200: ("domain.exploration:Delivery",)},
    ),
    Route(
        "POST",
        "/similar",
        "api.submit:find_similar",
        "Find similar research without starting an exploration",
        returns={200: ("api.views:SimilarList",)},
        takes="api.submit:SimilarQuestion",
    ),
    Route(
        "GET",
        "/research",
        "api.research:list_research",
        "List or search the team's research, newest first",
        returns={200: ("api.research:ResearchList",)},
        asks="api.research:ResearchQuery",
    ),
    Route(
        "GET",
        "/research/document",
        "api.research:show_document",
        "Read a document of the team's research",
        returns={200: ("text/markdown", "text/html", "api.research:DocumentView")},
        asks="api.research:DocumentQuery",
    ),
    Route(
        "GET",
        "/spend",
        "api.spend:show_spend",
        "Show what your explorations have cost, by day and by toolset",
        returns={200: ("domain.spend_summary:SpendSummary",)},
        asks="api.spend:SpendQuery",
    ),
    Route(
        "POST",
        "/files",
        "api.submit:announce_file",
        "Announce a file and get a form to upload it with",
        returns={201: ("api.views:UploadView",)},
        takes="api.submit:FileAnnouncement",
    ),
    Route(
        "POST",
        "/webhooks/test",
        "api.explorations:try_webhook",
        "Send a signed test message",
        returns={200: ("domain.exploration:Delivery",)},
        takes="api.explorations:WebhookTest",
    ),
    Route(
        "GET",
        "/health",
        "api.routes:show_health",
        "Check health and show versions",
        {200: ("api.views:HealthView",)},
        public=True,
    ),
)
CONSOLE_ROUTES: tuple[Route, ...] = (
    Route("GET", "/", "api.console:show_page", "The console", returns={}, public=True),
    Route(
        "GET",
        "/console/<name>",
        "api.console:show_asset",
        "A file of the console",
        returns={},
        public=True,
    ),
)
