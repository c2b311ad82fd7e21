"""The code toolset as a program: a scripted model over the wire, a small repository, a person."""

import json
import os
import pty
import select
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.anthropic_scripts import ByConversation, Entry
from tests.fakes.anthropic_server import FakeAnthropic
from tests.fakes.anthropic_turns import answer, text, tool_use
from tests.fakes.command import Done, idea, start

FILES = {
    "package.json": '{"name": "tea-room", "version": "1.2.3"}\n',
    "src/service.ts": "export class TeaService {\n  brew() {}  // TODO: use hot water\n}\n",
    "src/app.ts": "import { TeaService } from './service';\n\nnew TeaService().brew();\n",
    "src/menu.ts": "import { TeaService } from './service';\n// TODO: prices\n",
    "docs/notes.md": "Nothing to do.\n",
}
COMMENTED = "// Brews tea.\n" + FILES["src/service.ts"]
EDIT = {"path": "src/service.ts", "content": COMMENTED, "description": "Say what it is for"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "repository"
    for name, content in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(content)
    return root


@pytest.fixture
def home(folder: Path) -> "Home":
    return Home(folder)


class Home:
    """A machine with the command and a repository on it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment: dict[str, str] = {}

    def model(self, *script: Entry) -> FakeAnthropic:
        return FakeAnthropic(ByConversation(script), expected_key="test-key")

    def using(self, server: FakeAnthropic) -> None:
        self.environment = {"ANTHROPIC_API_KEY": "test-key", "ANTHROPIC_BASE_URL": server.url}

    def idea(self, *arguments: str) -> Done:
        return idea(*arguments, env=self.environment, folder=self.folder)

    def explore(self, *flags: str) -> Done:
        return self.idea("explore", "Look at the code", "--toolset", "code", *flags)

    def read(self, name: str) -> str:
        return (self.folder / name).read_text()


def results(server: FakeAnthropic, request: int = -1) -> list[dict[str, Any]]:
    """What the tools answered, as the model got it."""
    content = server.requests[request].body["messages"][-1]["content"]
    return [json.loads(block["content"]) for block in content if block["type"] == "tool_result"]


def answered(home: Home, *calls: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The outcome of a run with one step of calls, and what these found."""
    with home.model(answer(*calls), answer(text("# Found\n\nAs above."))) as server:
        home.using(server)
        done = home.explore("--json")
    assert server.violations == []
    assert done.returncode == 0, done.stderr
    outcome: dict[str, Any] = json.loads(done.stdout)
    assert (outcome["status"], outcome["content"]) == ("completed", "# Found\n\nAs above.")
    return outcome, results(server)


def test_reads_package_json_to_name_the_project(home: Home) -> None:
    _, (listed, read) = answered(
        home,
        tool_use("list_files", {"path": "."}),
        tool_use("read_file", {"path": "package.json"}),
    )
    assert [entry["name"] for entry in listed["entries"]] == ["docs", "package.json", "src"]
    assert '"name": "tea-room"' in read["content"]


def test_finds_where_a_class_is_defined(home: Home) -> None:
    _, (found,) = answered(home, tool_use("find_definition", {"symbol": "TeaService"}))
    assert [(d["file"], d["line"], d["kind"]) for d in found["definitions"]] == [
        ("src/service.ts", 1, "class")
    ]


def test_finds_all_todos(home: Home) -> None:
    _, (found,) = answered(home, tool_use("search_files", {"pattern": "TODO"}))
    assert {(m["file"], m["line"]) for m in found["matches"]} == {
        ("src/service.ts", 2),
        ("src/menu.ts", 2),
    }


def test_finds_who_imports_a_module(home: Home) -> None:
    _, (found,) = answered(home, tool_use("find_importers", {"modulePath": "src/service.ts"}))
    assert {i["file"] for i in found["importers"]} == {"src/app.ts", "src/menu.ts"}


SCRIPT = (
    answer(tool_use("read_file", {"path": "src/service.ts"})),
    answer(text("A comment."), tool_use("edit_file", EDIT)),
    answer(text("# Done\n\nThe comment is there.")),
)


def test_adds_a_comment_once_it_is_approved(home: Home) -> None:
    with home.model(*SCRIPT) as server:
        home.using(server)
        waiting = home.explore("--json")
        outcome = json.loads(waiting.stdout)
        assert (waiting.returncode, outcome["status"]) == (3, "awaiting_approval")
        last = waiting.stderr.splitlines()[-1]
        assert f"decide with `idea approve {outcome['id']}`" in last

        early = home.idea("resume", outcome["id"], "--json")
        assert (early.returncode, home.read("src/service.ts")) == (3, FILES["src/service.ts"])
        listed = home.idea("approve", outcome["id"], "--list")
        assert "+// Brews tea." in listed.stdout
        approved = home.idea("approve", outcome["id"], "--research", str(home.folder))
        assert approved.returncode == 0, approved.stderr
        here = f"{outcome['id']} --research {home.folder}"
        assert approved.stdout.splitlines() == [
            "src/service.ts: approved and written",
            f"Continue with: idea resume {here}",
        ]
        assert home.read("src/service.ts") == COMMENTED
        again = home.idea("reject", outcome["id"], "--reason", "Too late")
        assert (again.returncode, "no changes to decide on" in again.stderr) == (1, True)
        assert f"Everything is decided. Continue with: idea resume {outcome['id']}" in again.stderr

        done = home.idea("resume", outcome["id"], "--json")

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["content"] == "# Done\n\nThe comment is there."
    assert home.read("src/service.ts") == COMMENTED
    (written,) = results(server)
    assert (written["ok"], written["decision"], written["edited"]) == (True, "approve", False)
    assert server.violations == []
    assert len(server.requests) == 3
    replayed = home.idea("replay", outcome["id"])
    assert (replayed.returncode, replayed.stdout.split(" (")[0]) == (0, "The same report")


def test_a_rejection_reaches_the_model_with_its_reason_and_the_run_ends_well(home: Home) -> None:
    with home.model(*SCRIPT[:2], answer(text("# Left as it is"))) as server:
        home.using(server)
        outcome = json.loads(home.explore("--json").stdout)
        home.idea("reject", outcome["id"], "--reason", "No comments here.")
        done = home.idea("resume", outcome["id"], "--json")

    assert (done.returncode, json.loads(done.stdout)["status"]) == (0, "completed")
    (refused,) = results(server)
    assert refused["error_type"] == "rejected"
    assert refused["message"] == "User rejected changes: No comments here."
    assert home.read("src/service.ts") == FILES["src/service.ts"]


def test_another_content_is_approved_from_a_file(home: Home, tmp_path: Path) -> None:
    mine = tmp_path / "mine.ts"
    mine.write_text("// Mine.\n")
    with home.model(*SCRIPT) as server:
        home.using(server)
        outcome = json.loads(home.explore("--json").stdout)
        approved = home.idea("approve", outcome["id"], "--content", str(mine))
        home.idea("resume", outcome["id"], "--json")

    assert "-export class TeaService {" in approved.stdout
    assert "+// Mine." in approved.stdout

    (written,) = results(server)
    assert (written["edited"], written["content"]) == (True, "// Mine.\n")
    assert home.read("src/service.ts") == "// Mine.\n"


def test_a_file_that_changed_meanwhile_is_left_alone(home: Home) -> None:
    with home.model(*SCRIPT[:2], answer(text("# It has moved on"))) as server:
        home.using(server)
        outcome = json.loads(home.explore("--json").stdout)
        (home.folder / "src/service.ts").write_text("// Somebody was here.\n")
        approved = home.idea("approve", outcome["id"])
        assert approved.returncode == 1
        assert "src/service.ts: stale: src/service.ts has changed since" in approved.stderr
        assert "stale" in home.idea("approve", outcome["id"], "--list").stdout
        done = home.idea("resume", outcome["id"], "--json")

    assert done.returncode == 0
    (refused,) = results(server)
    assert refused["error_type"] == "base_moved"
    assert home.read("src/service.ts") == "// Somebody was here.\n"


class Terminal:
    """A person at a terminal, who waits for words and types others."""

    def __init__(self, home: Home, *arguments: str) -> None:
        self._master, slave = pty.openpty()
        env = {**home.environment, "TERM": "xterm"}
        self.process = start(arguments, [slave] * 3, env=env, folder=home.folder)
        os.close(slave)
        self.seen = ""

    def wait_for(self, words: str) -> None:
        start = len(self.seen)
        while words not in self.seen[start:]:
            ready, _, _ = select.select([self._master], [], [], 30)
            assert ready, self.seen
            self.seen += os.read(self._master, 65_536).decode()

    def type(self, line: str) -> None:
        os.write(self._master, line.encode() + b"\n")

    def end(self) -> int:
        while True:
            try:
                data = os.read(self._master, 65_536)
            except OSError:  # the other end is gone
                break
            if not data:
                break
            self.seen += data.decode()
        os.close(self._master)
        return self.process.wait(30)


EXPLORE = ("explore", "Look at the code", "--toolset", "code")


def test_a_person_at_a_terminal_sees_the_diff_and_approves(home: Home) -> None:
    with home.model(*SCRIPT) as server:
        home.using(server)
        terminal = Terminal(home, *EXPLORE)
        terminal.wait_for("[a]pprove")
        assert "\x1b[32m+// Brews tea.\x1b[0m" in terminal.seen
        terminal.type("a")
        code = terminal.end()

    assert code == 0, terminal.seen
    assert home.read("src/service.ts") == COMMENTED


def test_a_person_at_a_terminal_edits_in_their_editor(home: Home, tmp_path: Path) -> None:
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\necho "// Edited." > "$1"\n')
    editor.chmod(0o755)
    with home.model(*SCRIPT) as server:
        home.using(server)
        home.environment["EDITOR"] = str(editor)
        terminal = Terminal(home, *EXPLORE)
        terminal.wait_for("[a]pprove")
        terminal.type("e")
        terminal.wait_for("+// Edited.")
        terminal.type("a")
        code = terminal.end()

    assert code == 0, terminal.seen
    assert home.read("src/service.ts") == "// Edited.\n"


def test_a_terminal_that_closes_while_it_asks_ends_the_command(home: Home) -> None:
    with home.model(*SCRIPT) as server:
        home.using(server)
        terminal = Terminal(home, *EXPLORE)
        terminal.wait_for("[a]pprove")
        terminal.process.send_signal(signal.SIGHUP)

        assert terminal.end() == -signal.SIGHUP
    assert home.read("src/service.ts") == FILES["src/service.ts"]


def test_a_person_at_a_terminal_may_leave_it_waiting(home: Home) -> None:
    with home.model(*SCRIPT) as server:
        home.using(server)
        terminal = Terminal(home, *EXPLORE)
        terminal.wait_for("[a]pprove")
        terminal.type("l")
        code = terminal.end()

    assert code == 3
    assert "idea approve" in terminal.seen
    assert home.read("src/service.ts") == FILES["src/service.ts"]
