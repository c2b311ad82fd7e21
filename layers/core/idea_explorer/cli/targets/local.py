"""The explorations of this machine: their records are in the research folder."""

import shlex
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

from idea_explorer.api.views import Details, ExplorationList, build_details, build_summary
from idea_explorer.cli.arguments import read_settings
from idea_explorer.cli.output import name_status
from idea_explorer.cli.targets import ReceivedEvent, parse_received
from idea_explorer.cli.user_settings import would_use_deployment
from idea_explorer.domain.errors import ConfigurationError, ConflictError, MissingError
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.ids import ExplorationId, decode_time, is_id
from idea_explorer.domain.json import JsonObject
from idea_explorer.domain.request import ExploreRequest, ResumeRequest
from idea_explorer.domain.run import Stats
from idea_explorer.ports import RevertResult, UploadedFiles
from idea_explorer.settings import Settings
from idea_explorer.usecases.cancel import cancel
from idea_explorer.usecases.find import find
from idea_explorer.usecases.read_progress import read_progress
from idea_explorer.wiring.local import LOCAL_OWNER, cli_log, system_clock, worked_on_here

if TYPE_CHECKING:
    from idea_explorer.api.approvals import ApprovalPreview, ApprovalView
    from idea_explorer.domain.spend_summary import SpendSummary
    from idea_explorer.usecases.approvals.decide import DecisionRequest, EditRequest
    from idea_explorer.usecases.deps import Deps


