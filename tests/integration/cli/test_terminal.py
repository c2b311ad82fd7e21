"""Every command with hostile text everywhere, in front of a terminal that takes down what it is told."""

import argparse
import json
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from idea_explorer.api.approvals import ApprovalPreview, build_approval_view
from idea_explorer.cli import streams
from idea_explorer.cli.decisions import ask_for_decision
from idea_explorer.cli.parser import build_parser
from idea_explorer.cli.screens import open_screen
from idea_explorer.domain.approvals import Approval, propose
from idea_explorer.domain.events import TextDelta, ThinkingDelta, ToolCallError, ToolCallStart
from idea_explorer.domain.ids import ExplorationId
from idea_explorer.domain.paths import RepositoryPath
from idea_explorer.domain.tools import ToolRecord
from idea_explorer.usecases.approvals.decide import EditRequest
from tests.fakes.anthropic_server import FakeAnthropic
from tests.fakes.anthropic_turns import answer, text, tool_use
from tests.fakes.api import Api
from tests.fakes.explorations import NOW
from tests.fakes.serving import Listening
from tests.fakes.terminal import (
    COLUMNS,
    OWN_CONTROLS,
    Terminal,
    run_into_pipe,
    run_on_terminal,
    show_on_terminal,
)

# The window's title, clearing, colours, the other screen, the clipboard, a link, a device's answer, the same
# in C1, reading backwards, other line ends, steps back, and rich's own markup.
EVIL = (
    "EVIL\x1b]0;T\x07\x1b[31m\x1b[2J\x1b[?1049h\x1b]52;c;aGk=\x07\x1b]8;;http://evil.example\x1b\\L\x1b]8;;\x1b\\"
    "\x1bP$q\x1b\\\x1b[6n\x1bc\x9b31m\x9d0;T\x9c\u202egnp\u2066\u200f\u2028\x85\x0b\x0c\r\x08\x7f\U000e0041"
    "[red]x[/red][link=http://evil.example]y[/link]"
)
SHOWN = r"EVIL\x1b]0;T\x07\x1b[31m\x1b[2J"
OBEYED = [
    *map(chr, (*range(0x07, 0x09), 0x0B, 0x0C, *range(0x7F, 0xA0), 0x2028, 0x202E, 0x2066, 0x200F)),
    *("\x1b]", "\x1bP", "\x1bc", "\x1b[?1049", "\x1b[2J", "\x1b[6n"),
]
RUNS = {"terminal": run_on_terminal, "pipe": run_into_pipe}


def commands(parser: argparse.ArgumentParser, path: tuple[str, ...] = ()) -> Iterator[str]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, command in action.choices.items():
                yield from commands(command, (*path, name))
    if parser.get_default("run"):
        yield " ".join(path)


class HostileApi:
    """A deployment in which everything that a person, a model or a file chose is hostile."""

    def __init__(self, folder: Path) -> None:
        self._api = api = Api(folder)
        running = api.run_to(api.submitted(idea=EVIL), "running")
        api.emit(
            running,
            ThinkingDelta(content=f"{EVIL}\n\n"),
            ToolCallStart(tool_call_id="1", tool_name=EVIL, input={"path": EVIL, EVIL: 1}),
            ToolCallError(
                tool_call_id="1",
                error=EVIL,
                retryable=False,
                was_retried=False,
                record=ToolRecord(name=EVIL, path=EVIL, duration_ms=1, ok=False, step=1),
            ),
            TextDelta(content=f"{EVIL}\n{EVIL}"),
        )
        base = f"tea\n{EVIL}\n".encode()
        proposal = propose(RepositoryPath("a.md"), f"{EVIL}\r+forged\n", EVIL, base)
        self.approval = Approval(
            id="approval-1",
            exploration_id=running.id,
            call_id="1",
            proposal=proposal.model_copy(update={"path": EVIL}),
            requested_at=NOW,
        )
        api.approvals.request_approval(self.approval)
        ended = running.finished("completed", at=api.clock.now()).replace(title=EVIL, verdict=EVIL)
        api.store.save(ended.replace(path=EVIL))
        api.store.save_report(running.id, running.lease, f"# {EVIL}\n")
        api.clock.pass_time(60)
        self.exploration = api.store.load(running.id)

    def serve(self) -> ThreadingHTTPServer:
        api = self._api

        class Handler(BaseHTTPRequestHandler):
            def answer(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                headers = {name.lower(): value for name, value in self.headers.items()}
                if self.path.endswith(("/cancel", "/resume", "/webhook")):
                    status, kind = 409, "application/json"
                    said = json.dumps({"error": {"type": "conflict", "message": EVIL}})
                else:
                    reply = api.call(self.command, self.path, body, headers=headers)
                    status, said = reply.status, reply.text
                    kind = reply.headers.get("content-type", "")
                data = said.encode()
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_POST = answer  # noqa: N815

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                pass

        return ThreadingHTTPServer(("127.0.0.1", 0), Handler)


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, ExplorationId]]:
    hostile = HostileApi(tmp_path_factory.mktemp("api"))
    server = hostile.serve()
    with Listening(server):
        yield f"http://127.0.0.1:{server.server_port}", hostile.exploration.id


