"""An engine for tests: the real use cases on a real SQLite store and a real folder."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from idea_explorer.adapters.folder.publisher import FolderPublisher
from idea_explorer.adapters.folder.research import Folder
from idea_explorer.adapters.sqlite.explorations import SqliteStore
from idea_explorer.agent.toolset import Toolset
from idea_explorer.domain.events import RunEvent
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.request import ExploreRequest, ResumeRequest
from idea_explorer.domain.transcript import AnyEntry
from idea_explorer.ports import Model
from idea_explorer.tools.research import research_tools
from idea_explorer.usecases.engine import Engine
from idea_explorer.usecases.explore import explore
from idea_explorer.usecases.publish import publish
from idea_explorer.usecases.resume import resume
from idea_explorer.usecases.submit import submit
from tests.fakes.clock import ManualClock
from tests.fakes.deps import LENIENT, make_deps


@dataclass
class Recorder:
    """A sink that keeps what it is told."""

    events: list[RunEvent] = field(default_factory=list)

    def emit(self, event: RunEvent) -> None:
        self.events.append(event)

    def of(self, kind: type[RunEvent]) -> list[RunEvent]:
        return [event for event in self.events if isinstance(event, kind)]


@dataclass
class RecordedLog:
    lines: list[tuple[str, str, dict[str, object]]] = field(default_factory=list)

    def info(self, message: str, **fields: object) -> None:
        self.lines.append(("info", message, fields))

    def warning(self, message: str, **fields: object) -> None:
        self.lines.append(("warning", message, fields))

    def error(self, message: str, **fields: object) -> None:
        self.lines.append(("error", message, fields))

    def of(self, message: str) -> list[dict[str, object]]:
        return [fields for _, said, fields in self.lines if said == message]


class Bench:
    """Runs explorations in a folder of their own."""

    def __init__(
        self,
        root: Path,
        model: Model,
        *,
        toolset: Toolset | None = None,
        clock: ManualClock | None = None,
    ) -> None:
        self.root = root
        (root / "ideas").mkdir(parents=True, exist_ok=True)
        self.clock = clock or ManualClock()
        self.store = SqliteStore(root / "store.db")
        self.seen = Recorder()
        self.log = RecordedLog()
        self.policy = LENIENT  # for requests; the run has its own, with prices
        folder = Folder(root)
        tools = toolset or research_tools(folder, "web_search_20250305")
        self.engine = Engine(
            model=model,
            toolset_for=lambda *_: tools,
            framework_for=lambda *_: None,  # scripts write in a line what a report would say
        )
        self.deps = make_deps(
            root,
            store=self.store,
            clock=self.clock,
            log=self.log,
            sinks_for=lambda _: [self.seen],
            engine=lambda: self.engine,
            research=lambda: folder,
            index=lambda: folder.index,
            publisher=lambda: FolderPublisher(root, root / "publishing.lock"),
        )

    def write(self, path: str, text: str) -> None:
        target = self.root / "ideas" / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")

    def submit(self, idea: str = "A tea room", **fields: object) -> Exploration:
        request = ExploreRequest.model_validate({"idea": idea, **fields})
        return submit(request, "tester", replace(self.deps, policy=self.policy))

    def explore(self, idea: str = "A tea room", **fields: object) -> Exploration:
        queued = self.submit(idea, **fields)
        return explore(queued.id, queued.run.number, self.deps)

    def run(self, idea: str = "A tea room", **fields: object) -> Exploration:
        """Explore and publish."""
        return self.publish(self.explore(idea, **fields))

    def resume(self, exploration: Exploration, **fields: object) -> Exploration:
        """Explore again from where it ended."""
        queued = resume(
            exploration.id,
            exploration.owner,
            ResumeRequest.model_validate(fields),
            replace(self.deps, policy=self.policy),
        )
        return explore(queued.id, queued.run.number, self.deps)

    def publish(self, exploration: Exploration) -> Exploration:
        return publish(exploration.id, exploration.run.number, self.deps)

    def entries(self, exploration: Exploration) -> Sequence[AnyEntry]:
        return self.store.open(exploration.id, exploration.lease).entries

    def with_model(self, model: Model) -> None:
        self.engine = replace(self.engine, model=model)