class LocalTarget:
    def __init__(
        self,
        settings: Settings,
        research: str | None = None,
        is_worked_on: Callable[[Exploration], bool] | None = None,
    ) -> None:
        """`research` is the folder as the command was given it. `is_worked_on` says whether a process of this
        machine runs an exploration."""
        self._settings = settings
        self._research = research
        if is_worked_on:
            self._is_run_here = is_worked_on

    @classmethod
    def in_folder(cls, research: str | None) -> Self:
        return cls(read_settings(research), research)

    @cached_property
    def _is_run_here(self) -> Callable[[Exploration], bool]:
        return worked_on_here(self._settings)

    @cached_property
    def _deps(self) -> "Deps":
        from idea_explorer.wiring.deps import local_deps

        return local_deps(self._settings, cli_log(None))

    def submit(self, body: JsonObject, files: UploadedFiles, key: str) -> JsonObject:
        raise ConfigurationError(
            "IDEA_API_URL is not set.",
            hint="Set it to the ApiUrl of your deployment or to the address that `idea serve` prints,"
            " or run the exploration on this machine with: idea explore.",
        )

    def estimate(self, request: ExploreRequest) -> JsonObject:
        from idea_explorer.usecases.estimate import estimate, estimate_from
        from idea_explorer.wiring.engine import request_policy

        if self._settings.store.is_file():  # looking must not create one
            found = estimate(request, LOCAL_OWNER, self._deps)
        else:
            policy = request_policy(self._settings)
            policy.check_request(request, LOCAL_OWNER)
            found = estimate_from((), request, policy)
        shown: JsonObject = found.model_dump(mode="json")
        return shown

    def list_explorations(self, **filters: object) -> JsonObject:
        from pydantic import ValidationError

        from idea_explorer.api.explorations import ListQuery
        from idea_explorer.domain.request import invalid_request
        from idea_explorer.ports import Filter

        try:
            query = ListQuery.model_validate(filters)
        except ValidationError as error:
            raise invalid_request(error) from error
        if not self._settings.store.is_file():
            return ExplorationList(explorations=[], cursor=None).model_dump(mode="json")
        wanted = Filter(status=query.status, mode=query.mode, toolset=query.toolset)
        page = self._deps.explorations.page(
            LOCAL_OWNER, wanted, limit=query.limit, cursor=query.cursor
        )
        rows = [build_summary(exploration) for exploration in page.explorations]
        listing = ExplorationList(explorations=rows, cursor=page.cursor, left_out=page.left_out)
        return listing.model_dump(mode="json")

    def spend(self, days: int) -> "SpendSummary":
        from idea_explorer.domain.spend_summary import sum_up
        from idea_explorer.usecases.spend import summarize_spend

        if not self._settings.store.is_file():
            return sum_up((), system_clock().now().date(), days)
        return summarize_spend(LOCAL_OWNER, days, self._deps)

    def search(self, words: str, limit: int) -> JsonObject:
        from idea_explorer.cli.targets.local_search import search_research

        results, total = search_research(self._settings, words, limit)
        for hit in results:
            hit["path"] = path_to_open(str(hit["path"]), self._settings)
        return {"query": words, "results": [*results], "totalFound": total}

    def show(self, exploration_id: str) -> JsonObject:
        return self._dump(self.find(exploration_id))

    def describe(self, exploration: Exploration) -> Details:
        """Its document has the path that opens it from here, wherever the run was started."""
        published = exploration.publication
        if published.document and not published.url:
            path = path_to_open(published.document, self._settings)
            exploration = exploration.replace(path=path)
        return build_details(exploration, read_progress(exploration, self._deps), prefix="")

    def report(self, exploration_id: str) -> str:
        exploration = self.find_readable(exploration_id)
        try:
            return self._deps.reports.load_report(exploration.id)
        except MissingError as error:
            status = name_status(exploration.status)
            raise MissingError(
                f"Exploration {exploration.id} is {status} and has no report."
            ) from (error)

    def stats(self, details: Details) -> Stats:
        return self.find(details.id).run.stats

    def events(
        self, exploration_id: str, notify: Callable[[str], None], *, after: int = 0
    ) -> Iterator[ReceivedEvent]:
        """Ends, too, where no process of this machine works on the run any more."""
        from idea_explorer.usecases.follow import follow

        exploration, reason = self.find_readable(exploration_id), None
        while True:
            news = follow(exploration.id, after, self._deps, wait_seconds=1.0)
            for event in news.events:
                after = event.number
                yield parse_received(event.number, event.data)
            if news.waits_for and news.waits_for != reason:
                notify(news.waits_for)
            reason = news.waits_for
            exploration = self.find(exploration_id)
            idle = not (news.events or exploration.is_final or self._is_run_here(exploration))
            if news.over or idle:
                return

    def last_event_id(self, exploration_id: str) -> int:
        last = self._deps.events.read_last(self.find(exploration_id).id, limit=1)
        return last[0].number if last else 0

    def cancel(self, exploration_id: str) -> JsonObject:
        self.find(exploration_id)
        cancelled = cancel(exploration_id, LOCAL_OWNER, self._deps)
        if cancelled.is_final or self._is_run_here(cancelled):
            return self._dump(cancelled)
        with suppress(ConflictError):  # a worker was first to see that it is to end
            # as it was seen: if it has ended meanwhile, a new run must not begin
            return self._run(cancelled, ResumeRequest(), show_progress=False)
        return self.show(exploration_id)

    def resume(
        self, exploration_id: str, limits: ResumeRequest, *, show_progress: bool
    ) -> JsonObject:
        return self._run(self.find(exploration_id), limits, show_progress=show_progress)

    def _run(
        self, exploration: Exploration, limits: ResumeRequest, *, show_progress: bool
    ) -> JsonObject:
        from idea_explorer.cli.explore import LocalRunner

        runner = LocalRunner(self._settings, self, show_progress=show_progress)
        return self._dump(runner.resume(exploration, limits))

    def approvals(self, exploration_id: str) -> "list[ApprovalView]":
        from idea_explorer.api.approvals import build_approval_view

        exploration = self.find_readable(exploration_id)
        approvals = self._deps.approvals.approvals(exploration.id)
        return [build_approval_view(approval, exploration) for approval in approvals]

    def decide(
        self, exploration_id: str, approval_id: str, request: "DecisionRequest"
    ) -> "ApprovalView":
        from idea_explorer.api.approvals import build_approval_view
        from idea_explorer.usecases.approvals.decide import decide

        decided = decide(exploration_id, approval_id, request, LOCAL_OWNER, self._deps)
        return build_approval_view(decided, self.find(exploration_id))

    def preview(
        self, exploration_id: str, approval_id: str, edit: "EditRequest"
    ) -> "ApprovalPreview":
        from idea_explorer.api.approvals import build_preview
        from idea_explorer.usecases.approvals.decide import preview

        return build_preview(preview(exploration_id, approval_id, edit, LOCAL_OWNER, self._deps))

    def await_written(self, exploration_id: str) -> "list[ApprovalView]":
        return self.approvals(exploration_id)  # approving has written it

    def revert(self, exploration_id: str) -> RevertResult:
        from idea_explorer.usecases.revert import revert
        from idea_explorer.wiring import publishing
        from idea_explorer.wiring.toolsets import folder_layout

        try:
            exploration = self.find(exploration_id)
        except MissingError:
            if not (self._settings.uses_github and is_id(exploration_id)):
                raise
            # it ran elsewhere; the commits that carry its id are enough
            known = ExplorationId(exploration_id)
            reverter = publishing.reverter(self._settings, ExploreRequest(idea=exploration_id))
            return reverter.propose_revert(known, since=decode_time(known))
        if self._settings.uses_github or not exploration.request.spec.publishes_documents:
            return revert(exploration, self._deps)
        locate = folder_layout(self._settings).locate  # as it is before the report is gone
        undone = revert(exploration, self._deps)
        return replace(
            undone,
            files=[*map(locate, undone.files)],
            uncommitted=[*map(locate, undone.uncommitted)],
        )

    def has(self, exploration_id: str) -> bool:
        try:
            self.find(exploration_id)
        except MissingError:
            return False
        return True

    def resend_webhook(self, exploration_id: str) -> JsonObject:
        from idea_explorer.usecases.notify import resend

        sent = resend(self.find_readable(exploration_id).id, self._deps)
        delivery: JsonObject = sent.delivery.model_dump(mode="json")
        return delivery

    def page(self, details: Details) -> str | None:
        return details.links.published

    @property
    def options(self) -> str:
        folder = f" --research {shlex.quote(self._research)}" if self._research else ""
        here = " --local" if would_use_deployment() else ""
        return f"{folder}{here}"

    @property
    def place(self) -> str:
        folder = self._settings.research_dir.resolve()
        return f"This command looked in {folder}; to look in another folder, add --research DIR."

    def name(self, exploration_id: str) -> str:
        return f"{exploration_id}{self.options}"

    def is_worked_on(self, exploration_id: str) -> bool:
        return self._is_run_here(self.find(exploration_id))

    @property
    def continues_by_itself(self) -> bool:
        return False

    @property
    def other_places(self) -> str:
        return (
            "If it ran in another folder, add --research DIR; if at a deployment, set IDEA_API_URL."
        )

    def describe_next(self, exploration_id: str) -> str:
        return f"Continue with: idea resume {self.name(exploration_id)}"

    def find(self, exploration_id: str) -> Exploration:
        if not is_id(exploration_id):
            raise MissingError("There is no exploration with this id.")
        with suppress(MissingError):
            if self._settings.store.is_file():  # looking must not create one
                return find(exploration_id, LOCAL_OWNER, self._deps)
        raise MissingError(
            f"There is no exploration {exploration_id} in {self._settings.research_dir.resolve()}.",
            hint=self.other_places,
        )

    def find_readable(self, exploration_id: str) -> Exploration:
        """Find an exploration to show what it read and wrote."""
        exploration = self.find(exploration_id)
        self._deps.policy.check_access(exploration)
        return exploration

    def _dump(self, exploration: Exploration) -> dict[str, Any]:
        return self.describe(exploration).model_dump(mode="json", by_alias=True)


def path_to_open(document: str, settings: Settings) -> str:
    """A document's path as a person opens it."""
    from idea_explorer.wiring.toolsets import folder_layout

    if settings.uses_github:
        return document
    return str(settings.research_dir / folder_layout(settings).locate(document))
