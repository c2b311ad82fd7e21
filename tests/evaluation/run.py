"""Run one recording through the engine: the real SDK, loop, tools and citation checks, with a model that
says what was recorded."""

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from idea_explorer.adapters.claude import Claude
from idea_explorer.adapters.documents.process import ChildProcessReader
from idea_explorer.agent.branches import latest_findings
from idea_explorer.agent.state import State
from idea_explorer.agent.toolset import Toolset
from idea_explorer.domain.errors import WebError
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.models import PROFILES
from idea_explorer.domain.transcript import AnyEntry
from idea_explorer.observability.logging import SilentLog
from idea_explorer.ports import Model, WebPage
from idea_explorer.settings import Settings
from idea_explorer.tools import DIRECT_VERSION
from idea_explorer.tools.assistant import assistant_tools
from idea_explorer.tools.fetch_rules import FetchRules
from idea_explorer.usecases.engine import Engine
from idea_explorer.usecases.explore import explore
from idea_explorer.usecases.jobs import explore_with_branches
from idea_explorer.wiring.toolsets import ToolsetContext, research
from tests.evaluation.recordings import Recording
from tests.evaluation.replies import RecordedModel
from tests.evaluation.scores import Score, score
from tests.fakes.anthropic_server import FakeAnthropic
from tests.fakes.anthropic_wire import JsonObject
from tests.fakes.deps import PRICED
from tests.fakes.engine import Bench
from tests.fakes.fetching import Files

POLICY = replace(PRICED, profiles=PROFILES)


@dataclass(frozen=True)
class RecordedPages:
    """The pages of a recording, instead of the web."""

    pages: Mapping[str, str]

    def fetch(self, url: str, may_redirect_to: Callable[[str], bool] | None = None) -> WebPage:
        if url not in self.pages:
            raise WebError(f"There is no recorded page at {url}.")
        return WebPage(url, 200, "text/html", "utf-8", self.pages[url].encode())


@dataclass(frozen=True)
class Run:
    score: Score
    report: str
    first_request: JsonObject  # as the model got it
    branches: int  # that found something


def run_recorded(recording: Recording) -> Run:
    """Raises AssertionError if the API would have refused a request."""
    with (
        tempfile.TemporaryDirectory() as folder,
        FakeAnthropic(RecordedModel(recording), count=True) as server,
    ):
        bench = make_bench(Path(folder), recording, Claude.with_key("key", server.url))
        queued = bench.submit(recording.idea, **recording.fields)
        done = explore_with_branches(queued.id, queued.run.number, bench.deps, explore)
        assert (server.rejections, server.violations) == ([], []), recording.name
        report = bench.store.load_report(done.id)
        state = State(bench.entries(done))
        scored = score(recording, done, report, state)
        branches = sum(bool(found.text) for found in latest_findings(state.entries))
        return Run(scored, report, server.requests[0].body, branches)


def make_bench(root: Path, recording: Recording, model: Model) -> Bench:
    """The use cases on a folder with the recording's documents, with its files and pages."""
    bench = Bench(root, model)
    bench.policy = POLICY
    for path, text in recording.research.items():
        bench.write(path, text)
    bench.engine = Engine(model=model, toolset_for=_toolset_for(root, recording))
    bench.deps = replace(bench.deps, policy=POLICY)
    return bench


def _toolset_for(
    root: Path, recording: Recording
) -> Callable[[Exploration, Sequence[AnyEntry]], Toolset]:
    settings = Settings(research_dir=root)
    files = Files(**{name: text.encode() for name, text in recording.files.items()})

    def make(exploration: Exploration, entries: Sequence[AnyEntry]) -> Toolset:
        if recording.toolset == "research":
            return research(ToolsetContext(settings, SilentLog(), files, exploration, entries))
        pages = RecordedPages(recording.pages)
        return assistant_tools(
            pages, files, DIRECT_VERSION, FetchRules(), documents=ChildProcessReader()
        )

    return make
