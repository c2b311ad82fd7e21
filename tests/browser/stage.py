"""The API over a store that a test fills with whatever it likes, without a model."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from idea_explorer.api.app import build_handler
from idea_explorer.api.http import LambdaContext
from idea_explorer.api.server import ApiServer
from idea_explorer.api.sign_in import SignInLinks
from idea_explorer.domain.approvals import Approval, Proposal, content_hash
from idea_explorer.domain.events import (
    AnyEvent,
    ApprovalRequested,
    EventUsage,
    MessageStart,
    StatusChanged,
    StepFinished,
    TextDelta,
    ToolCallEnd,
    ToolCallError,
    ToolCallStart,
)
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.json import JsonObject
from idea_explorer.domain.run import Status
from idea_explorer.domain.tokens import dump_tokens, make_token_record
from idea_explorer.domain.tools import ToolRecord
from tests.fakes.api import Api
from tests.fakes.serving import Serving

TOKEN = "a-token-for-the-stage"
OWNER = "ada"
PREFIX = "/dev"


class Stage(Serving):
    _server: ApiServer

    def __init__(self, folder: Path) -> None:
        self.api = Api(folder)
        tokens = dump_tokens([make_token_record(TOKEN, OWNER, now=self.api.clock.now())])
        handle = build_handler(self.api.deps)

        def under_a_prefix(event: Mapping[str, Any], context: LambdaContext) -> dict[str, Any]:
            """As API Gateway does: the stage stands in the address, not in the function's path."""
            path = str(event["path"])
            within = path.removeprefix(PREFIX) or "/" if path.startswith(PREFIX) else path
            return handle({**event, "path": within}, context)

        self.links = SignInLinks(TOKEN, on_used=lambda: None)
        self._server = ApiServer(
            ("127.0.0.1", 0), under_a_prefix, lambda: tokens, sign_in=self.links.redeem
        )
        self.url = self._server.url

    def running(self, **fields: Any) -> Exploration:
        return self.api.run_to(self.api.submitted(OWNER, **fields), "running")

    def ended(self, status: Status = "completed", report: str = "", **fields: Any) -> Exploration:
        ended = self.api.run_to(
            self.api.submitted(OWNER, **fields), status, title=fields.get("idea")
        )
        if report:
            self.api.store.save_report(ended.id, ended.lease, report)
        return ended

    def ask(self, exploration: Exploration, proposals: Iterable[Proposal]) -> Exploration:
        """Let an exploration wait for decisions on changes."""
        for n, proposal in enumerate(proposals):
            approval = Approval(
                id=f"approval-{n}",
                exploration_id=exploration.id,
                call_id=f"call-{n}",
                proposal=proposal,
                requested_at=self.api.clock.now(),
            )
            self.api.approvals.request_approval(approval)
            asked = ApprovalRequested(
                approval_id=approval.id,
                tool_call_id=approval.call_id,
                path=proposal.path,
                description=proposal.description,
                diff=proposal.diff,
                base_sha=proposal.base_sha or "",
                content_hash=proposal.content_hash,
            )
            self.tell(exploration, [asked])
        waiting = exploration.moved("awaiting_approval", at=self.api.clock.now())
        self.api.store.save(waiting)
        self.tell(waiting, [StatusChanged(from_="running", to="awaiting_approval")])
        return waiting

    def tell(self, exploration: Exploration, events: Iterable[AnyEvent]) -> None:
        self.api.emit(exploration, *events)


def called(
    number: int, name: str, given: JsonObject, output: JsonObject
) -> tuple[ToolCallStart, ToolCallEnd]:
    record = ToolRecord(name=name, duration_ms=12, ok=True)
    return (
        ToolCallStart(tool_call_id=f"call-{number}", tool_name=name, input=given),
        ToolCallEnd(
            tool_call_id=f"call-{number}",
            summary=f"{name} found something",
            duration_ms=12,
            output=output,
            record=record,
        ),
    )


def failed(number: int, name: str, given: JsonObject, error: str) -> list[AnyEvent]:
    return [
        ToolCallStart(tool_call_id=f"call-{number}", tool_name=name, input=given),
        ToolCallError(
            tool_call_id=f"call-{number}",
            error=error,
            retryable=False,
            was_retried=False,
            record=ToolRecord(name=name, duration_ms=1, ok=False, error_type="internal_error"),
        ),
    ]


def step(number: int) -> StepFinished:
    usage = EventUsage(
        input_tokens=1_000, output_tokens=100, cache_read_tokens=0, cache_write_tokens=0
    )
    return StepFinished(step=number, usage=usage, cost=0.01, duration_ms=900)


def said(words: str) -> TextDelta:
    return TextDelta(content=words)


def begun(exploration: Exploration) -> MessageStart:
    return MessageStart(message_id="m-1", conversation_id=exploration.id)


def proposed(path: str, content: str, diff: str, description: str) -> Proposal:
    return Proposal(
        path=path,
        kind="edit",
        content=content,
        diff=diff,
        base_sha=None,
        content_hash=content_hash(content),
        description=description,
    )
