"""The code toolset over a folder, a model that writes at a given speed, and a person who decides."""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from idea_explorer.adapters.folder.git import GitFolder
from idea_explorer.adapters.folder.writer import FolderWriter
from idea_explorer.adapters.snapshots.cache import Snapshots
from idea_explorer.adapters.snapshots.symbols import SqliteSymbols
from idea_explorer.domain.approvals import Approval
from idea_explorer.domain.deadline import Deadline
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.json import Block
from idea_explorer.domain.limits import CodeLimits
from idea_explorer.domain.usage import Usage
from idea_explorer.ports import ChangeWriter, ModelAnswer, ModelRequest, Watcher
from idea_explorer.tools.code import Workspace, code_tools
from idea_explorer.usecases.approvals.decide import DecisionRequest, EditRequest, decide, preview
from idea_explorer.usecases.explore import explore
from tests.fakes.clock import ManualClock
from tests.fakes.engine import Bench
from tests.fakes.models import ScriptedModel, tool_results

CHARS_PER_TOKEN = 3.2  # of code


@dataclass
class TimedModel:
    """Says what its script says, as fast as a model does, and no more than it may."""

    script: ScriptedModel
    clock: ManualClock
    tokens_per_second: float

    def answer(self, request: ModelRequest, watcher: Watcher, deadline: Deadline) -> ModelAnswer:
        reply = self.script.answer(request, watcher, deadline)
        number = len(self.script.requests)  # each call has an id of its own
        blocks = [{**b, "id": f"{b['id']}_{number}"} if "id" in b else b for b in reply.content]
        reply = replace(reply, content=blocks)
        tokens = sum(_count_tokens(block) for block in reply.content)
        written = min(tokens, request.max_tokens)
        for _ in range(math.ceil(written / self.tokens_per_second)):
            self.clock.pass_time(1.0)
            watcher.tick()
        usage = Usage(input_tokens=1_000, output_tokens=written)
        if tokens > request.max_tokens:
            # the block that the limit fell into: as the client reads it, a call without input
            cut = [{**b, "input": {}} if b["type"] == "tool_use" else b for b in reply.content]
            return ModelAnswer(cut, "max_tokens", usage)
        return replace(reply, usage=usage)


def _count_tokens(block: Block) -> int:
    said = block.get("text") or json.dumps(block.get("input"), ensure_ascii=False)
    return math.ceil(len(str(said)) / CHARS_PER_TOKEN)


class EditingWorld:
    """A folder of code. What is approved is written at once."""

    def __init__(
        self,
        tmp_path: Path,
        *replies: Any,
        speed: float = 1_000_000.0,
        git: GitFolder | None = None,
    ) -> None:
        self.code = tmp_path / "code"
        self.code.mkdir(exist_ok=True)
        self.clock = ManualClock()
        self.model = ScriptedModel(list(replies))
        cache = tmp_path / "cache"
        snapshots = Snapshots(cache / "snapshots", CodeLimits())
        symbols = SqliteSymbols(cache / "symbols.db")
        writer = FolderWriter(self.code, tmp_path / "publishing.lock", git)

        def writer_for(_: Exploration) -> ChangeWriter:
            return writer

        timed = TimedModel(self.model, self.clock, speed)
        self.bench = Bench(tmp_path / "bench", timed, clock=self.clock)
        self.bench.engine = replace(
            self.bench.engine,
            toolset_for=lambda *_: code_tools(
                Workspace(lambda: snapshots.of_folder(self.code), symbols)
            ),
            writer_for=writer_for,
        )
        self.bench.deps = replace(self.bench.deps, wake=lambda _: None, writer_for=writer_for)

    def explore(self, **fields: object) -> Exploration:
        return self.bench.explore("Change the code", toolset="code", **fields)

    def pending(self, exploration: Exploration) -> Sequence[Approval]:
        asked = self.bench.deps.approvals.approvals(exploration.id)
        return [approval for approval in asked if approval.decision is None]

    def preview(self, approval: Approval, **fields: Any) -> str:
        edit = EditRequest.model_validate(fields)
        return preview(approval.exploration_id, approval.id, edit, "tester", self.bench.deps).diff

    def decide(self, approval: Approval, **fields: Any) -> Approval:
        request = DecisionRequest.model_validate(fields)
        return decide(approval.exploration_id, approval.id, request, "tester", self.bench.deps)

    def go_on(self, exploration: Exploration) -> Exploration:
        return explore(exploration.id, exploration.run.number, self.bench.deps)

    def results(self, request: int = -1) -> list[Any]:
        blocks = tool_results(self.model.requests[request])
        return [json.loads(str(block["content"])) for block in blocks]
