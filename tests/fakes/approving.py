"""A run that proposes changes, and the person who decides on them."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from idea_explorer.adapters.folder.writer import FolderWriter
from idea_explorer.agent.toolset import Arguments, Tool, Toolset
from idea_explorer.domain.approvals import Approval, propose
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.paths import RepositoryPath
from idea_explorer.domain.request import ResumeRequest
from idea_explorer.domain.tools import ToolResult
from idea_explorer.usecases.approvals.decide import DecisionRequest, decide
from idea_explorer.usecases.approvals.wait import expire
from idea_explorer.usecases.cancel import cancel
from idea_explorer.usecases.explore import explore
from idea_explorer.usecases.resume import resume
from tests.fakes.engine import Bench
from tests.fakes.models import calls, says, scripted


class Edit(Arguments):
    path: str
    content: str


class Read(Arguments):
    path: str


class World:
    """A folder of code, and a model that reads one file and proposes to change others."""

    def __init__(self, tmp_path: Path, *replies: Any) -> None:
        self.code = tmp_path / "code"
        self.code.mkdir()
        (self.code / "a.txt").write_text("old a\n")
        (self.code / "b.txt").write_text("old b\n")
        self.model = scripted(replies)
        self.bench = Bench(tmp_path / "bench", self.model, toolset=self._tools())
        self.approvals = self.bench.deps.approvals
        self.woken: list[str] = []
        writer = FolderWriter(self.code, tmp_path / "publishing.lock")
        self.bench.engine = replace(self.bench.engine, writer_for=lambda _: writer)
        self.bench.deps = replace(self.bench.deps, wake=lambda e: self.woken.append(e.id))

    def _tools(self) -> Toolset:
        return Toolset(
            [
                Tool("edit_file", "Edit.", Edit, self._edit, example={}, reads_only=False),
                Tool("read_file", "Read.", Read, self._read, example={}),
            ]
        )

    def _edit(self, arguments: Edit) -> ToolResult:
        base = (self.code / arguments.path).read_bytes()
        proposal = propose(RepositoryPath(arguments.path), arguments.content, "Change it", base)
        return ToolResult.success({}, summary="proposed", proposal=proposal)

    def _read(self, arguments: Read) -> ToolResult:
        return ToolResult.success({"content": (self.code / arguments.path).read_text()}, "read")

    def decide(self, exploration: Exploration, approval: Approval, **fields: Any) -> Approval:
        return decide(
            exploration.id,
            approval.id,
            DecisionRequest.model_validate(fields),
            "tester",
            self.bench.deps,
        )

    def expire(self, exploration: Exploration) -> None:
        expire(exploration.id, exploration.run.number, self.bench.deps)

    def cancel(self, exploration: Exploration) -> None:
        cancel(exploration.id, "tester", self.bench.deps)

    def resume(self, exploration: Exploration) -> Exploration:
        return resume(exploration.id, "tester", ResumeRequest(), self.bench.deps)

    def asked(self, exploration: Exploration) -> Sequence[Approval]:
        return self.approvals.approvals(exploration.id)

    def go_on(self, exploration: Exploration) -> Exploration:
        return explore(exploration.id, exploration.run.number, self.bench.deps)


EDIT = calls(
    ("edit_file", {"path": "a.txt", "content": "new a\n"}),
    ("read_file", {"path": "b.txt"}),
    ("edit_file", {"path": "b.txt", "content": "new b\n"}),
)
DONE = says("# Done")
