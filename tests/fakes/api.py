"""The API in process: API Gateway's events in, answers out, over a real SQLite store."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

from idea_explorer.adapters.folder.research import Folder
from idea_explorer.adapters.sqlite.explorations import SqliteStore
from idea_explorer.adapters.sqlite.texts import SqliteApprovals
from idea_explorer.adapters.uploads import LocalUploads
from idea_explorer.api.app import build_handler
from idea_explorer.api.gateway import build_gateway_event
from idea_explorer.domain.errors import ExternalError
from idea_explorer.domain.events import AnyEvent, StatusChanged
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.ids import ExplorationId
from idea_explorer.domain.run import Status
from idea_explorer.ports import Explorations, ResearchIndex, WorkQueue
from idea_explorer.usecases.request_policy import RequestPolicy
from tests.fakes.clock import ManualClock
from tests.fakes.deps import make_deps
from tests.fakes.engine import RecordedLog
from tests.fakes.service import FakeQueue

DAY_USD = 1.0  # what each owner may spend in a day


@dataclass(frozen=True)
class Reply:
    status: int
    headers: dict[str, str]
    text: str

    @property
    def json(self) -> Any:
        return json.loads(self.text)

    @property
    def error(self) -> dict[str, Any]:
        """The error, after a look at its shape."""
        body = self.json
        assert list(body) == ["error"]
        error: dict[str, Any] = body["error"]
        assert {"type", "message"} <= error.keys() <= {"type", "message", "details"}
        assert all(detail.keys() == {"field", "message"} for detail in error.get("details", []))
        return error

    @property
    def fields(self) -> dict[str, str]:
        return {detail["field"]: detail["message"] for detail in self.error["details"]}


@dataclass
class FakeContext:
    seconds: float = 28.0

    def get_remaining_time_in_millis(self) -> int:
        return int(self.seconds * 1_000)


@dataclass
class FakeWebhooks:
    """Receivers that take everything, or refuse it while `failure` is set."""

    posted: list[tuple[str, bytes, Mapping[str, str]]] = field(default_factory=list)
    failure: ExternalError | None = None

    def post(self, url: str, body: bytes, headers: Mapping[str, str], timeout: float) -> int:
        if self.failure:
            raise self.failure
        self.posted.append((url, body, headers))
        return 204


class Api:
    def __init__(
        self,
        folder: Path,
        queue: WorkQueue | None = None,
        explorations: Explorations | None = None,
        index: Callable[[], ResearchIndex] | None = None,
    ) -> None:
        self.folder = folder
        self.documents = Folder(folder)
        self.webhooks = FakeWebhooks()
        self.uploads = LocalUploads(folder)
        self.store = SqliteStore(folder / "store.db")
        self.queue = FakeQueue()
        self.clock = ManualClock()
        self.log = RecordedLog()
        self.context = FakeContext()
        self.approvals = SqliteApprovals(folder / "store.db")
        self.woken: list[str] = []
        self.deps = make_deps(
            folder,
            store=self.store,
            approvals=self.approvals,
            uploads=self.uploads,
            clock=self.clock,
            log=self.log,
            queue=lambda: queue or self.queue,
            index=index or (lambda: self.documents.index),
            research=self.research,
            webhooks=lambda: self.webhooks,
            repository="acme/ideas",
            branch="main",
            policy=RequestPolicy(
                min_deadline_seconds=60,
                uploads=self.uploads,
                daily_cost_usd=DAY_USD,
                spend=self.store,
            ),
            wake=lambda e: self.woken.append(e.id),
            **({"explorations": explorations} if explorations else {}),
        )
        self.handle = build_handler(self.deps)

    def spend_the_day(self, owner: str = "ada") -> None:
        self.store.record(owner, self.clock.now().date(), "a-run", DAY_USD)

    def research(self) -> Folder | None:
        return self.documents if self.documents.has_research else None

    def document(self, path: str, text: str) -> None:
        """Research that is there already."""
        target = self.folder / "ideas" / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, "utf-8")

    def call(
        self,
        method: str,
        target: str,
        body: object = None,
        *,
        owner: str | None = "ada",
        headers: dict[str, str] | None = None,
    ) -> Reply:
        """`body` is sent as JSON, or as it is where it is bytes."""
        data = body if isinstance(body, bytes) else b"" if body is None else _json(body)
        return self.send(build_gateway_event(method, target, headers or {}, data, owner))

    def send(self, event: dict[str, Any]) -> Reply:
        answer = self.handle(event, self.context)
        many = answer.get("multiValueHeaders") or {}
        headers = {name.lower(): ", ".join(values) for name, values in many.items()}
        return Reply(answer["statusCode"], headers, answer["body"] or "")

    def get(self, target: str, **options: Any) -> Reply:
        return self.call("GET", target, **options)

    def post(self, target: str, body: object = None, **options: Any) -> Reply:
        return self.call("POST", target, body, **options)

    def submitted(self, owner: str = "ada", **fields: object) -> Exploration:
        """A queued exploration, sent in by the API."""
        reply = self.post("/explorations", {"idea": "Urban bees", **fields}, owner=owner)
        assert reply.status == 202, reply.text
        return self.store.load(ExplorationId(reply.json["id"]))

    def queued(self) -> int:
        """How many explorations wait, whosever they are."""
        later = self.clock.now() + timedelta(days=1)
        return len(self.store.unchanged_since("queued", later))

    def run_to(self, exploration: Exploration, status: Status, **changes: object) -> Exploration:
        """Move a queued exploration through a run, with the events that belong to it."""
        started = self.store.take_over(exploration.id, lambda e: e.started(at=self.clock.now()))
        self.emit(started, StatusChanged(from_="queued", to="running"))
        if status == "running":
            return started
        ended = started.finished(status, at=self.clock.now(), **changes)
        self.store.save(ended)
        self.emit(ended, StatusChanged(from_="running", to=status))
        return ended

    def emit(self, exploration: Exploration, *events: AnyEvent) -> None:
        for event in events:
            self.store.append(exploration.id, exploration.lease, event)


def _json(body: object) -> bytes:
    return json.dumps(body).encode()
