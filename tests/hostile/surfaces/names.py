"""Paths, refs, texts of commits, text on a terminal, and addresses."""

import contextlib
import os
import posixpath
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import unquote, urlsplit

import httpcore2
import httpx2

from idea_explorer.adapters.clock import SystemClock
from idea_explorer.adapters.folder.research import Folder
from idea_explorer.adapters.github.client import GitHubClient
from idea_explorer.adapters.http.public import PublicHttp
from idea_explorer.agent.tool_calls import ToolExecutor, ToolLimiter
from idea_explorer.agent.validation import ArgumentValidator
from idea_explorer.domain.commit_text import clean_body, clean_subject
from idea_explorer.domain.errors import ExplorerError, ToolError
from idea_explorer.domain.names import check_ref, check_repository_name
from idea_explorer.domain.paths import check_repository_path, check_research_path
from idea_explorer.domain.text import make_printable
from idea_explorer.domain.tools import ToolCall
from idea_explorer.tools import DIRECT_VERSION
from idea_explorer.tools.research import research_tools
from tests.fakes.code_repository import CodeBench
from tests.fakes.engine import RecordedLog
from tests.hostile.surfaces.base import (
    CONTROL,
    Check,
    calls_with,
    expect_no_crash,
    expect_no_secret,
    fill,
    surface,
)


@surface("path rules", "paths", "unicode", "refs")
def path_rules(folder: Path) -> Iterator[Check]:
    root = fill(folder).resolve()

    def check(text: str) -> None:
        for rule in (check_research_path, check_repository_path):
            try:
                path = str(rule(text))
            except ToolError:
                continue
            inside = os.path.normpath(root / path)  # by name alone, as links are not followed
            assert inside == str(root) or inside.startswith(f"{root}/"), f"{path!r} leaves the root"
            assert "\x00" not in path
            if rule is check_repository_path:
                assert ".git" not in path.lower().split("/"), f"{path!r} leads into .git"

    yield check


@surface("research tools", "paths", "unicode", "json", share=0.5)
def research_calls(folder: Path) -> Iterator[Check]:
    log = RecordedLog()
    tools = research_tools(Folder(fill(folder)), DIRECT_VERSION)
    caller = ArgumentValidator(tools, ToolLimiter(ToolExecutor(log)), log)

    def check(text: str) -> None:
        for name, given in calls_with(text, {"read_research": "path", "search_research": "query"}):
            expect_no_secret(caller.call(ToolCall("c", name, given)).payload)
        expect_no_crash(log)

    yield check


@surface("code tools", "paths", "regexes", "unicode", "json", share=0.25)
def code_calls(folder: Path) -> Iterator[Check]:
    bench = CodeBench(folder / "cache").over_folder(fill(folder))
    texts = {
        "read_file": "path",
        "search_files": "pattern",
        "find_files": "pattern",
        "find_definition": "symbol",
        "find_importers": "modulePath",
        "find_references": "symbol",
        "list_directory": "path",
    }
    known = {name: field for name, field in texts.items() if name in _code_tools(bench)}
    assert len(known) >= 3, "the code tools were renamed"

    def check(text: str) -> None:
        for name, given in calls_with(text, known):
            expect_no_secret(bench.call(name, **given))
        expect_no_crash(bench.log)

    yield check


def _code_tools(bench: CodeBench) -> set[str]:
    from idea_explorer.tools.code import code_tools

    return set(code_tools(bench.workspace).tools)


