"""Undoing in a folder what an exploration wrote there: its own work alone, and nothing lost."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from idea_explorer.adapters.folder.git import GitFolder
from idea_explorer.adapters.folder.publisher import FolderPublisher
from idea_explorer.adapters.folder.writer import FolderRestorer, FolderWriter
from idea_explorer.adapters.sqlite.explorations import SqliteStore
from idea_explorer.adapters.sqlite.texts import SqliteApprovals
from idea_explorer.domain.approvals import propose_delete, propose_move
from idea_explorer.domain.errors import ConflictError, MissingError
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.ids import ExplorationId
from idea_explorer.domain.paths import RepositoryPath
from idea_explorer.domain.request import ExploreRequest
from idea_explorer.domain.tools import ToolRecord
from idea_explorer.domain.transcript import ApprovalsDecided, StoredResult
from idea_explorer.ports import RevertResult
from idea_explorer.usecases.approvals.write import write_approved
from idea_explorer.usecases.revert import revert
from tests.fakes.clock import ManualClock
from tests.fakes.deps import make_deps
from tests.fakes.desk import DOCUMENT, FOLDER, LOG, Desk
from tests.fakes.explorations import an_approval, an_exploration

NOBODYS = ExplorationId("00000000-0001-7000-8000-000000000000")


def git(root: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(root), *arguments], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


class World:
    """A folder that explorations wrote into, and the way to undo one."""

    def __init__(self, tmp_path: Path) -> None:
        self.root = tmp_path / "team"
        self.root.mkdir()
        self.lock = tmp_path / "lock"
        self.store = SqliteStore(tmp_path / "explorations.db")
        self.approvals = SqliteApprovals(tmp_path / "explorations.db")
        self.desk = Desk(self.store, FolderPublisher(self.root, self.lock), ManualClock())
        self.git: GitFolder | None = None

    def use_git(self) -> None:
        git(self.root, "init", "--quiet", "--initial-branch=main")
        git(self.root, "config", "user.name", "Somebody")
        git(self.root, "config", "user.email", "somebody@example.com")
        (self.root / "README.md").write_text("hello\n")
        git(self.root, "add", "README.md")
        git(self.root, "commit", "--quiet", "--message", "First")
        self.git = GitFolder(self.root)
        self.desk.publisher = FolderPublisher(self.root, self.lock, self.git)

    def files(self) -> dict[str, bytes]:
        found = [path for path in self.root.rglob("*") if path.is_file()]
        inside = {path.relative_to(self.root).as_posix(): path.read_bytes() for path in found}
        return {name: data for name, data in inside.items() if not name.startswith(".git/")}

    def wrote(self, *changes: tuple[str, str], **fields: Any) -> Exploration:
        """An exploration of code whose changes were approved and written, one after the other."""
        exploration = an_exploration(
            status="completed", request=ExploreRequest(idea="Tea", toolset="code"), **fields
        )
        self.store.create(exploration)
        self.write(exploration, 1, *changes)
        return exploration

    def write(self, exploration: Exploration, step: int, *changes: tuple[str, str]) -> None:
        results: list[StoredResult] = []
        for number, (path, content) in enumerate(changes):
            target, call = self.root / path, f"call-{step}-{number}"
            base = target.read_bytes() if target.exists() else None
            approval = an_approval(exploration, path, content, base, call)
            self.approvals.request_approval(approval)
            FolderWriter(self.root, self.lock, self.git).write_change(exploration, approval)
            results.append(
                StoredResult(
                    call_id=call,
                    name="edit_file",
                    input={},
                    payload={},
                    sha256="",
                    record=ToolRecord(name="edit_file", duration_ms=0, ok=True),
                )
            )
        transcript = self.store.open(exploration.id, exploration.lease)
        transcript.append(ApprovalsDecided(step=step, results=tuple(results)))

    def revert(self, exploration: Exploration) -> RevertResult:
        return revert(
            self.store.load(exploration.id),
            make_deps(
                None,
                store=self.store,
                approvals=self.approvals,
                restorer=lambda: FolderRestorer(self.root, self.lock, self.git),
            ),
        )


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_a_report_goes_with_its_log_and_its_folder(world: World) -> None:
    final = world.desk.publish(world.desk.finished())
    other = world.desk.publish(world.desk.finished(idea="Another idea"))

    undone = world.revert(final)

    assert undone == RevertResult([LOG, DOCUMENT], True)
    assert not (world.root / FOLDER).exists()
    assert other.publication.document in world.files()
    assert world.revert(final) == RevertResult([DOCUMENT], False)


def test_both_runs_of_an_exploration_go(world: World) -> None:
    final = world.desk.publish(world.desk.finished())
    world.desk.publish(world.desk.again(final.id, "# The second run\n\nMore."))

    world.revert(final)

    assert world.files() == {}


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_an_update_goes_and_the_document_stays(world: World, newline: str) -> None:
    world.desk.publish(world.desk.finished())
    for path in (DOCUMENT, LOG):
        text = (world.root / path).read_text()
        (world.root / path).write_bytes(text.replace("\n", newline).encode())
    before = world.files()
    update = world.desk.publish(
        world.desk.finished(report="# News", record={"builds_on": DOCUMENT}, update=True)
    )
    assert world.files() != before

    world.revert(update)

    assert world.files() == before


def test_an_update_whose_undoing_was_broken_off_before_the_log_is_undone_to_its_end(
    world: World,
) -> None:
    world.desk.publish(world.desk.finished())
    before = world.files()
    update = world.desk.publish(
        world.desk.finished(report="# News", record={"builds_on": DOCUMENT}, update=True)
    )
    (world.root / DOCUMENT).write_bytes(before[DOCUMENT])

    assert world.revert(update) == RevertResult([LOG], True)

    assert world.files() == before


def test_an_update_between_others_goes_alone(world: World) -> None:
    world.desk.publish(world.desk.finished())
    record = {"builds_on": DOCUMENT}
    first, second = (
        world.desk.publish(world.desk.finished(report=report, record=record, update=True))
        for report in ("# First news", "# Second news")
    )

    world.revert(first)

    text = (world.root / DOCUMENT).read_text()
    assert "First news" not in text
    assert "Second news" in text
    assert [entry["jobId"] for entry in json.loads((world.root / LOG).read_text())][1:] == [
        second.id
    ]


def test_a_report_that_somebody_changed_stays_with_its_log(world: World) -> None:
    final = world.desk.publish(world.desk.finished())
    (world.root / DOCUMENT).write_text("# In our own words\n")
    before = world.files()

    with pytest.raises(ConflictError, match=f"Changed since: {DOCUMENT}"):
        world.revert(final)

    assert world.files() == before


def test_a_section_that_somebody_changed_stays(world: World) -> None:
    world.desk.publish(world.desk.finished())
    update = world.desk.publish(
        world.desk.finished(report="# News", record={"builds_on": DOCUMENT}, update=True)
    )
    with (world.root / DOCUMENT).open("a") as file:
        file.write("\nAnd a note of ours.\n")
    before = world.files()

    with pytest.raises(ConflictError, match=r"research\.md"):
        world.revert(update)

    assert world.files() == before


def test_what_was_committed_is_undone_by_a_commit_that_touches_nothing_else(world: World) -> None:
    world.use_git()
    final = world.desk.publish(world.desk.finished())
    (world.root / "README.md").write_text("being written\n")

    undone = world.revert(final)

    assert undone.commit == git(world.root, "rev-parse", "HEAD")
    message = git(world.root, "log", "-1", "--format=%B")
    assert message.startswith(
        f"Revert exploration {final.id}\n\nThis reverts commit {final.publication.commit}."
    )
    assert git(world.root, "ls-tree", "-r", "--name-only", "HEAD") == "README.md"
    assert git(world.root, "status", "--short") == "M README.md"
    assert world.revert(final).is_new is False


def before_the_log(world: World) -> None:
    (world.root / DOCUMENT).unlink()


def before_the_commit(world: World) -> None:
    FolderRestorer(world.root, world.lock).restore(NOBODYS, lambda _: {DOCUMENT: None, LOG: None})


def within_the_commit(world: World) -> None:
    before_the_commit(world)
    git(world.root, "add", "--", DOCUMENT, LOG)


@pytest.mark.parametrize("broken_off", [before_the_log, before_the_commit, within_the_commit])
def test_one_that_was_broken_off_before_its_commit_is_committed_whole(
    world: World, broken_off: Callable[[World], None]
) -> None:
    world.use_git()
    final = world.desk.publish(world.desk.finished())
    (world.root / "README.md").write_text("being written\n")
    broken_off(world)

    undone = world.revert(final)

    assert undone == RevertResult(
        [LOG, DOCUMENT], True, commit=git(world.root, "rev-parse", "HEAD")
    )
    assert git(world.root, "ls-tree", "-r", "--name-only", "HEAD") == "README.md"
    assert git(world.root, "status", "--short") == "M README.md"
    assert world.revert(final) == RevertResult([DOCUMENT], False)


def test_an_update_that_was_broken_off_before_its_commit_is_committed_whole(world: World) -> None:
    world.use_git()
    world.desk.publish(world.desk.finished())
    before = world.files()
    update = world.desk.publish(
        world.desk.finished(report="# News", record={"builds_on": DOCUMENT}, update=True)
    )
    for path in (DOCUMENT, LOG):
        (world.root / path).write_bytes(before[path])

    undone = world.revert(update)

    assert undone == RevertResult(
        [LOG, DOCUMENT], True, commit=git(world.root, "rev-parse", "HEAD")
    )
    assert world.files() == before
    assert git(world.root, "status", "--short") == ""


def test_what_somebody_does_to_a_file_after_it_was_undone_is_not_committed(world: World) -> None:
    world.use_git()
    world.desk.publish(world.desk.finished())
    update = world.desk.publish(
        world.desk.finished(report="# News", record={"builds_on": DOCUMENT}, update=True)
    )
    world.revert(update)
    head = git(world.root, "rev-parse", "HEAD")
    (world.root / DOCUMENT).write_text("# In our own words\n")

    assert world.revert(update) == RevertResult([DOCUMENT], False)

    assert git(world.root, "rev-parse", "HEAD") == head
    assert (world.root / DOCUMENT).read_text() == "# In our own words\n"


def test_what_was_not_committed_is_undone_without_a_commit(world: World) -> None:
    world.use_git()
    world.desk.publisher = FolderPublisher(world.root, world.lock)
    final = world.desk.publish(world.desk.finished())

    assert world.revert(final).commit is None

    assert git(world.root, "log", "--format=%s") == "First"
    assert git(world.root, "status", "--short") == ""


def test_changed_files_get_back_every_byte_and_new_ones_go(world: World) -> None:
    (world.root / "src").mkdir()
    (world.root / "src/app.py").write_bytes(b"\xef\xbb\xbfprint('tea')\r\nend")
    (world.root / "run.sh").write_text("echo tea\n")
    (world.root / "run.sh").chmod(0o755)
    before = world.files()
    exploration = world.wrote(
        ("src/app.py", "print('green')\n"),
        ("src/app.py", "print('white')\n"),
        ("run.sh", "echo green\n"),
        ("docs/deep/new.md", "# New\n"),
    )
    assert world.files() != before

    undone = world.revert(exploration)

    assert undone == RevertResult(["docs/deep/new.md", "run.sh", "src/app.py"], True)
    assert world.files() == before
    assert (world.root / "run.sh").stat().st_mode & 0o777 == 0o755
    assert not (world.root / "docs").exists()
    assert world.revert(exploration) == RevertResult(undone.files, False)


def test_a_folder_that_holds_something_else_by_now_stays(world: World) -> None:
    exploration = world.wrote(("docs/new.md", "# New\n"))
    (world.root / "docs/mine.md").write_text("mine\n")

    world.revert(exploration)

    assert world.files() == {"docs/mine.md": b"mine\n"}


def changed(world: World) -> None:
    (world.root / "a.txt").write_text("somebody was here\n")


def removed(world: World) -> None:
    (world.root / "a.txt").unlink()


def linked(world: World) -> None:
    (world.root / "a.txt").rename(world.root / "real.txt")
    (world.root / "a.txt").symlink_to("real.txt")


@pytest.mark.parametrize("meanwhile", [changed, removed, linked])
def test_of_files_that_moved_on_none_is_touched(
    world: World, meanwhile: Callable[[World], None]
) -> None:
    (world.root / "a.txt").write_text("old a\n")
    (world.root / "b.txt").write_text("old b\n")
    exploration = world.wrote(("a.txt", "new a\n"), ("b.txt", "new b\n"))
    meanwhile(world)
    before = world.files()

    with pytest.raises(Exception, match=r"a\.txt"):
        world.revert(exploration)

    assert world.files() == before


def test_one_that_was_broken_off_is_undone_to_its_end(world: World) -> None:
    (world.root / "a.txt").write_text("old a\n")
    (world.root / "b.txt").write_text("old b\n")
    exploration = world.wrote(("a.txt", "new a\n"), ("b.txt", "new b\n"))
    (world.root / "a.txt").write_text("old a\n")

    assert world.revert(exploration) == RevertResult(["b.txt"], True)

    assert world.files() == {"a.txt": b"old a\n", "b.txt": b"old b\n"}


def test_a_change_by_somebody_between_two_of_its_own_is_kept(world: World) -> None:
    (world.root / "a.txt").write_text("old\n")
    exploration = world.wrote(("a.txt", "new\n"))
    (world.root / "a.txt").write_text("by hand\n")
    world.write(exploration, 2, ("a.txt", "newer\n"))

    with pytest.raises(ConflictError, match=r"a\.txt"):
        world.revert(exploration)

    assert (world.root / "a.txt").read_text() == "newer\n"


def test_one_that_was_answered_with_what_is_there_has_written_nothing(world: World) -> None:
    final = world.desk.publish(world.desk.finished())
    reused = an_exploration(
        status="completed", document=final.publication.document, reused=final.publication.document
    )
    world.store.create(reused)

    with pytest.raises(MissingError, match="wrote nothing"):
        world.revert(reused)

    assert DOCUMENT in world.files()


def test_one_that_wrote_nothing_or_may_still_write_is_refused(world: World) -> None:
    with pytest.raises(MissingError, match="wrote nothing"):
        world.revert(world.wrote())
    waiting = an_exploration(status="awaiting_approval")
    world.store.create(waiting)
    with pytest.raises(ConflictError, match="has not ended, so it may still write"):
        world.revert(waiting)


def test_what_a_person_has_not_committed_is_restored_and_left_to_them(world: World) -> None:
    world.use_git()
    (world.root / "README.md").write_text("being written\n")
    exploration = world.wrote(("README.md", "being written\nand changed\n"), ("new.py", "x\n"))
    assert git(world.root, "status", "--short") == "M README.md"

    undone = world.revert(exploration)

    assert undone.files == ["README.md", "new.py"]
    assert undone.uncommitted == ("README.md",)
    assert git(world.root, "show", "--name-only", "--format=", "HEAD") == "new.py"
    assert (world.root / "README.md").read_text() == "being written\n"
    assert git(world.root, "status", "--short") == "M README.md"


def test_one_that_was_broken_off_is_committed_although_a_person_has_not_committed_all(
    world: World,
) -> None:
    world.use_git()
    (world.root / "README.md").write_text("being written\n")
    exploration = world.wrote(("README.md", "being written\nand changed\n"), ("new.py", "x\n"))
    restored = {"README.md": "being written\n", "new.py": None}
    FolderRestorer(world.root, world.lock).restore(NOBODYS, lambda _: restored)

    undone = world.revert(exploration)

    assert (undone.files, undone.is_new) == (["new.py"], True)
    assert git(world.root, "show", "--name-only", "--format=", "HEAD") == "new.py"
    assert git(world.root, "status", "--short") == "M README.md"
    assert not world.revert(exploration).is_new


def test_files_that_were_deleted_or_moved_get_their_permissions_back(world: World) -> None:
    exploration = world.wrote()
    for name in ("run.sh", "go.sh"):
        (world.root / name).write_text("echo\n")
        (world.root / name).chmod(0o755)
    run, go, new = map(RepositoryPath, ("run.sh", "go.sh", "bin/go.sh"))
    deps = make_deps(None, store=world.store, approvals=world.approvals)
    proposals = (propose_delete(run, "", b"echo\n"), propose_move(go, new, "", b"echo\n"))
    for proposal in proposals:
        asked = an_approval(exploration, proposal.path, "", None)
        asked = asked.model_copy(update={"proposal": proposal})
        world.approvals.request_approval(asked)
        write_approved(exploration, asked, lambda _: FolderWriter(world.root, world.lock), deps)
    assert [*world.files()] == ["bin/go.sh"]

    world.revert(exploration)

    modes = {name: (world.root / name).stat().st_mode & 0o777 for name in world.files()}
    assert modes == {"run.sh": 0o755, "go.sh": 0o755}
