"""`idea explore`: one exploration on this machine, on the engine that Lambda runs."""

import argparse
import signal
import sys
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from functools import cache, partial
from threading import Thread
from typing import Any

from idea_explorer.cli.arguments import read_files, read_request, read_settings
from idea_explorer.cli.display import ProgressDisplay
from idea_explorer.cli.explorations import print_end, print_estimate
from idea_explorer.cli.output import format_cost, suggest_resume
from idea_explorer.cli.screens import open_screen
from idea_explorer.cli.similar import Choice, ask_at_terminal, is_undecided, offer_similar
from idea_explorer.cli.streams import warn
from idea_explorer.cli.targets.ids import complete_ids
from idea_explorer.cli.targets.local import LocalTarget, path_to_open
from idea_explorer.domain.errors import (
    ConflictError,
    ExplorerError,
    ExternalError,
    InvalidRequestError,
    OutOfReachError,
)
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.ids import ExplorationId, new_id
from idea_explorer.domain.request import ExploreRequest, ResumeRequest
from idea_explorer.domain.text import one_line, pluralize
from idea_explorer.ports import EventSink, Log, UploadedFiles
from idea_explorer.settings import Settings
from idea_explorer.usecases.estimate import estimate
from idea_explorer.usecases.jobs import (
    explore_or_settle,
    explore_with_branches,
    finish,
    send_webhook,
    settle_abandoned,
)
from idea_explorer.usecases.reuse import reuse
from idea_explorer.usecases.submit import submit
from idea_explorer.wiring import local, publishing
from idea_explorer.wiring.deps import local_deps
from idea_explorer.wiring.engine import request_policy
from idea_explorer.wiring.local import LOCAL_OWNER, cli_log, system_clock
from idea_explorer.wiring.toolsets import check_folder, describe_folder


def run(arguments: argparse.Namespace) -> int:
    settings = read_settings(arguments.research, reads_research=True)
    target = LocalTarget(settings, arguments.research)
    complete_ids(arguments, target)
    request = read_request(arguments)
    request_policy(settings).check(request, LOCAL_OWNER, system_clock().now())
    check_folder(settings)
    reads_folder = request.spec.publishes_documents and not settings.uses_github
    if arguments.research and reads_folder and (problem := describe_folder(settings)):
        warn(problem)
    files = read_files(arguments.file, request.toolset)
    if arguments.estimate:
        return print_estimate(target, request, arguments)
    # a script gets the structured log, a person the progress
    as_log = arguments.debug or (arguments.json and not sys.stderr.isatty())
    show_progress = not (arguments.quiet or as_log)
    if show_progress and is_undecided(request, if_exists_given=arguments.if_exists is not None):
        choice = _offer_similar(request, settings)
        if choice.document:
            print(path_to_open(choice.document, settings))
        if choice.request is None:
            return 0
        request = choice.request
    if arguments.commit and not publishing.commits(settings):
        warn(f"{settings.research_dir} is not a git repository, so nothing will be committed.")
    runner = LocalRunner(
        settings,
        target,
        show_progress=show_progress,
        log=cli_log(sys.stderr if as_log and not arguments.quiet else None),
        commit=arguments.commit,
    )
    final = runner.reuse(request) or runner.explore(request, files)
    return print_end(target, target.describe(final), arguments)


def _offer_similar(request: ExploreRequest, settings: Settings) -> Choice:
    """If the repository cannot be read, run as requested."""
    try:
        return offer_similar(
            request,
            publishing.research_index(settings),
            show=lambda line: print(line, file=sys.stderr),
            ask=ask_at_terminal(),
            locate=partial(path_to_open, settings=settings),
        )
    except ExplorerError:
        return Choice(request)


DEFAULT_HANDLERS: dict[signal.Signals, Callable[..., Any] | signal.Handlers] = {
    signal.SIGINT: signal.default_int_handler,
    signal.SIGTERM: signal.SIG_DFL,
    signal.SIGHUP: signal.SIG_DFL,
}


