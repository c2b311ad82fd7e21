"""The explorations of a deployment, or of `idea serve`, over its API."""

import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import PurePath
from typing import TYPE_CHECKING, Self, TypeVar

from pydantic import BaseModel, ValidationError

from idea_explorer.cli.arguments import read_settings
from idea_explorer.cli.output import parse_details
from idea_explorer.cli.targets import ReceivedEvent, parse_received
from idea_explorer.cli.targets.client import ApiClient
from idea_explorer.domain.errors import ConfigurationError, ExplorerError, ExternalError
from idea_explorer.domain.ids import ExplorationId
from idea_explorer.domain.json import JsonObject
from idea_explorer.domain.request import ExploreRequest, ResumeRequest
from idea_explorer.domain.retry import RetryPolicy, retry
from idea_explorer.domain.run import Stats
from idea_explorer.ports import Clock, RevertResult, UploadedFiles
from idea_explorer.wiring.local import system_clock

if TYPE_CHECKING:
    from idea_explorer.api.approvals import ApprovalPreview, ApprovalView
    from idea_explorer.api.views import Details
    from idea_explorer.domain.spend_summary import SpendSummary
    from idea_explorer.usecases.approvals.decide import DecisionRequest, EditRequest

RECONNECT = RetryPolicy(first=1.0, longest=15.0, attempts=8)  # a minute: no restart takes as long
DEFAULT_PAUSE_SECONDS = 1.0
RETRY = "retry: "
SUBMIT = RetryPolicy(first=1.0, factor=1.0, attempts=3)
WRITE_SECONDS = (
    20  # a run that has all decisions is at work again by then, unless it waits for a slot
)


Model = TypeVar("Model", bound=BaseModel)


