"""run_checks in a run: a person allows the commands, the checks run over approved changes, and whoever
decides next sees what they said."""

import json
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from idea_explorer.adapters.checks.sandbox import can_isolate
from idea_explorer.domain.approvals import Approval
from idea_explorer.domain.errors import InvalidRequestError
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.json import JsonObject
from idea_explorer.domain.request import ExploreRequest
from idea_explorer.observability.logging import SilentLog
from idea_explorer.ports import ModelAnswer
from idea_explorer.settings import Settings
from idea_explorer.usecases.approvals.decide import DecisionRequest, decide
from idea_explorer.usecases.deps import Deps
from idea_explorer.usecases.explore import explore
from idea_explorer.usecases.publish import publish
from idea_explorer.usecases.revert import revert
from idea_explorer.usecases.submit import submit
from idea_explorer.wiring.deps import local_deps
from idea_explorer.wiring.local import LOCAL_OWNER
from idea_explorer.wiring.toolsets import toolset
from tests.fakes.models import ScriptedModel, raw, says, scripted, tool_results

pytestmark = pytest.mark.skipif(not can_isolate(), reason="no user namespaces here")
COMMAND = "grep -q green tea.txt || { echo no green tea; exit 1; }"


def git(root: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=A", "-c", "user.email=a@example.com"]
    subprocess.run(["git", "-C", str(root), *identity, *arguments], check=True, capture_output=True)


def call(number: int, name: str, **given: str) -> ModelAnswer:
    use: JsonObject = {"type": "tool_use", "id": f"call_{number}", "name": name, "input": {**given}}
    return raw(use, stop_reason="tool_use")


def edit(number: int, content: str) -> ModelAnswer:
    return call(number, "edit_file", path="tea.txt", content=content, description="Another tea")


class World:
    """A folder under git with a check, and a model that follows a script."""

    def __init__(self, root: Path, model: ScriptedModel) -> None:
        self.root = root
        (root / "tea.txt").write_text("black\n")
        (root / ".idea-explorer.toml").write_text(f"[checks]\ntest = '{COMMAND}'\n")
        git(root, "init", "--quiet")
        git(root, "add", "--all")
        git(root, "commit", "--quiet", "--message", "Tea")
        settings = Settings(research_dir=root)
        made = local_deps(settings, SilentLog())
        engine = made.engine
        self.deps: Deps = replace(made, engine=lambda: replace(engine(), model=model))

    def start(self) -> Exploration:
        request = ExploreRequest(idea="Another tea", toolset="code")
        queued = submit(request, LOCAL_OWNER, self.deps)
        return explore(queued.id, queued.run.number, self.deps)

    def decide(self, exploration: Exploration, **fields: object) -> Approval:
        pending = [a for a in self.deps.approvals.approvals(exploration.id) if not a.decision]
        request = DecisionRequest.model_validate(fields)
        return decide(exploration.id, pending[0].id, request, LOCAL_OWNER, self.deps)

    def go_on(self, exploration: Exploration) -> Exploration:
        return explore(exploration.id, exploration.run.number, self.deps)


def result_of(model: ScriptedModel, request: int) -> JsonObject:
    (result,) = tool_results(model.requests[request])
    content: JsonObject = json.loads(str(result["content"]))
    return content


def test_checks_run_after_a_person_allowed_them_and_stand_beside_the_next_change(
    tmp_path: Path,
) -> None:
    model = scripted(
        [
            edit(1, "white\n"),
            call(2, "run_checks"),
            call(3, "run_checks", check="test"),
            edit(4, "green\n"),
            call(5, "run_checks"),
            says("# Green tea\n\nThe test passes."),
        ]
    )
    world = World(tmp_path, model)
    waiting = world.start()
    world.decide(waiting, decision="approve")
    waiting = world.go_on(waiting)

    asked = world.deps.approvals.approvals(waiting.id)[-1]
    assert asked.proposal.kind == "checks"
    assert asked.proposal.content == f"test: {COMMAND}\n"
    with pytest.raises(InvalidRequestError, match="approved as they are, or rejected"):
        world.decide(waiting, decision="approve", content="test: true\n", confirm_danger=True)
    world.decide(waiting, decision="approve", confirm_danger=True)
    waiting = world.go_on(waiting)

    assert result_of(model, 2)["message"] == "Call run_checks again to run them."
    failed = result_of(model, 3)
    assert failed["passed"] is False
    assert json.dumps("no green tea\n") in json.dumps(failed["checks"])
    second = world.deps.approvals.approvals(waiting.id)[-1]
    assert second.proposal.path == "tea.txt"
    assert [(c.name, c.outcome, c.output) for c in second.checks] == [
        ("test", "failed", "no green tea\n")
    ]

    world.decide(waiting, decision="approve")
    world.go_on(waiting)

    assert result_of(model, 5)["passed"] is True  # without another question
    assert len(world.deps.approvals.approvals(waiting.id)) == 3
    assert (tmp_path / "tea.txt").read_text() == "green\n"


def test_a_revert_leaves_the_settings_alone(tmp_path: Path) -> None:
    model = scripted([call(1, "run_checks"), edit(2, "green\n"), says("# Green tea\n\nDone.")])
    world = World(tmp_path, model)
    waiting = world.start()
    world.decide(waiting, decision="approve", confirm_danger=True)
    waiting = world.go_on(waiting)
    world.decide(waiting, decision="approve")
    done = world.go_on(waiting)
    done = publish(done.id, done.run.number, world.deps)

    revert(done, world.deps)

    assert (tmp_path / "tea.txt").read_text() == "black\n"
    assert COMMAND in (tmp_path / ".idea-explorer.toml").read_text()


def test_a_rejection_runs_nothing_and_asks_again(tmp_path: Path) -> None:
    model = scripted([call(1, "run_checks"), call(2, "run_checks"), says("# Tea\n\nNot checked.")])
    world = World(tmp_path, model)
    waiting = world.start()
    world.decide(waiting, decision="reject", reason="Not on my machine.")
    waiting = world.go_on(waiting)

    assert result_of(model, 1)["error_type"] == "rejected"
    assert waiting.status == "awaiting_approval"


def test_the_tool_is_there_only_where_the_last_commit_names_checks(tmp_path: Path) -> None:
    assert "run_checks" not in toolset(Settings(research_dir=tmp_path), "code").tools
    World(tmp_path, scripted([]))
    assert "run_checks" in toolset(Settings(research_dir=tmp_path), "code").tools
