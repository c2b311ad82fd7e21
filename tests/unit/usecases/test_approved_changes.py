"""What approving does: it writes at once, exactly what was shown, or says that the file has moved on."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from idea_explorer.api.approvals import build_approval_view
from idea_explorer.domain.errors import (
    ConfigurationError,
    ConflictError,
    InvalidRequestError,
    UnavailableError,
)
from idea_explorer.domain.exploration import Exploration
from idea_explorer.ports import ChangeWriter, ModelAnswer
from idea_explorer.usecases.revert import undo_changes, written_changes
from tests.fakes.editing import EditingWorld
from tests.fakes.models import calls, says

DONE = says("# Done")
OLD = "".join(f"line {n}\n" for n in range(40))
NEW = OLD.replace("line 3\n", "line three\n").replace("line 30\n", "line thirty\n")
SAID = {"description": "Change it"}


def proposing(*wanted: tuple[str, dict[str, Any]]) -> ModelAnswer:
    return calls(*((name, {**SAID, **given}) for name, given in wanted))


EDIT = proposing(("edit_file", {"path": "a.txt", "content": NEW}))


class World(EditingWorld):
    def __init__(self, tmp_path: Path, *replies: Any) -> None:
        super().__init__(tmp_path, *replies)
        (self.code / "a.txt").write_text(OLD)
        self.run = self.explore()
        self.asked = self.pending(self.run)

    def statuses(self) -> list[str]:
        approvals = self.bench.deps.approvals.approvals(self.run.id)
        waiting: Exploration = self.bench.store.load(self.run.id)
        return [build_approval_view(approval, waiting).status for approval in approvals]

    def text(self, path: str = "a.txt") -> str | None:
        file = self.code / path
        return file.read_text() if file.exists() else None


def test_an_approved_change_is_written_at_once_and_only_once(tmp_path: Path) -> None:
    world = World(tmp_path, EDIT, DONE)
    decided = world.decide(world.asked[0], decision="approve")
    assert (decided.is_written, world.text(), world.statuses()) == (True, NEW, ["approved"])

    (world.code / "a.txt").write_text("changed again\n")
    done = world.go_on(world.run)

    assert (done.run.outcome, world.text()) == ("completed", "changed again\n")
    assert world.results()[0]["ok"]


def test_whoever_follows_the_run_is_told_where_a_file_goes(tmp_path: Path) -> None:
    moving = proposing(("move_file", {"path": "a.txt", "new_path": "lib/b.txt"}))
    world = World(tmp_path, moving, DONE)

    events = world.bench.deps.events.read(world.run.id)
    (asked,) = [json.loads(event.data) for event in events if event.type == "approval_requested"]
    assert (asked["path"], asked["newPath"]) == ("a.txt", "lib/b.txt")


def test_a_file_that_has_changed_is_stale_and_the_list_says_so(tmp_path: Path) -> None:
    world = World(tmp_path, EDIT, DONE)
    (world.code / "a.txt").write_text("somebody was here\n")
    decided = world.decide(world.asked[0], decision="approve")

    assert decided.applied is not None
    assert "has changed since the proposal was made" in decided.applied.message
    assert world.statuses() == ["stale"]
    (world.code / "a.txt").write_text(OLD)  # too late: what was said stands
    world.go_on(world.run)
    assert world.results()[0]["error_type"] == "base_moved"
    assert world.text() == OLD


def test_what_cannot_be_written_now_is_written_by_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(tmp_path, EDIT, DONE)

    def out_of_reach(*_: object) -> None:
        raise UnavailableError("GitHub is out of reach.")

    assert world.bench.deps.writer_for is not None
    writer = world.bench.deps.writer_for(world.run)
    with monkeypatch.context() as patch:
        patch.setattr(type(writer), "write_change", out_of_reach)
        decided = world.decide(world.asked[0], decision="approve")
    assert (decided.applied, world.statuses(), world.text()) == (None, ["approved"], OLD)

    assert world.go_on(world.run).run.outcome == "completed"
    assert world.text() == NEW


def test_without_what_writing_needs_nothing_is_decided_and_it_can_be_decided_later(
    tmp_path: Path,
) -> None:
    world = World(tmp_path, EDIT, DONE)
    whole = world.bench.deps

    def needs_token(_: Exploration) -> ChangeWriter:
        raise ConfigurationError("GITHUB_TOKEN is not set.")

    world.bench.deps = replace(whole, writer_for=needs_token)
    with pytest.raises(ConfigurationError):
        world.decide(world.asked[0], decision="approve")
    assert world.pending(world.run) == world.asked

    world.bench.deps = whole
    assert world.decide(world.asked[0], decision="approve").is_written
    assert world.go_on(world.run).run.outcome == "completed"


def test_a_second_change_of_a_file_in_one_answer_is_refused_before_anybody_is_asked(
    tmp_path: Path,
) -> None:
    twice = proposing(
        ("edit_file", {"path": "a.txt", "content": NEW}),
        ("edit_file", {"path": "a.txt", "content": "other\n"}),
        ("move_file", {"path": "a.txt", "new_path": "b.txt"}),
        ("create_file", {"path": "c.txt", "content": "c\n"}),
    )
    world = World(tmp_path, twice, DONE)
    assert [approval.proposal.path for approval in world.asked] == ["a.txt", "c.txt"]
    for approval in world.asked:
        assert world.decide(approval, decision="approve").is_written
    world.go_on(world.run)

    assert (world.text(), world.text("c.txt")) == (NEW, "c\n")
    refused = [result for result in world.results() if not result["ok"]]
    assert {result["error_type"] for result in refused} == {"invalid_arguments"}
    assert [result["message"] for result in refused] == [
        "Another call of this answer changes a.txt already."
    ] * 2


def test_some_hunks_are_approved_and_the_model_is_told_which(tmp_path: Path) -> None:
    world = World(tmp_path, EDIT, DONE)
    shown = world.preview(world.asked[0], hunks=[2])
    assert "+line thirty" in shown
    assert "line three" not in shown
    decided = world.decide(world.asked[0], decision="approve", hunks=[2])
    assert decided.is_edited
    assert world.text() == OLD.replace("line 30\n", "line thirty\n")
    world.go_on(world.run)
    (result,) = world.results()
    assert (result["edited"], result["diff"]) == (True, shown)


@pytest.mark.parametrize("edit", [{"hunks": [2]}, {"content": "other\n"}])
def test_an_edit_of_a_proposal_whose_diff_does_not_lead_back_is_refused(
    tmp_path: Path, edit: dict[str, Any]
) -> None:
    world = World(tmp_path, EDIT, DONE)
    (asked,) = world.asked
    proposal = asked.proposal.model_copy(update={"content": NEW.replace("line 4\n", "line four\n")})
    older = asked.model_copy(update={"proposal": proposal, "id": "older"})
    world.bench.deps.approvals.request_approval(older)

    with pytest.raises(ConflictError, match=r"What a\.txt was before is not known any more"):
        world.preview(older, **edit)


def test_all_hunks_are_the_proposal(tmp_path: Path) -> None:
    world = World(tmp_path, EDIT, DONE)
    assert not world.decide(world.asked[0], decision="approve", hunks=[1, 2, 1]).is_edited
    assert world.text() == NEW


@pytest.mark.parametrize(
    ("call", "fields", "said"),
    [
        (EDIT, {"hunks": [3]}, "The change has 2 hunks."),
        (EDIT, {"content": OLD}, "holds this already"),
        (
            proposing(("create_file", {"path": "b.txt", "content": "b\n"})),
            {"hunks": [1]},
            "Only an",
        ),
        (proposing(("delete_file", {"path": "a.txt"})), {"content": "b\n"}, "has no content"),
    ],
)
def test_an_edit_that_makes_no_sense_is_refused(
    tmp_path: Path, call: ModelAnswer, fields: dict[str, Any], said: str
) -> None:
    world = World(tmp_path, call, DONE)
    for attempt in (world.preview, lambda a, **f: world.decide(a, decision="approve", **f)):
        with pytest.raises(InvalidRequestError, match=said):
            attempt(world.asked[0], **fields)
    assert (world.text(), world.statuses()) == (OLD, ["pending"])


def test_an_edit_is_shown_as_a_diff_from_the_file(tmp_path: Path) -> None:
    world = World(tmp_path, EDIT, DONE)
    mine = OLD.replace("line 7\n", "mine\n")
    shown = world.preview(world.asked[0], content=mine)
    assert "-line 7\n+mine\n" in shown
    assert "line three" not in shown
    assert world.statuses() == ["pending"]


def test_the_diff_of_an_edit_shows_the_model_no_part_of_a_key(tmp_path: Path) -> None:
    line = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj\n"
    key = f"-----BEGIN PRIVATE KEY-----\n{line * 9}-----END PRIVATE KEY-----\n"
    replies = [
        proposing(
            ("edit_file", {"path": "k.txt", "replacements": [{"old": "end\n", "new": "End\n"}]})
        ),
        DONE,
    ]
    world = EditingWorld(tmp_path, *replies)
    (world.code / "k.txt").write_text(f"{key}end\n")
    run = world.explore()
    (approval,) = world.pending(run)
    world.decide(approval, decision="approve", content=f"{key}mine\n")
    world.go_on(run)
    (result,) = world.results()
    assert "-end\n+mine\n" in result["diff"]
    assert line[:8] not in result["diff"]


def test_only_what_was_shown_is_approved(tmp_path: Path) -> None:
    world = World(tmp_path, EDIT, DONE)
    with pytest.raises(ConflictError, match="not the content that was shown"):
        world.decide(world.asked[0], decision="approve", content="mine\n", content_hash="0" * 64)
    assert world.statuses() == ["pending"]


def test_a_form_that_knows_one_line_end_changes_no_other(tmp_path: Path) -> None:
    mixed = "a\r\nb\nc\r\n"
    replies = [proposing(("edit_file", {"path": "m.txt", "content": "a\nB\nc\n"})), DONE]
    world = EditingWorld(tmp_path, *replies)
    (world.code / "m.txt").write_bytes(mixed.encode())
    run = world.explore()
    (approval,) = world.pending(run)
    assert approval.proposal.content == "a\r\nB\nc\r\n"
    fields = {"content": "a\nB\nnew\nc\n", "keep_line_ends": True}
    assert "+new\n" in world.preview(approval, **fields)
    world.decide(approval, decision="approve", **fields)
    assert (world.code / "m.txt").read_bytes() == b"a\r\nB\nnew\nc\r\n"


# deleting and moving

MOVES = proposing(
    ("delete_file", {"path": "a.txt"}),
    ("move_file", {"path": "b.txt", "new_path": "lib/b.txt"}),
)


def test_a_file_is_deleted_and_another_moved_once_approved(tmp_path: Path) -> None:
    (tmp_path / "code").mkdir()
    (tmp_path / "code/b.txt").write_text("b\n")
    (tmp_path / "code/b.txt").chmod(0o755)
    reading = calls(("read_file", {"path": "a.txt"}), ("read_file", {"path": "lib/b.txt"}))
    world = World(tmp_path, MOVES, reading, DONE)
    assert (world.text(), world.text("b.txt")) == (OLD, "b\n")
    for approval in world.asked:
        world.decide(approval, decision="approve")
    assert (world.text(), world.text("b.txt"), world.text("lib/b.txt")) == (None, None, "b\n")
    assert (world.code / "lib/b.txt").stat().st_mode & 0o777 == 0o755

    done = world.go_on(world.run)

    assert done.run.outcome == "completed"
    missing, moved = world.results()
    assert (missing["error_type"], moved["content"]) == ("file_not_found", "1\tb")
    (decided,) = [e for e in world.bench.entries(done) if e.kind == "decided"]
    assert [(w.path, w.content) for w in decided.written] == [
        ("a.txt", None),
        ("lib/b.txt", "b\n"),
        ("b.txt", None),
    ]


@pytest.mark.parametrize("change", ["a.txt", "b.txt", "lib/b.txt"])
def test_nothing_is_deleted_or_moved_where_a_file_has_changed(tmp_path: Path, change: str) -> None:
    (tmp_path / "code").mkdir()
    (tmp_path / "code/b.txt").write_text("b\n")
    world = World(tmp_path, MOVES, DONE)
    (world.code / "lib").mkdir()
    (world.code / change).write_text("somebody was here\n")
    for approval in world.asked:
        world.decide(approval, decision="approve")
    assert world.text(change) == "somebody was here\n"
    assert "stale" in world.statuses()


def test_a_dangerous_file_is_moved_or_deleted_only_with_its_confirmation(tmp_path: Path) -> None:
    call = proposing(
        ("delete_file", {"path": "a.txt"}),
        ("move_file", {"path": "b.txt", "new_path": ".github/workflows/b.yml"}),
    )
    (tmp_path / "code").mkdir()
    (tmp_path / "code/b.txt").write_text("b\n")
    world = World(tmp_path, call, DONE)
    _, move = world.asked
    with pytest.raises(InvalidRequestError, match=r"becomes \.github/workflows/b\.yml, which runs"):
        world.decide(move, decision="approve")
    world.decide(move, decision="approve", confirm_danger=True)
    assert world.text(".github/workflows/b.yml") == "b\n"


def test_what_was_deleted_and_moved_can_be_undone(tmp_path: Path) -> None:
    (tmp_path / "code").mkdir()
    (tmp_path / "code/b.txt").write_text("b\n")
    world = World(tmp_path, MOVES, DONE)
    for approval in world.asked:
        world.decide(approval, decision="approve")
    approvals = world.bench.deps.approvals.approvals(world.run.id)

    class Tree:
        read_text = staticmethod(world.text)

        def names(self, path: str) -> list[str]:
            return []

    # also before the run has seen the decisions
    assert undo_changes(written_changes((), approvals), Tree()) == {
        "a.txt": OLD,
        "lib/b.txt": None,
        "b.txt": "b\n",
    }
    (world.code / "lib/b.txt").write_text("somebody was here\n")
    with pytest.raises(ConflictError, match=r"lib/b\.txt"):
        undo_changes(written_changes((), approvals), Tree())
