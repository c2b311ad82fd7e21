"""One exploration after another, killed and taken up again, against servers that outlive them."""

import json
import os
import subprocess
import sys
import traceback
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.context import ForkProcess
from pathlib import Path
from typing import Any, cast

from idea_explorer.adapters.claude import Claude
from idea_explorer.adapters.clock import SystemClock
from idea_explorer.adapters.folder.research import Folder
from idea_explorer.adapters.github.client import GitHubClient
from idea_explorer.adapters.github.publisher import GitHubPublisher
from idea_explorer.adapters.sqlite.explorations import SqliteStore
from idea_explorer.adapters.sqlite.leases import SqliteBranchLease
from idea_explorer.adapters.sqlite.texts import SqliteApprovals
from idea_explorer.agent.toolset import Toolset
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.request import ExploreRequest
from idea_explorer.tools.plan import plan_tool
from idea_explorer.tools.research import research_tools
from idea_explorer.usecases.approvals.decide import DecisionRequest, decide
from idea_explorer.usecases.approvals.wait import expire
from idea_explorer.usecases.deps import Deps
from idea_explorer.usecases.engine import Engine
from idea_explorer.usecases.explore import explore
from idea_explorer.usecases.jobs import explore_with_branches
from idea_explorer.usecases.publish import publish
from idea_explorer.usecases.submit import submit
from tests.chaos.boundaries import Boundaries, Breakable, BreakableJournals, breakable_toolset
from tests.fakes import anthropic_server, github_server
from tests.fakes.anthropic_scripts import Script, dump_script
from tests.fakes.deps import make_deps

_forks = get_context("fork")
REPOSITORY = "acme/ideas"
STORE_WRITES = ("create", "take_over", "save", "append", "save_report")
APPROVAL_WRITES = ("request_approval", "decide")
GITHUB_CALLS = ("get", "post", "patch")
SURVIVED, FAILED = 0, 1
OWNER = "chaos"
QUOTA = 1_000_000  # all the cases together ask more of GitHub than one team may in an hour
LEASE_SECONDS = (
    0.2  # a killed publisher's turn at the branch ends soon, so that a case takes no longer
)