# "ID" stands for the exploration of the hostile deployment. Without "local", a command talks to it.
CASES: Mapping[str, Sequence[Sequence[str]]] = {
    "submit": [["submit", EVIL], ["submit", EVIL, "--json"], ["submit", "--context", f"{EVIL}.md", "x"]],
    "list": [["list"], ["list", "--json"], ["list", "--status", EVIL]],
    "status": [["status", "ID"], ["status", "ID", "--json"], ["status", EVIL]],
    "watch": [["watch", "ID"], ["watch", "ID", "--json"]],
    "report": [["report", "ID"], ["report", "ID", "--json"], ["report", "ID", "--format", "html"]],
    "open": [["open", EVIL]],
    "search": [["search", EVIL], ["search", EVIL, "--json"], ["search", EVIL, "--local"]],
    "spend": [["spend"], ["spend", "--json"]],
    "cancel": [["cancel", "ID"]],
    "resume": [["resume", "ID"]],
    "revert": [["revert", "ID", "--research", EVIL]],
    "webhook": [["webhook", "resend", "ID"], ["webhook", EVIL, "ID"]],
    "approve": [["approve", "ID", "--list"], ["approve", "ID", "--list", "--json"], ["approve", "ID", EVIL]],
    "reject": [["reject", "ID", "--list"], ["reject", "ID", EVIL]],
    "tool": [["tool", EVIL], ["tool", "calculator", json.dumps({"expression": EVIL})]],
    "tools": [["tools"], ["tools", "--toolset", EVIL]],
    "replay": [["replay", EVIL]],
    "index": [["index", EVIL]],
    "library import": [["library", "import", EVIL]],
    "library list": [["library", "list", "--research", EVIL]],
    "library remove": [["library", "remove", EVIL]],
    "serve": [["serve", "--research", EVIL], ["serve", "--port", EVIL]],
    "doctor": [["doctor", "--research", EVIL], ["doctor", "--research", EVIL, "--json"]],
    "config": [["config"], ["config", EVIL]],
    "config list": [["config", "list", EVIL]],
    "config path": [["config", "path", EVIL]],
    "config get": [["config", "get", EVIL]],
    "config set": [["config", "set", EVIL, EVIL], ["config", "set", "IDEA_USER_LOCATION", EVIL]],
    "config unset": [["config", "unset", EVIL]],
    "config profile": [["config", "profile", EVIL]],
    "config profile add": [["config", "profile", "add", EVIL, EVIL]],
    "config profile use": [["config", "profile", "use", EVIL]],
    "config profile remove": [["config", "profile", "remove", EVIL]],
    "config profile list": [["config", "profile", "list", EVIL]],
    "completion": [["completion", EVIL], ["completion", "bash", "--", ""]],
    "help": [["help", EVIL]],
    "admin": [["admin", EVIL]],
    "admin token": [["admin", "token", EVIL]],
    "admin token add": [["admin", "token", "add", EVIL, "--stack", EVIL, EVIL]],
    "admin token revoke": [["admin", "token", "revoke", EVIL, "--stack", EVIL, EVIL]],
    "admin token list": [["admin", "token", "list", EVIL, EVIL]],
    "admin secret": [["admin", "secret", "--stack", EVIL]],
    "admin secret set": [["admin", "secret", "set", EVIL]],
    "admin dead-letters": [["admin", "dead-letters", EVIL]],
    "admin dead-letters list": [["admin", "dead-letters", "list", EVIL]],
    "admin dead-letters retry": [["admin", "dead-letters", "retry", "--all", EVIL, f"--{EVIL}"]],
    "admin dead-letters drop": [["admin", "dead-letters", "drop", "--all", f"--{EVIL}"]],
    "admin smoke": [["admin", "smoke", "--seconds", EVIL]],
    "admin spend": [["admin", "spend", "--stack", EVIL, "--days", EVIL]],
    "admin pause": [["admin", "pause", EVIL]],
    "admin unpause": [["admin", "unpause", EVIL]],
}  # fmt: skip
ECHOING = {"tools", "replay", "index", "library import", "serve", "admin", "admin token list"}


