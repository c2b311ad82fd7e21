"""What can go wrong outside, one fault at a time: each run completes, or fails in a typed way.

    python -m tests.adversarial.faults

Prints a table: fault, status, code, steps, commits. The run is driven as the workflow drives it:
what may pass is tried again, what does not is settled from the last checkpoint.
"""

import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from idea_explorer.adapters.aws.client import client
from idea_explorer.adapters.claude import Claude
from idea_explorer.adapters.github.client import GitHubClient
from idea_explorer.adapters.github.publisher import GitHubPublisher
from idea_explorer.adapters.github.research import GitHub
from idea_explorer.adapters.sqlite.leases import SqliteBranchLease
from idea_explorer.domain.errors import ExplorerError, LeaseLostError
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.request import ExploreRequest
from idea_explorer.domain.run import FINAL
from idea_explorer.observability.logging import SilentLog
from idea_explorer.tools.research import research_tools
from idea_explorer.usecases.deps import Deps
from idea_explorer.usecases.engine import Engine
from idea_explorer.usecases.explore import explore
from idea_explorer.usecases.publish import publish
from idea_explorer.usecases.settle import Cause, settle
from idea_explorer.usecases.submit import submit
from idea_explorer.wiring.cloud import cloud_queue
from idea_explorer.wiring.deps import cloud_deps
from tests.fakes import anthropic_faults as model_faults
from tests.fakes.anthropic_scripts import Entry
from tests.fakes.anthropic_server import FakeAnthropic
from tests.fakes.anthropic_turns import (
    answer,
    pending_web_search,
    refusal,
    search_result,
    text,
    tool_use,
    web_search,
    web_search_result,
)
from tests.fakes.aws import REGION, fake_aws
from tests.fakes.deps import LENIENT, PRICED
from tests.fakes.github_repository import Repository
from tests.fakes.github_server import FakeGitHub
from tests.fakes.reports import business

RETRIES = 3  # as the workflow's Retry
REPORT = answer(text(business("Tea", "As [known](../tea.md).")))
READ = answer(tool_use("read_research", {"path": "tea.md"}))
GOOD: Sequence[Entry] = (READ, REPORT)


@dataclass
class FastClock:
    """The true clock, but for waiting: that passes at once. `skew` is how wrong it is."""

    skew: float = 0.0
    waited: float = 0.0

    def now(self) -> datetime:
        return datetime.now(UTC) + timedelta(seconds=self.skew + self.waited)

    def monotonic(self) -> float:
        return time.monotonic() + self.waited

    def sleep(self, seconds: float) -> None:
        self.waited += seconds


@dataclass
class World:
    """Everything outside, with one thing about to go wrong."""

    github: FakeGitHub
    repository: Repository
    clock: FastClock
    aws_faults: list[tuple[str, str, int]] = field(default_factory=list)

    def aws(self, operation: str, code: str, times: int = 1) -> None:
        self.aws_faults.append((operation, code, times))


@dataclass(frozen=True)
class Fault:
    name: str
    script: Sequence[Entry] = GOOD
    arrange: Callable[[World], object] = lambda _: None
    deadline_seconds: int = 120


def model(name: str, *script: Entry, deadline_seconds: int = 120) -> Fault:
    return Fault(f"model: {name}", script, deadline_seconds=deadline_seconds)


def github(name: str, arrange: Callable[[World], object]) -> Fault:
    return Fault(f"github: {name}", arrange=arrange)


def aws(operation: str, code: str, times: int = 1) -> Fault:
    often = "" if times == 1 else " for good" if times > 50 else f" x{times}"
    return Fault(f"aws: {operation} {code}{often}", arrange=lambda w: w.aws(operation, code, times))


def _limited(world: World, status: int) -> None:
    world.github.limits.exhaust(seconds=2, status=status)


FOUND = [search_result("https://example.org/tea", "Tea")]
HTTP = model_faults.http_error