class LocalRunner:
    """Runs to the end, through every decision that a run waits for. With `show_progress` somebody
    watches, and may be asked to decide."""

    def __init__(
        self,
        settings: Settings,
        target: LocalTarget,
        *,
        show_progress: bool,
        log: Log | None = None,
        commit: bool = False,
    ) -> None:
        self._settings = settings
        self._target = target
        self._show_progress = show_progress
        self._displays: list[EventSink] = []
        log = log or local.cli_log(None)
        self._deps = local_deps(settings, log, self._displays, commit=commit)
        self._lock = local.process_lock(settings)

    def reuse(self, request: ExploreRequest) -> Exploration | None:
        """The answer from existing research where the request asks for that. A repository that cannot be
        read now fails the run to come: it must not pay for what is there already."""
        try:
            found = reuse(request, LOCAL_OWNER, self._deps)
        except ExternalError as error:
            make, check = self._deps.engine, _fail_with(error)
            engine = cache(lambda: replace(make(), check_repository=check))
            self._deps = replace(self._deps, engine=engine)
            return None
        if found is None or found.publication.reused is None:
            return None
        return send_webhook(found, self._deps)

    def explore(self, request: ExploreRequest, files: UploadedFiles) -> Exploration:
        publisher = None if self._settings.uses_github else self._deps.publisher()
        if publisher and request.spec.publishes_documents:
            publisher.check()  # before anything is paid; GitHub is checked by the run itself
        self._settle_abandoned()
        new = new_id(int(self._deps.clock.now().timestamp() * 1_000))
        with self._lock.held(new):
            exploration = submit(
                self._with_files(request, files),
                LOCAL_OWNER,
                # the run itself keeps to what is left of the day
                replace(self._deps, policy=replace(self._deps.policy, daily_cost_usd=None)),
                exploration_id=new,
                by_command=True,
            )
            return self._run(exploration)

    def resume(self, exploration: Exploration, limits: ResumeRequest) -> Exploration:
        if local.running_here(self._settings)(exploration):
            raise ConflictError(f"Exploration {exploration.id} is already running on this machine.")
        self._settle_abandoned(skip=exploration.id)
        with self._lock.held(exploration.id):
            return self._run(self._take_over(exploration, limits))

    def _take_over(self, exploration: Exploration, limits: ResumeRequest) -> Exploration:
        """The run that waits for decisions or was interrupted, or else a new one."""
        from idea_explorer.usecases.resume import claim, resume

        interrupted = exploration.status == "queued" and exploration.run.by_command
        if interrupted or exploration.status in {"awaiting_approval", "running"}:
            return claim(exploration, self._deps)
        return resume(exploration.id, LOCAL_OWNER, limits, self._deps, by_command=True)

    def _with_files(self, request: ExploreRequest, files: UploadedFiles) -> ExploreRequest:
        """The files are copied to where a resumed run finds them."""
        uploads = local.local_uploads(self._settings)
        ids = tuple(uploads.add(LOCAL_OWNER, file.name, file.content) for file in files.read_all())
        return request.model_copy(update={"files": ids})

    def _settle_abandoned(self, skip: ExplorationId | None = None) -> None:
        """End runs whose commands were killed, so that their reserved budget is free again."""
        is_worked_on = local.worked_on_here(self._settings)
        for settled in settle_abandoned(LOCAL_OWNER, self._deps, is_worked_on, skip=skip):
            send_webhook(settled, self._deps)
            details, name = self._target.describe(settled), self._target.name(settled.id)
            if self._show_progress and (suggestion := suggest_resume(details, name)):
                warn(f"Exploration {settled.id} was interrupted. {suggestion}")

    def _run(self, exploration: Exploration) -> Exploration:
        """The caller holds the lock of the run: without it, it could be settled as abandoned."""
        display = self._open_display(exploration) if self._show_progress else None
        with display or nullcontext():
            reached = self._explore(exploration)
            while reached.status == "awaiting_approval":
                if not display or not self._ask_for_decisions(exploration):
                    return reached
                reached = self._explore(exploration)
            return finish(reached.id, reached.run.number, self._deps, warn)

    def _open_display(self, exploration: Exploration) -> ProgressDisplay:
        request = exploration.request
        screen = open_screen()
        model = request.model if self._settings.uses_claude else "offline model"
        mode = f"/{request.mode}" if request.spec.takes("mode") else ""
        depth = f" · {request.depth}" if request.depth_limits else ""
        stats = exploration.run.stats
        begins = "Continuing" if exploration.run.started_at else "Exploring"
        screen.line(f"{begins}: {one_line(request.idea, 80)}", "bold")
        screen.line(
            f"{request.toolset}{mode}{depth} · {model} · deadline {request.seconds} s", "dim"
        )
        if stats.steps:
            steps = pluralize(stats.steps, "step")
            screen.line(f"so far: {steps}, {format_cost(stats.cost_usd)}", "dim")
        else:  # it has not spent anything yet
            found = estimate(request, LOCAL_OWNER, self._deps)
            screen.line(f"estimate: {found.summary}", "dim")
        screen.line(f"exploration {exploration.id}", "dim")
        # the text that goes into a document is not printed at the end; a file or a program gets the document
        show_text = request.spec.publishes_documents and sys.stderr.isatty()
        display = ProgressDisplay(screen, show_text=show_text, first_step=stats.steps + 1)
        self._displays.append(display)
        return display

    def _explore(self, exploration: Exploration) -> Exploration:
        """The first Ctrl-C, or another signal to end, stops the run and keeps what it has so far."""

        def cancel() -> None:
            warn("Stopping and keeping what there is. Press Ctrl-C again to quit immediately.")
            self._deps.explorations.request_cancel(exploration.id)

        _on_first_signal(cancel)
        try:
            run = exploration.run.number
            return explore_with_branches(exploration.id, run, self._deps, explore_or_settle)
        finally:
            _restore_signals()

    def _ask_for_decisions(self, exploration: Exploration) -> bool:
        """Whether everything is decided; not where nobody can be asked, or they leave it for later."""
        from idea_explorer.cli.decisions import ask_for_decision, describe_decision

        if not (sys.stdin.isatty() and sys.stderr.isatty()):
            return False
        for approval in self._target.approvals(exploration.id):
            while approval.status == "pending":
                preview = partial(self._target.preview, exploration.id, approval.id)
                request = ask_for_decision(approval, preview)
                if request is None:
                    return False
                try:
                    decided = self._target.decide(exploration.id, approval.id, request)
                    warn(describe_decision(decided))
                    break
                except InvalidRequestError as error:  # an edited plan; the person corrects it
                    warn(error.sentence)
                    approval = approval.model_copy(update={"content": request.content})
        return True


def _fail_with(error: ExternalError) -> Callable[[Exploration], None]:
    def check(_: Exploration) -> None:
        raise OutOfReachError(error) from error

    return check


def _on_first_signal(action: Callable[[], None]) -> None:
    """Call the action at the first signal; the second ends the program.

    The action has a thread of its own, because the main thread may be inside the same code.
    """

    def handle(*_: object) -> None:
        _restore_signals()
        Thread(target=action).start()

    for number in DEFAULT_HANDLERS:
        if not _is_ignored(number):
            signal.signal(number, handle)


def _restore_signals() -> None:
    for number, handler in DEFAULT_HANDLERS.items():
        if not _is_ignored(number):
            signal.signal(number, handler)


def _is_ignored(number: signal.Signals) -> bool:
    """Whoever started the program may have asked it to ignore a signal, as `nohup` does."""
    return signal.getsignal(number) is signal.SIG_IGN