@dataclass(frozen=True)
class Servers:
    """Addresses of what stays up, and the git repository behind one of them."""

    models: Sequence[str]
    github: str
    git: Path

    def bill(self, model: int) -> dict[str, Any]:
        with urllib.request.urlopen(f"{self.models[model]}/fake/state") as answer:
            return cast("dict[str, Any]", json.load(answer))

    def commits(self, exploration: Exploration) -> list[str]:
        """The commits that carry the exploration's trailer."""
        trailer = f"^Exploration-Id: {exploration.id}$"
        done = subprocess.run(
            ["git", "-C", self.git, "log", "main", "--format=%H", "--grep", trailer],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        return done.stdout.split()


@contextmanager
def servers(folder: Path, scripts: Sequence[Script]) -> Iterator[Servers]:
    """Start a model server for each script, and GitHub; stop them at the end."""
    (folder / "seed").mkdir(parents=True)
    (folder / "seed" / "README.md").write_text("# Ideas\n")
    programs: list[ForkProcess] = []
    try:
        models = []
        for number, script in enumerate(scripts):
            path = folder / f"script-{number}.json"
            path.write_text(dump_script(script))
            options = ["--script", str(path), "--by-conversation"]
            models.append(_start(programs, anthropic_server.main, *options))
        github = _start(
            programs, github_server.main, "--root", str(folder / "github"),
            "--repository", f"{REPOSITORY}={folder / 'seed'}", "--quota", str(QUOTA),
        )  # fmt: skip
        (git,) = (folder / "github").rglob("*.git")
        yield Servers(models, github, git)
    finally:
        for program in programs:
            program.kill()
            program.join()


def _start(
    programs: list[ForkProcess], main: Callable[[Sequence[str]], None], *options: str
) -> str:
    """Start a server as a fork of this process, which has loaded what servers are slow to load."""
    reading, writing = os.pipe()
    program = _forks.Process(target=_serve, args=(main, ["--port", "0", *options], writing))
    program.start()
    programs.append(program)
    os.close(writing)
    with os.fdopen(reading) as output:
        return output.readline().rpartition(" ")[2].strip()


def _serve(main: Callable[[Sequence[str]], None], options: Sequence[str], output: int) -> None:
    sys.stdout = os.fdopen(output, "w")
    main(options)


Review = Callable[[int, str], DecisionRequest | None]


class World:
    """A folder with research, the servers, and clients that every forked life starts out with."""

    def __init__(
        self,
        folder: Path,
        at: Servers,
        reviews: Sequence[Review],
        *,
        planted_bug: bool = False,
    ) -> None:
        self.folder = folder
        self.servers = at
        self._reviews = reviews
        self._planted_bug = planted_bug
        ideas = folder / "ideas"
        ideas.mkdir(parents=True, exist_ok=True)
        (ideas / "tea.md").write_text("# Tea\n\nTea rooms do well.\n")
        (ideas / "bees.md").write_text("# Bees\n\nHoney sells.\n")
        # making a client is slow; unused ones are safe to inherit
        self._models = [Claude.with_key("key", url) for url in at.models]
        self._github = GitHubClient(REPOSITORY, lambda: "token", at.github)

    @property
    def store(self) -> SqliteStore:
        """A connection of one's own: a connection does not survive a fork."""
        return SqliteStore(self.folder / "store.db")

    def submit(self, idea: str, **fields: Any) -> Exploration:
        request = ExploreRequest(idea=idea, **fields)
        return submit(request, OWNER, make_deps(self.folder, clock=SystemClock()))

    def live(self, exploration: Exploration, model: int, kill_at: int | None) -> tuple[int, str]:
        """One process that runs the exploration to its end, or is killed.

        Its exit code, and where it was killed or else how many boundaries it passed.
        """
        place = self.folder / "place"
        place.unlink(missing_ok=True)
        child = os.fork()
        if child == 0:
            self._live_and_exit(
                exploration, model, Boundaries(kill_at, lambda at: _write(place, at))
            )
        _, status = os.waitpid(child, 0)
        killed = place.read_text() if place.exists() else ""
        return os.waitstatus_to_exitcode(status), killed

    def _live_and_exit(self, exploration: Exploration, model: int, boundaries: Boundaries) -> None:
        try:
            self._run(exploration, model, boundaries)
            boundaries.tell()
        except BaseException:  # noqa: BLE001  a forked child must not return into its parent's code
            traceback.print_exc()
            os._exit(FAILED)
        os._exit(SURVIVED)

    def _run(self, exploration: Exploration, model: int, boundaries: Boundaries) -> None:
        """What the workflow does: explore, with the branches where there are any, wait for a person where
        the run does, then publish."""
        clock, store = SystemClock(), self.store
        broken: Any = Breakable(store, "store", STORE_WRITES, boundaries)

        def toolset_for(exploration: Exploration, _: object) -> Toolset:
            request = exploration.request
            plan = plan_tool(is_reviewed=request.review_plan) if request.plans else None
            tools = research_tools(Folder(self.folder), "web_search_20250305", plan=plan)
            return breakable_toolset(tools, boundaries)

        engine = Engine(
            model=cast("Any", Breakable(self._models[model], "model", ["answer"], boundaries)),
            toolset_for=toolset_for,
        )
        github: Any = Breakable(self._github, "github", GITHUB_CALLS, boundaries)
        lease = SqliteBranchLease(self.folder / "store.db", clock)
        publisher = GitHubPublisher(github, "main", lease, clock, lease_seconds=LEASE_SECONDS)
        deps = make_deps(
            self.folder,
            store=broken,
            transcripts=BreakableJournals(
                store, boundaries, skip_store_before_act=self._planted_bug
            ),
            clock=clock,
            engine=lambda: engine,
            publisher=lambda: publisher,
            wake=boundaries.around("wake", lambda _: None),
            approvals=Breakable(
                SqliteApprovals(self.folder / "store.db"), "approvals", APPROVAL_WRITES, boundaries
            ),
        )
        review = self._reviews[model]
        reached = store.load(exploration.id)
        if reached.status != "awaiting_approval":
            reached = explore_with_branches(exploration.id, exploration.run.number, deps, explore)
        while reached.status == "awaiting_approval":
            _decide(reached, review, deps)
            reached = explore_with_branches(exploration.id, exploration.run.number, deps, explore)
        publish(exploration.id, exploration.run.number, deps)


def _decide(exploration: Exploration, review: Review, deps: Deps) -> None:
    """What a person decides, or the end of the time for it. One whose decision got lost decides again."""
    for number, asked in enumerate(deps.approvals.approvals(exploration.id)):
        wanted = review(number, asked.proposal.content)
        if wanted is None:
            expire(exploration.id, exploration.run.number, deps)
        else:
            decide(exploration.id, asked.id, wanted, OWNER, deps)


def _write(path: Path, text: str) -> None:
    with path.open("w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