FAULTS: Sequence[Fault] = (
    model("400", HTTP(400)),
    model("401", HTTP(401)),
    model("402", HTTP(402)),
    model("403", HTTP(403)),
    model("404", HTTP(404)),
    model("413", READ, HTTP(413)),
    model("429 with retry-after", HTTP(429, retry_after=3), *GOOD),
    model("429 with a long retry-after", READ, HTTP(429, retry_after=900)),
    model("429 without retry-after", HTTP(429), *GOOD),
    model("429 for good", *[HTTP(429)] * 6),
    model("500 once", HTTP(500), *GOOD),
    model("500 for good", READ, *[HTTP(500)] * 6),
    model("529 once", READ, HTTP(529), REPORT),
    model("529 for good", *[HTTP(529)] * 6),
    model("no answer to the first call", model_faults.hang(), deadline_seconds=3),
    model("no answer to the writing call", READ, model_faults.hang(), deadline_seconds=3),
    model("silence within an answer", READ, answer(text("# T"), fault=model_faults.hang(4)),
          deadline_seconds=3),
    model("cut stream", answer(text("# T"), fault=model_faults.cut(4)), *GOOD),
    model("cut within an event", answer(text("# T"), fault=model_faults.cut_in_event(4)), *GOOD),
    model("stream without an end", answer(text("# T"), fault=model_faults.end_early(4)), *GOOD),
    model("reset connection", answer(text("# T"), fault=model_faults.reset(4)), *GOOD),
    model("cut for good", *[answer(text("# Tea so far"), fault=model_faults.cut(4))] * 6),
    model("overloaded after 200", model_faults.error_event("overloaded_error", after=3), *GOOD),
    model("api_error after 200", model_faults.error_event("api_error", after=3), *GOOD),
    model("malformed JSON", model_faults.malformed(3), *GOOD),
    model("refusal", refusal("Not this.")),
    model("refusal after tools", READ, refusal("Not this.")),
    model("max_tokens inside tool JSON",
          answer(text("# T\n\n"), tool_use("read_research", {"path": "t"}), stop_reason="max_tokens"),
          answer(text("And the rest."))),
    model("max_tokens twice", answer(text("# T"), stop_reason="max_tokens"),
          answer(text("ea"), stop_reason="max_tokens")),
    model("pause_turn twice", answer(pending_web_search("a"), stop_reason="pause_turn"),
          answer(web_search_result(FOUND), pending_web_search("b"), stop_reason="pause_turn"),
          answer(web_search_result(FOUND), text("# Tea"))),
    model("web_search error inside a 200", answer(web_search("t", error="unavailable"), text("# T"))),
    model("web_search limit inside a 200",
          answer(web_search("t", error="max_uses_exceeded"), text("# T"))),
    model("context window exceeded", READ,
          answer(text("x"), stop_reason="model_context_window_exceeded"), REPORT),
    model("unknown stop reason", answer(text("# Tea"), stop_reason="something_new")),
    model("nothing said", answer(stop_reason="end_turn"), answer(stop_reason="end_turn")),
    model("unknown tools", answer(tool_use("nope", {})), REPORT),
    github("401", lambda w: w.github.faults.fail(401, times=None)),
    github("403 no permission", lambda w: w.github.faults.fail(403, "git/", "POST", times=None)),
    github("primary limit, 403", lambda w: _limited(w, 403)),
    github("primary limit, 429", lambda w: _limited(w, 429)),
    github("secondary limit", lambda w: w.github.faults.fail(
        403, "git/", "POST", headers={"Retry-After": "2"}, times=2)),
    github("404 repository", lambda w: w.github.faults.fail(404, times=None)),
    github("409 once", lambda w: w.github.faults.fail(409, "refs", "PATCH")),
    github("409 for good", lambda w: w.github.faults.fail(409, "refs", "PATCH", times=None)),
    github("422 once", lambda w: w.github.faults.fail(422, "refs", "PATCH")),
    github("422 for good", lambda w: w.github.faults.fail(422, "refs", "PATCH", times=None)),
    github("500 once", lambda w: w.github.faults.fail(500, "git/trees", "POST")),
    github("502 for good", lambda w: w.github.faults.fail(502, "git/", "POST", times=None)),
    github("503 once", lambda w: w.github.faults.fail(503, "git/commits", "POST")),
    github("read fails", lambda w: w.github.faults.fail(500, "contents", times=None)),
    github("dropped before acting", lambda w: w.github.faults.drop("refs", "PATCH", acts=False)),
    github("success with the reply lost", lambda w: w.github.faults.drop("refs", "PATCH", acts=True)),
    github("commit made, reply lost", lambda w: w.github.faults.drop("git/commits", "POST", acts=True)),
    github("malformed JSON", lambda w: w.github.faults.garble("git/trees", "POST")),
    github("slow", lambda w: w.github.faults.slow(0.5, "git/trees", "POST")),
    github("branch protected", lambda w: w.repository.protect("main")),
    aws("PutItem", "ThrottlingException"),
    aws("UpdateItem", "ProvisionedThroughputExceededException", 2),
    aws("TransactWriteItems", "ThrottlingException"),
    aws("TransactWriteItems", "InternalServerError"),
    aws("UpdateItem", "InternalServerError", 99),
    aws("PutObject", "SlowDown"),
    aws("PutObject", "InternalError", 99),
    aws("PutObject", "AccessDenied", 99),
    aws("GetObject", "InternalError"),
    Fault("sqs: send fails", arrange=lambda w: w.aws("SendMessage", "ServiceUnavailable", 99)),
    Fault("clock five minutes fast", arrange=lambda w: setattr(w.clock, "skew", 300.0)),
    Fault("clock five minutes slow", arrange=lambda w: setattr(w.clock, "skew", -300.0)),
)  # fmt: skip