class DeploymentTarget:
    def __init__(
        self,
        api: ApiClient,
        clock: Clock,
        research: str | None = None,
        profile: str | None = None,
    ) -> None:
        """`profile` is the one that the command named."""
        self._api = api
        self._clock = clock
        self._research = research
        self._profile = profile

    @classmethod
    def from_environment(cls, research: str | None = None, profile: str | None = None) -> Self:
        return cls(ApiClient.from_environment(), system_clock(), research, profile)

    def submit(self, body: JsonObject, files: UploadedFiles, key: str) -> JsonObject:
        if ids := [*self._upload(files)]:
            body = {**body, "files": [*ids]}
        headers = {"Idempotency-Key": key}
        post = partial(self._api.post, "/explorations", body, headers)
        return self._object(retry(post, SUBMIT, self._clock))

    def estimate(self, request: ExploreRequest) -> JsonObject:
        body = request.model_dump(mode="json", exclude_unset=True)
        return self._object(self._api.post("/explorations/estimate", body))

    def _upload(self, files: UploadedFiles) -> Iterator[str]:
        for file in files.read_all():
            upload = self._api.post("/files", {"name": file.name, "size": len(file.content)})
            self._api.upload(upload["upload"], file.content)
            yield str(upload["file_id"])

    def list_explorations(self, **filters: object) -> JsonObject:
        return self._object(self._api.get("/explorations", **filters))

    def spend(self, days: int) -> "SpendSummary":
        from idea_explorer.domain.spend_summary import SpendSummary

        return _parse(SpendSummary, self._api.get("/spend", days=days))

    def search(self, words: str, limit: int) -> JsonObject:
        found = self._object(self._api.get("/research", search=words, limit=limit))
        return {
            "query": words,
            "results": found.get("documents", []),
            "totalFound": found.get("total", 0),
        }

    def show(self, exploration_id: str) -> JsonObject:
        return self._object(self._api.get(self._api.path(exploration_id)))

    def report(self, exploration_id: str) -> str:
        return self._api.text(self._api.path(exploration_id, "report"))

    def stats(self, details: "Details") -> Stats:
        """Without the single tool calls, which are spelled for scripts."""
        return Stats.model_validate({k: v for k, v in details.stats.items() if k != "tool_calls"})

    def events(
        self, exploration_id: str, notify: Callable[[str], None], *, after: int = 0
    ) -> Iterator[ReceivedEvent]:
        """A lost connection is taken up again after the last event received. What the run waits for is
        said once, however often the API repeats it. The API says how long to pause between calls, and
        may hold one open for as long as the run lasts."""
        path = self._api.path(exploration_id, "events")
        last, failures, said = after, 0, ""
        while True:
            comment, pause = "", DEFAULT_PAUSE_SECONDS
            try:
                frames = self._api.stream(path, last)
                if frames is None:
                    return
                for frame in frames:
                    failures = 0
                    for received in parse_stream(frame):
                        last = received.number
                        yield received
                    if found := last_comment(frame):
                        comment = found
                        if comment != said:
                            notify(comment)
                    if frame.startswith(RETRY):  # the last of those that belong together
                        pause, said, comment = retry_seconds(frame), comment, ""
            except ExplorerError as error:
                failures += 1
                again = RECONNECT.next(error, failures)
                if again is None:
                    raise
                notify(f"{error.message} Trying again.")
                self._clock.sleep(again.seconds)
                continue
            self._clock.sleep(pause)

    def last_event_id(self, exploration_id: str) -> int:
        path = self._api.path(exploration_id, "events")
        last, over = 0, False
        while not over:
            page = self._api.events(path, last)
            last, over = page["last_event_id"], page["over"] or not page["events"]
        return last

    def cancel(self, exploration_id: str) -> JsonObject:
        return self._object(self._api.post(self._api.path(exploration_id, "cancel"), {}))

    def resume(
        self, exploration_id: str, limits: ResumeRequest, *, show_progress: bool
    ) -> JsonObject:
        body = limits.model_dump(mode="json", exclude_none=True)
        return self._object(self._api.post(self._api.path(exploration_id, "resume"), body))

    def approvals(self, exploration_id: str) -> "list[ApprovalView]":
        from idea_explorer.api.approvals import ApprovalList

        answer = self._api.get(self._api.path(exploration_id, "approvals"))
        return _parse(ApprovalList, answer).approvals

    def decide(
        self, exploration_id: str, approval_id: str, request: "DecisionRequest"
    ) -> "ApprovalView":
        from idea_explorer.api.approvals import ApprovalView

        path = self._api.path(exploration_id, f"approvals/{approval_id}")
        answer = self._api.post(path, request.model_dump(mode="json", exclude_defaults=True))
        return _parse(ApprovalView, answer)

    def preview(
        self, exploration_id: str, approval_id: str, edit: "EditRequest"
    ) -> "ApprovalPreview":
        from idea_explorer.api.approvals import ApprovalPreview

        path = self._api.path(exploration_id, f"approvals/{approval_id}/preview")
        answer = self._api.post(path, edit.model_dump(mode="json", exclude_defaults=True))
        return _parse(ApprovalPreview, answer)

    def await_written(self, exploration_id: str) -> "list[ApprovalView]":
        """The run writes what was approved, once everything is decided."""
        for _ in range(WRITE_SECONDS):
            approvals = self.approvals(exploration_id)
            statuses = {a.status for a in approvals if not a.applied_at and a.kind != "plan"}
            if "pending" in statuses or "approved" not in statuses:
                break
            self._clock.sleep(1.0)
        return approvals

    def revert(self, exploration_id: str) -> RevertResult:
        """With the settings of this machine: whoever reverts needs a GitHub token of their own. What
        `idea serve` wrote to a folder is undone in that folder."""
        from idea_explorer.cli.targets.local import LocalTarget
        from idea_explorer.usecases.revert import revert_published
        from idea_explorer.wiring import publishing

        settings = read_settings(self._research)
        local = LocalTarget(settings, self._research)
        if local.has(exploration_id):
            return local.revert(exploration_id)
        details = parse_details(self.show(exploration_id))
        if details.path and details.links.published is None and not settings.uses_github:
            path = PurePath(details.path)
            folder = str(path.parents[2]) if path.is_absolute() else "DIR"
            raise ConfigurationError(
                f"Exploration {details.id} wrote to a folder: {path}.",
                hint=f"On the machine with that folder, run: idea revert {details.id}"
                f" --research {folder}",
            )
        published = ExploreRequest(
            idea=details.idea, toolset="code", repository=details.repository, ref=details.ref
        )
        return revert_published(
            ExplorationId(details.id),
            details.status,
            publishing.reverter(settings, published),
            since=details.created_at,
        )

    def resend_webhook(self, exploration_id: str) -> JsonObject:
        return self._object(self._api.post(self._api.path(exploration_id, "webhook"), {}))

    def page(self, details: "Details") -> str | None:
        """In the console, unless it is published elsewhere."""
        return details.links.published or f"{self._api.url}/#/x/{details.id}"

    @property
    def options(self) -> str:
        return f" --profile {self._profile}" if self._profile else ""

    @property
    def place(self) -> str:
        return ""

    def name(self, exploration_id: str) -> str:
        return f"{exploration_id}{self.options}"

    def is_worked_on(self, exploration_id: str) -> bool:
        return True

    @property
    def continues_by_itself(self) -> bool:
        return True

    @property
    def other_places(self) -> str:
        return ""

    def describe_next(self, exploration_id: str) -> str:
        return f"The run continues. Follow it with: idea watch {self.name(exploration_id)}"

    def _object(self, answer: object) -> JsonObject:
        if not isinstance(answer, dict):
            raise ExternalError("The API sent an answer that this command cannot read.")
        return answer


def _parse(kind: type[Model], answer: object) -> Model:
    try:
        return kind.model_validate(answer)
    except ValidationError as error:
        raise ExternalError("The API sent an answer that this command cannot read.") from error


def parse_stream(text: str) -> Iterator[ReceivedEvent]:
    """The events of one response. Lines end in LF alone: JSON may hold other line ends as they are."""
    for frame in text.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in frame.split("\n") if ": " in line)
        if "data" in fields:
            yield parse_received(int(fields["id"]), fields["data"])


def retry_seconds(text: str) -> float:
    """The pause that a response asks for before the next call."""
    asked = re.findall(r"^retry: ([0-9]{1,6})$", text, re.MULTILINE)
    return int(asked[-1]) / 1_000 if asked else DEFAULT_PAUSE_SECONDS


def last_comment(text: str) -> str:
    """The last comment of a response, or ""."""
    comments = re.findall(r"^: (.*)$", text, re.MULTILINE)
    return comments[-1] if comments else ""
