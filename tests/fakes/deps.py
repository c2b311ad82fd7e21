"""Dependencies for tests: the real SQLite stores of a folder, and fakes for the services."""

from pathlib import Path
from typing import Any

from idea_explorer.adapters.idempotency import IdempotencyStore, SqliteRecords
from idea_explorer.adapters.sqlite.explorations import SqliteStore
from idea_explorer.adapters.sqlite.texts import SqliteApprovals
from idea_explorer.adapters.uploads import LocalUploads
from idea_explorer.observability.logging import SilentLog
from idea_explorer.settings import MODELS, PRICES
from idea_explorer.usecases.deps import Deps
from idea_explorer.usecases.request_policy import RequestPolicy
from tests.fakes.clock import ManualClock
from tests.fakes.research import index_of
from tests.fakes.service import FakeQueue, FakeWorkflow

# Without prices: tests give budgets that pay for no report.
LENIENT = RequestPolicy(min_deadline_seconds=1)
PRICED = RequestPolicy(min_deadline_seconds=1, model_ids=MODELS, prices=PRICES)


def make_deps(folder: Path | None, *, store: SqliteStore | None = None, **given: Any) -> Deps:
    """What is neither given nor faked must not be used. Without a folder there are no approvals,
    uploads and idempotency keys."""
    database = folder / "store.db" if folder else None
    if store is None:
        assert database is not None
        store = SqliteStore(database)
    queue, workflow = FakeQueue(), FakeWorkflow()
    defaults: dict[str, Any] = {
        **dict.fromkeys(("explorations", "admission", "transcripts", "events", "reports"), store),
        "approvals": SqliteApprovals(database) if database else _unused,
        "uploads": LocalUploads(folder) if folder else _unused,
        "clock": ManualClock(),
        "log": SilentLog(),
        "policy": PRICED,
        "sinks_for": lambda _: (),
        "engine": _unused,
        "queue": lambda: queue,
        "workflow": lambda: workflow,
        "wake": lambda _: None,
        "idempotency": lambda: IdempotencyStore(SqliteRecords(database)) if database else _unused(),
        "research": lambda: None,
        "index": index_of,
        "publisher": lambda: None,
        "pull_requests_for": lambda _: None,
        "reverter_for": _unused,
        "restorer": _unused,
        "webhooks": _unused,
        "notices": _unused,
        "default_webhook": lambda: None,
    }
    return Deps(**defaults | given)


def _unused(*_: object) -> Any:
    raise AssertionError("a test that needs this must give it")