@dataclass(frozen=True)
class Row:
    fault: str
    status: str
    code: str
    steps: int
    commits: int
    violations: Sequence[str]


def run(fault: Fault, folder: Path) -> Row:
    os.environ.setdefault("AWS_DEFAULT_REGION", REGION)
    with ExitStack() as stack:
        settings = stack.enter_context(fake_aws())
        server = stack.enter_context(FakeAnthropic(fault.script, repeat_last=True))
        hub = stack.enter_context(FakeGitHub(folder / "github", token="t"))
        repository = hub.create_repository("acme/ideas", {"ideas/tea.md": "# Tea"})
        world = World(hub, repository, FastClock())
        deps = made(cloud_deps(settings, SilentLog()), server.url, world, folder)
        request = ExploreRequest(idea="Tea", deadline_seconds=fault.deadline_seconds)
        queued = submit(request, "o", replace(deps, policy=LENIENT))
        fault.arrange(world)
        stack.enter_context(failing_aws(world.aws_faults))
        with suppress(ExplorerError):  # stored first: what is not sent, the sweep finds
            cloud_queue(settings).send(queued.id, 1)
        final = drive(queued, deps, world)
        commits = sum(final.id in commit.message for commit in repository.log("main"))
    return Row(
        fault.name,
        final.status,
        final.run.receipt.code if final.run.receipt else "",
        final.run.stats.steps,
        commits,
        list(judge(final, commits)),
    )


def judge(final: Exploration, commits: int) -> Iterator[str]:
    if final.status not in FINAL:
        yield f"ended {final.status}"
    if final.status != "completed" and final.run.receipt is None:
        yield "no receipt"
    if final.run.receipt and not final.run.receipt.message.strip():
        yield "an empty receipt"
    if commits > 1:
        yield f"{commits} commits"
    if final.status == "completed" and commits != 1:
        yield "completed without its commit"