@surface("refs and repositories", "refs", "paths", "unicode")
def refs(folder: Path) -> Iterator[Check]:
    """What passes our rules passes git's; and whatever a name is, it leads to no other repository."""
    git = shutil.which("git")
    asked: list[str] = []

    def send(self: object, request: httpx2.Request, **_: object) -> httpx2.Response:
        asked.append(str(request.url))
        return httpx2.Response(200, json={}, request=request)

    def check(text: str) -> None:
        asked.clear()
        client = GitHubClient("acme/ideas", lambda: "token", "https://api.example")
        with contextlib.suppress(ExplorerError, ValueError):
            client.get("commits", text)
        for url in asked:
            path = urlsplit(url).path
            segments = posixpath.normpath(unquote(path)).split("/") if "%" not in path else []
            assert path.startswith("/repos/acme/ideas/commits/"), f"{text!r} asks for {url}"
            assert not {".", ".."} & {*path.split("/"), *segments}, f"{text!r} asks for {url}"
        with contextlib.suppress(ValueError):
            assert git is None or _is_ref(git, check_ref(text)), f"git refuses {text!r}"
        with contextlib.suppress(ValueError):
            assert check_repository_name(text).count("/") == 1

    real = httpx2.Client.send
    httpx2.Client.send = send  # type: ignore[method-assign]
    try:
        yield check
    finally:
        httpx2.Client.send = real  # type: ignore[method-assign]


def _is_ref(git: str, name: str) -> bool:
    command = [git, "check-ref-format", "--allow-onelevel", name]
    return subprocess.run(command, check=False).returncode == 0


@surface("commit texts", "markdown", "unicode", "terminal", share=0.5)
def commit_texts(folder: Path) -> Iterator[Check]:
    """Nothing that a stranger wrote becomes a trailer, a mention or a command to GitHub."""

    def check(text: str) -> None:
        subject, body = clean_subject(text, 72), clean_body(text)
        assert "\n" not in subject
        assert len(subject) <= 72 + len("…")
        for cleaned in (subject, body):
            found = _EFFECT.search(cleaned)
            assert found is None, f"{found[0]!r} in {cleaned[:200]!r}"
            assert CONTROL.search(cleaned.replace("\r\n", "\n")) is None
        assert not re.search(r"(?m)^(?:Exploration-Id|Co-authored-by):", body)

    yield check


_EFFECT = re.compile(
    r"(?i)\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?)[\s:]+#\d|\[(?:skip ci|ci skip|no ci)\]"
)


@surface("terminal text", "terminal", "unicode", "markdown")
def terminal_text(folder: Path) -> Iterator[Check]:
    def check(text: str) -> None:
        shown = make_printable(text)
        found = CONTROL.search(shown.replace("\r\n", "\n"))
        assert found is None, f"{found[0]!r} in {shown[:200]!r}"
        assert make_printable(shown) == shown

    yield check


NAMES = {
    "public.example": ["93.184.216.34"],
    "private.example": ["10.0.0.8"],
    "mixed.example": ["93.184.216.34", "127.0.0.1"],
}


@surface("addresses", "urls", "unicode")
def addresses(folder: Path) -> Iterator[Check]:
    dialled: list[str] = []
    answers: Iterator[Sequence[str]] = iter(())

    def resolve(host: str, port: int) -> Sequence[str]:
        nonlocal answers
        if host == "rebind.example":  # public when it is checked, private afterwards
            answers = iter([["93.184.216.34"], ["127.0.0.1"]]) if not dialled else answers
            return next(answers, ["127.0.0.1"])
        if host not in NAMES:
            raise OSError("unknown name")
        return NAMES[host]

    def connect(self: object, host: str, *_: object, **__: object) -> None:
        dialled.append(host)
        raise httpcore2.ConnectError("nobody is there")

    real = httpcore2.SyncBackend.connect_tcp
    httpcore2.SyncBackend.connect_tcp = connect  # type: ignore[method-assign, assignment]
    pages = PublicHttp(SystemClock(), resolver=resolve)

    def check(text: str) -> None:
        dialled.clear()
        with contextlib.suppress(ExplorerError):
            pages.fetch(text)
        with contextlib.suppress(ExplorerError):
            pages.post(text, b"{}", {}, 1.0)
        for host in dialled:
            assert ip_address(host).is_global, f"{text!r} connects to {host}"

    try:
        yield check
    finally:
        httpcore2.SyncBackend.connect_tcp = real  # type: ignore[method-assign]