@pytest.fixture(autouse=True)
def as_wide_as_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where rich would look at the streams of the process."""
    monkeypatch.setenv("COLUMNS", str(COLUMNS))


def test_every_command_has_a_case() -> None:
    assert {*CASES, "explore"} == set(commands(build_parser()))


def check(output: bytes, *, on_terminal: bool) -> str:
    """The text on the screen, once it is clear that nothing but that reached it."""
    terminal = Terminal()
    shown = terminal.show(output)

    assert terminal.is_untouched
    controls = {name for name, _ in terminal.controls}
    assert controls <= (OWN_CONTROLS if on_terminal else set())
    decoded = output.decode()
    assert [sign for sign in OBEYED if sign in decoded] == []
    assert "\r" not in decoded.replace("\r\n", "") or on_terminal
    return shown


@pytest.mark.parametrize("where", RUNS)
@pytest.mark.parametrize("command", CASES)
def test_no_command_lets_text_control_the_terminal(
    command: str,
    where: str,
    api: tuple[str, ExplorationId],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    url, exploration_id = api
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("IDEA_API_URL", url)
    monkeypatch.setenv("IDEA_API_TOKEN", "token")
    monkeypatch.setenv("TERM", "xterm-256color")
    for name in ("IDEA_STACK", "GITHUB_TOKEN", "GITHUB_REPOSITORY"):
        monkeypatch.delenv(name, raising=False)
    for case in CASES[command]:
        arguments = [exploration_id if given == "ID" else given for given in case]
        shown = check(RUNS[where](arguments), on_terminal=where == "terminal")

        if "--json" in case:
            continue
        assert shown
        if any(EVIL in given for given in case) and command in ECHOING:
            assert SHOWN in shown


@pytest.mark.parametrize("where", RUNS)
def test_json_for_a_script_is_json_and_holds_the_text_itself(
    where: str, api: tuple[str, ExplorationId], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IDEA_API_URL", api[0])
    monkeypatch.setenv("IDEA_API_TOKEN", "token")

    output = RUNS[where](["report", api[1], "--json"])

    assert json.loads(output)["content"] == f"# {EVIL}\n"


@pytest.mark.parametrize("where", RUNS)
@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["report"], rf"# {SHOWN}"),
        (["status"], SHOWN),
        (["watch"], rf"Watching: {SHOWN}"),
        (["approve", "--list"], rf"+{SHOWN}"),
        (["cancel"], rf"idea: {SHOWN}"),
    ],
)
def test_what_would_have_been_obeyed_can_be_read(
    where: str,
    arguments: list[str],
    expected: str,
    api: tuple[str, ExplorationId],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("IDEA_API_URL", api[0])
    monkeypatch.setenv("IDEA_API_TOKEN", "token")
    monkeypatch.setenv("TERM", "xterm-256color")
    command, *flags = arguments

    shown = check(RUNS[where]([command, api[1], *flags]), on_terminal=where == "terminal")

    assert expected in shown
    assert "\n+forged" not in shown  # a carriage return begins no line of a diff


@pytest.mark.parametrize("where", RUNS)
def test_a_run_shows_hostile_words_of_its_model_as_text(
    where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns = [
        answer(tool_use("calculator", {"expression": EVIL})),
        answer(text(f"# {EVIL}\n\n{EVIL}")),
    ]
    with FakeAnthropic(turns) as server:
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        monkeypatch.setenv("TERM", "xterm-256color")
        monkeypatch.delenv("IDEA_API_URL", raising=False)
        output = RUNS[where](["explore", EVIL, "--toolset", "assistant"])

    shown = check(output, on_terminal=where == "terminal")
    assert rf"Exploring: {SHOWN}" in shown
    assert rf"# {SHOWN}" in shown


def test_the_question_for_approval_shows_the_change_as_it_is(tmp_path: Path) -> None:
    hostile = HostileApi(tmp_path)
    view = build_approval_view(hostile.approval, hostile.exploration)

    def refuse(edit: EditRequest) -> ApprovalPreview:
        raise AssertionError(f"nobody edits: {edit}")

    shown = check(show_on_terminal(lambda: ask_for_decision(view, refuse)), on_terminal=True)

    assert shown.splitlines()[1].startswith(f"{SHOWN}")
    assert rf"+{SHOWN}" in shown
    assert r"\x0d+forged" in shown


def test_the_end_of_a_long_line_is_shown_while_it_is_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    written = [EVIL, *(f" word{number}" for number in range(30))]

    def write() -> None:
        streams.prepare()
        screen = open_screen()
        for count in range(len(written)):
            screen.show_unfinished("".join(written[: count + 1]))
            screen.show_activity("writing")
            time.sleep(0.01)
        time.sleep(0.2)
        os.write(sys.stderr.fileno(), b"<then>")
        screen.pause()

    output = show_on_terminal(write)
    shown = Terminal().show(output.partition(b"<then>")[0]).split()

    assert "word29" in shown
    assert "word0" not in shown
    check(output, on_terminal=True)


def test_what_is_printed_while_the_live_view_moves_is_shown_too() -> None:
    def print_while_moving() -> None:
        streams.prepare()
        screen = open_screen()
        screen.show_activity(EVIL)
        print(EVIL, file=sys.stderr)
        streams.warn(EVIL)
        screen.pause()

    shown = check(show_on_terminal(print_while_moving), on_terminal=True)

    assert shown.splitlines()[0].startswith(SHOWN)
    assert rf"idea: {SHOWN}" in shown