def made(cloud: Deps, model_url: str, world: World, folder: Path) -> Deps:
    client = GitHubClient("acme/ideas", lambda: "t", world.github.url)
    tools = research_tools(GitHub(client, "main"), "web_search_20250305")
    engine = Engine(model=Claude.with_key("key", model_url), toolset_for=lambda *_: tools)
    lease = SqliteBranchLease(folder / "lease.db", world.clock)
    return replace(
        cloud,
        clock=world.clock,
        policy=PRICED,
        sinks_for=lambda _: [],
        engine=lambda: engine,
        publisher=lambda: GitHubPublisher(client, "main", lease, world.clock),
    )


def drive(queued: Exploration, deps: Deps, world: World) -> Exploration:
    """Explore and publish as the workflow does, with its retries and its Catch."""
    if not _retried(lambda: explore(queued.id, 1, deps), world.clock):
        return settled(queued, "broken", deps, world)
    if not _retried(lambda: publish(queued.id, 1, deps), world.clock):
        return settled(queued, "broken", deps, world)
    return deps.explorations.load(queued.id)


def _retried(attempt: Callable[[], object], clock: FastClock) -> bool:
    for number in range(RETRIES + 1):
        try:
            attempt()
        except LeaseLostError:
            return False
        except ExplorerError as error:
            if not error.retryable:
                return False
            clock.sleep(2.0**number)
        else:
            return True
    return False


def settled(queued: Exploration, cause: Cause, deps: Deps, world: World) -> Exploration:
    """The Catch. By the time it runs, what failed has usually passed."""
    world.aws_faults.clear()
    return settle(queued.id, 1, cause, deps)


@contextmanager
def failing_aws(faults: list[tuple[str, str, int]]) -> Iterator[None]:
    """Answers the chosen operations with an error, as often as is said."""
    from botocore.awsrequest import AWSResponse

    def fail(request: Any, event_name: str, **_: Any) -> Any:
        for index, (operation, code, times) in enumerate(faults):
            if event_name.endswith(f".{operation}") and times > 0:
                faults[index] = (operation, code, times - 1)
                return _error(AWSResponse, request.url, code)
        return None

    clients = [client(service) for service in ("dynamodb", "s3", "sqs")]
    for one in clients:
        one.meta.events.register_first("before-send.*", fail)
    try:
        yield
    finally:
        for one in clients:
            one.meta.events.unregister("before-send.*", fail)


def _error(response: Any, url: str, code: str) -> Any:
    status = 403 if code == "AccessDenied" else 500 if code.startswith("Internal") else 400
    status = 503 if code in {"SlowDown", "ServiceUnavailable"} else status
    body = (
        f"<Error><Code>{code}</Code><Message>no</Message></Error>".encode()
        if "s3" in url
        else f'{{"__type": "com.amazonaws#{code}", "message": "no"}}'.encode()
    )

    class Raw:
        def stream(self, *_: Any, **__: Any) -> Iterator[bytes]:
            yield body

        def read(self, *_: Any, **__: Any) -> bytes:
            return body

    made = response(url, status, {"content-type": "application/x-amz-json-1.0"}, Raw())
    made._content = body
    return made


def main() -> int:
    rows: list[Row] = []
    print(f"{'fault':<58}{'status':<12}{'code':<24}{'steps':>5}{'commits':>8}")
    for fault in FAULTS:
        with tempfile.TemporaryDirectory() as folder:
            row = run(fault, Path(folder))
        rows.append(row)
        print(f"{row.fault:<58}{row.status:<12}{row.code:<24}{row.steps:>5}{row.commits:>8}")
        print(*(f"  ✗ {violation}" for violation in row.violations), sep="\n", end="")
    violated = sum(bool(row.violations) for row in rows)
    print(f"\n{len(rows)} faults, {violated} violations")
    return 1 if violated else 0


if __name__ == "__main__":
    sys.exit(main())
