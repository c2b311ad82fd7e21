"""Everything that meets text of strangers, each with the rules that must hold whatever it says.

A surface is a context manager: it sets up what it needs in a folder, and yields a function that takes one
hostile string. That function raises AssertionError if a rule is broken. Any exception other than those
that the surface itself expects is a failure too.
"""

import contextlib
import io
import json
import os
import posixpath
import re
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import date
from html.parser import HTMLParser
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urlsplit

import httpcore
import httpx

from idea_explorer.adapters.clock import SystemClock
from idea_explorer.adapters.folder.research import Folder
from idea_explorer.adapters.github.client import GitHubClient
from idea_explorer.adapters.github.research import GitHub
from idea_explorer.adapters.http.public import PublicHttp
from idea_explorer.adapters.music.qdrant import QdrantTrackIndex
from idea_explorer.adapters.music.tidal import ClientCredentials, Tidal
from idea_explorer.adapters.research_index import ComputedIndex
from idea_explorer.agent.tool_calls import Bounded, Executed
from idea_explorer.agent.validation import Validated
from idea_explorer.api.server import ApiServer
from idea_explorer.domain.citations import check_citations
from idea_explorer.domain.commit_text import clean_body, clean_subject
from idea_explorer.domain.documents import add_section, parse_document, render_update
from idea_explorer.domain.errors import ExplorerError, ToolError
from idea_explorer.domain.ids import ExplorationId
from idea_explorer.domain.music import IndexedTrack, OwnedTrack
from idea_explorer.domain.names import check_ref, check_repository_name
from idea_explorer.domain.paths import check_repository_path, check_research_path
from idea_explorer.domain.similar_research import find_similar
from idea_explorer.domain.text import make_printable
from idea_explorer.domain.tools import ToolCall
from idea_explorer.tools import DIRECT_VERSION
from idea_explorer.tools.assistant import assistant_tools
from idea_explorer.tools.readable import readable
from idea_explorer.tools.research import research_tools
from idea_explorer.usecases.import_music import read_json_lines
from tests.fakes.api import Api
from tests.fakes.code_repository import CodeBench
from tests.fakes.engine import RecordedLog
from tests.fakes.fetching import Files

Check = Callable[[str], object]
SECRET = "canary-8c1f-outside-of-the-folder"  # noqa: S105  what must never be read
GOOD = "A good document about urban beekeeping"
REFUSAL = "Tool argument validation failed"  # the only error of a tool call that is not a defect
RUN = ExplorationId("01a1e835-83b1-71ee-8445-63a642cb0f50")


@dataclass(frozen=True)
class Surface:
    name: str
    corpora: Sequence[str]
    open: Callable[[Path], AbstractContextManager[Check]]
    share: float = 1.0  # of the tries that each surface gets; less for what starts a process or writes


SURFACES: list[Surface] = []


def surface(name: str, *corpora: str, share: float = 1.0) -> Callable[[Any], Any]:
    def register(function: Callable[[Path], Iterator[Check]]) -> Callable[[Path], Iterator[Check]]:
        SURFACES.append(Surface(name, corpora, contextmanager(function), share))
        return function

    return register


def _fill(folder: Path) -> Path:
    """A folder of research and code with a way out for everybody who follows links."""
    (folder / "secret.txt").write_text(SECRET)
    root = folder / "root"
    for place in (root, root / "ideas"):
        place.mkdir()
        (place / "good.md").write_text(f"# {GOOD}\n\nBees like roofs.\n")
        (place / "link").symlink_to(folder / "secret.txt")
        (place / "folder-link").symlink_to(folder)
        (place / ".git").mkdir()
        (place / ".git" / "config").write_text(SECRET)
        os.mkfifo(place / "fifo")
    return root


def _expect_no_secret(found: object) -> None:
    assert SECRET not in json.dumps(found, ensure_ascii=True), "read a file outside of its folder"


# -- names ---------------------------------------------------------------------------------------------


@surface("path rules", "paths", "unicode", "refs")
def path_rules(folder: Path) -> Iterator[Check]:
    root = _fill(folder).resolve()

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
    tools = research_tools(Folder(_fill(folder)), DIRECT_VERSION)
    caller = Validated(tools, Bounded(Executed(log)), log)

    def check(text: str) -> None:
        for name, given in _calls(text, {"read_research": "path", "search_research": "query"}):
            _expect_no_secret(caller.call(ToolCall("c", name, given)).payload)
        _expect_no_crash(log)

    yield check


@surface("code tools", "paths", "regexes", "unicode", "json", share=0.25)
def code_calls(folder: Path) -> Iterator[Check]:
    bench = CodeBench(folder / "cache").over_folder(_fill(folder))
    texts = {
        "read_file": "path",
        "search_files": "pattern",
        "find_files": "pattern",
        "find_definition": "name",
        "find_importers": "name",
        "list_directory": "path",
    }
    known = {name: field for name, field in texts.items() if name in _code_tools(bench)}
    assert len(known) >= 3, "the code tools were renamed"

    def check(text: str) -> None:
        for name, given in _calls(text, known):
            _expect_no_secret(bench.call(name, **given))
        _expect_no_crash(bench.log)

    yield check


def _code_tools(bench: CodeBench) -> set[str]:
    from idea_explorer.tools.code import code_tools

    return set(code_tools(bench.workspace).tools)


def _calls(text: str, fields: dict[str, str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The text as an argument; if it is JSON, its value as one, and an object as all of them."""
    for name, field in fields.items():
        yield name, {field: text}
    with contextlib.suppress(ValueError, RecursionError):
        value = json.loads(text)
        for name, field in fields.items():
            yield name, value if isinstance(value, dict) else {field: value}


def _expect_no_crash(log: RecordedLog) -> None:
    crashes = [line for line in log.lines if line[0] == "error" and line[1] != REFUSAL]
    log.lines.clear()
    assert not crashes, f"a tool crashed: {crashes[0]}"


@surface("refs and repositories", "refs", "paths", "unicode")
def refs(folder: Path) -> Iterator[Check]:
    """What passes our rules passes git's; and whatever a name is, it leads to no other repository."""
    git = shutil.which("git")
    asked: list[str] = []

    def send(self: object, request: httpx.Request, **_: object) -> httpx.Response:
        asked.append(str(request.url))
        return httpx.Response(200, json={}, request=request)

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

    real = httpx.Client.send
    httpx.Client.send = send  # type: ignore[method-assign, assignment]
    try:
        yield check
    finally:
        httpx.Client.send = real  # type: ignore[method-assign]


def _is_ref(git: str, name: str) -> bool:
    command = [git, "check-ref-format", "--allow-onelevel", name]
    return subprocess.run(command, check=False).returncode == 0  # noqa: S603  as one argument


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
            assert _CONTROL.search(cleaned.replace("\r\n", "\n")) is None
        assert not re.search(r"(?m)^(?:Exploration-Id|Co-authored-by):", body)

    yield check


_EFFECT = re.compile(r"(?i)\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?)[\s:]+#\d|\[(?:skip ci|ci skip|no ci)\]")


@surface("terminal text", "terminal", "unicode", "markdown")
def terminal_text(folder: Path) -> Iterator[Check]:
    def check(text: str) -> None:
        shown = make_printable(text)
        found = _CONTROL.search(shown.replace("\r\n", "\n"))
        assert found is None, f"{found[0]!r} in {shown[:200]!r}"
        assert make_printable(shown) == shown

    yield check


# -- addresses -----------------------------------------------------------------------------------------

NAMES = {
    "public.example": ["93.184.216.34"],
    "private.example": ["10.0.0.8"],
    "mixed.example": ["93.184.216.34", "127.0.0.1"],
}


@surface("addresses", "urls", "unicode")
def addresses(folder: Path) -> Iterator[Check]:
    dialled: list[str] = []
    answers = iter(())

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
        raise httpcore.ConnectError("nobody is there")

    real = httpcore.SyncBackend.connect_tcp
    httpcore.SyncBackend.connect_tcp = connect  # type: ignore[method-assign, assignment]
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
        httpcore.SyncBackend.connect_tcp = real  # type: ignore[method-assign]


# -- documents, reports and pages ----------------------------------------------------------------------


@surface("front matter", "front matter", "unicode", "terminal")
def front_matter(folder: Path) -> Iterator[Check]:
    def check(text: str) -> None:
        for document in (f"---\n{text}\n---\n\n# Bees\n", f"---\n{text}", text):
            parsed = parse_document(document)
            assert all(isinstance(value, str) for value in parsed.matter.values())

    yield check


@surface("a team's documents", "front matter", "markdown", "unicode", share=0.25)
def documents(folder: Path) -> Iterator[Check]:
    """A hostile document next to a good one, which is still listed, found and similar."""
    root = _fill(folder)
    hostile = root / "ideas" / "hostile.md"
    log = RecordedLog()

    def check(text: str) -> None:
        hostile.write_bytes(f"---\n{text}\n---\n\n{text}".encode("utf-8", "surrogatepass"))
        research = Folder(root)
        caller = Validated(research_tools(research, DIRECT_VERSION), Bounded(Executed(log)), log)
        listed = caller.call(ToolCall("c", "list_research", {})).payload
        assert "good.md" in str(listed), "the good document is not listed"
        found = caller.call(ToolCall("c", "search_research", {"query": "beekeeping"})).payload
        assert "good.md" in str(found), "the good document is not found"
        similar = find_similar(GOOD, ComputedIndex(research).load())
        assert any(each.path.endswith("good.md") for each in similar), "it is not similar"
        _expect_no_crash(log)

    yield check


@surface("reports", "markdown", "unicode", "urls")
def reports(folder: Path) -> Iterator[Check]:
    def check(text: str) -> None:
        check_citations(f"# Bees\n\n{text}\n\n## Sources\n\n{text}", [])
        section = render_update(RUN, date(2026, 11, 16), text)
        assert add_section(text, section, RUN, set()).text.startswith(text), "changed others' bytes"

    yield check


@surface("report page", "markdown", "unicode", "urls")
def report_page(folder: Path) -> Iterator[Check]:
    from idea_explorer.console.markdown import render_report

    def check(text: str) -> None:
        _SafeHtml().feed(render_report(text))

    yield check


class _SafeHtml(HTMLParser):
    """Fails at markup that runs, loads or leads somewhere by itself."""

    tags = set(
        "a blockquote br code del div em h1 h2 h3 h4 h5 h6 hr li mark ol p pre s strong sup table tbody"
        " td th thead tr ul".split()
    )

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in self.tags, f"<{tag}> in a report"
        for name, value in attrs:
            assert not name.startswith("on"), f"{name} in a report"
            assert name not in {"src", "srcset", "style", "srcdoc"}, f"{name} in a report"
            if name == "href":
                assert re.match(r"(?i)(https?:|mailto:|#)", value or ""), f"href={value!r}"


@surface("pages", "markdown", "unicode", "urls")
def pages(folder: Path) -> Iterator[Check]:
    def check(text: str) -> None:
        limit = 1_000
        assert len(readable(text, base_url="https://public.example/", limit=limit).text) <= limit

    yield check


@surface("assistant tools", "sums", "json", "unicode", "urls", share=0.5)
def assistant_calls(folder: Path) -> Iterator[Check]:
    log = RecordedLog()

    def refuse(*_: object) -> Sequence[str]:
        raise OSError("unknown name")

    pages = PublicHttp(SystemClock(), resolver=refuse)

    def check(text: str) -> None:
        data = text.encode("utf-8", "surrogatepass")
        tools = assistant_tools(pages, Files(notes__txt=data, page__html=data), DIRECT_VERSION)
        caller = Validated(tools, Bounded(Executed(log)), log)
        fields = {"calculator": "expression", "file_search": "query", "http_fetch": "url"}
        for name, given in _calls(text, fields):
            json.dumps(caller.call(ToolCall("c", name, given)).payload)
        _expect_no_crash(log)

    yield check


@surface("music files", "json", "unicode")
def music_files(folder: Path) -> Iterator[Check]:
    def check(text: str) -> None:
        for model in (IndexedTrack, OwnedTrack):
            with contextlib.suppress(ExplorerError):
                read_json_lines(io.BytesIO(text.encode("utf-8", "surrogatepass")), model)

    yield check


# -- the API and the command line ----------------------------------------------------------------------


@surface("API bodies", "json", "unicode", "paths", "refs", "urls", share=0.5)
def api_bodies(folder: Path) -> Iterator[Check]:
    api = Api(folder)
    foreign = api.submitted("eve", idea=SECRET).id

    def check(text: str) -> None:
        body = text.encode("utf-8", "surrogatepass")
        fields: dict[str, object] = {
            name: text for name in ("repository", "ref", "continue_from", "webhook_url", "mode")
        }
        for route in ("/explorations", "/similar", f"/explorations/{foreign}/cancel"):
            _expect_answer(api, api.post(route, body))
        _expect_answer(api, api.post("/explorations", {"idea": text}))
        for name, value in fields.items():
            toolset = "code" if name in {"repository", "ref"} else "research"
            request = {"idea": "bees", "toolset": toolset, name: value}
            _expect_answer(api, api.post("/explorations", request))

    yield check


@surface("API addresses", "paths", "unicode", "refs", "urls", share=0.5)
def api_addresses(folder: Path) -> Iterator[Check]:
    api = Api(folder)
    foreign = api.submitted("eve", idea=SECRET).id

    def check(text: str) -> None:
        percent = quote(text.encode("utf-8", "surrogatepass"), safe="")
        for target in (
            f"/explorations/{percent}",
            f"/explorations/{foreign}/../{percent}",
            f"/explorations/{foreign}/events?after={percent}",
            f"/explorations?status={percent}&limit={percent}&cursor={percent}",
            f"/{percent}",
        ):
            _expect_answer(api, api.get(target))
        headers = {"Idempotency-Key": text, "Accept": text, "Last-Event-ID": text}
        _expect_answer(api, api.get(f"/explorations/{foreign}/events", headers=headers))
        _expect_answer(api, api.post("/explorations", {"idea": "bees"}, headers=headers))

    yield check


def _expect_answer(api: Api, reply: Any) -> None:
    assert reply.status < 500, f"{reply.status}: {reply.text[:200]}"
    assert SECRET not in reply.text, "another owner's exploration"
    api.log.lines.clear()


@surface("HTTP", "unicode", "json", "paths", "terminal", share=0.1)
def http_bytes(folder: Path) -> Iterator[Check]:
    """Raw bytes on the wire; the server answers, or closes, and goes on serving."""
    api = Api(folder)
    server = ApiServer(("127.0.0.1", 0), api.handle, lambda: "{}")
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    port = urlsplit(server.url).port
    assert port is not None

    def send(data: bytes) -> bytes:
        with socket.create_connection(("127.0.0.1", port), timeout=5) as peer:
            with contextlib.suppress(ConnectionError):
                peer.sendall(data)
                peer.shutdown(socket.SHUT_WR)
            answer = b""
            with contextlib.suppress(ConnectionError):
                while part := peer.recv(65_536):
                    answer += part
            return answer

    def check(text: str) -> None:
        data = text.encode("utf-8", "surrogatepass")[:100_000]
        line = data.replace(b"\n", b"").replace(b"\r", b"")
        for request in (
            data,
            b"GET /" + line + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
            b"GET / HTTP/1.1\r\nHost: " + line + b"\r\n\r\n",
            b"POST /similar HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + line + b"\r\n\r\n{}",
            b"POST /similar HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n" + data,
            b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + data + b"\r\n\r\n",
        ):
            status = send(request)[9:12]
            assert not status.startswith(b"5"), f"{status!r} to {request[:100]!r}"
        alive = send(b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        assert alive.startswith(b"HTTP/1.1 200"), f"/health answers {alive[:80]!r}"

    try:
        yield check
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@surface("command line", "unicode", "paths", "terminal", "refs", "json", share=0.05)
def command_line(folder: Path) -> Iterator[Check]:
    from idea_explorer.cli import main

    root = _fill(folder)
    real = {name: os.environ.get(name) for name in ("IDEA_STATE_DIR", "IDEA_RESEARCH_DIR")}
    os.environ |= {"IDEA_STATE_DIR": str(folder / "state"), "IDEA_RESEARCH_DIR": str(root)}

    def check(text: str) -> None:
        argument = text.replace("\x00", "")[:10_000]
        for words in (
            ["status", argument],
            ["report", argument],
            ["similar", argument],
            ["tool", "read_research", json.dumps({"path": argument})],
            ["tool", argument],
            [argument],
        ):
            _expect_safe_output(*_run(main, words))

    try:
        yield check
    finally:
        for name, value in real.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _run(main: Callable[[Sequence[str]], int], words: Sequence[str]) -> tuple[int, str]:
    out, error = _Stream(), _Stream()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(error):
        try:
            code = main(words)
        except SystemExit as stop:
            code = int(stop.code or 0)
    return code, out.getvalue() + error.getvalue()


class _Stream(io.StringIO):
    """Takes lone surrogates, and can be reconfigured as a real stream can."""

    encoding = "utf-8"

    def reconfigure(self, **_: object) -> None:
        """Nothing to change."""


_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def _expect_safe_output(code: int, printed: str) -> None:
    assert "Traceback" not in printed, printed[-500:]
    assert code in range(10), f"exit code {code}"
    found = _CONTROL.search(printed)
    assert found is None, f"printed {found[0]!r}: {printed[:200]!r}"
    _expect_no_secret(printed)


# -- peers ---------------------------------------------------------------------------------------------


@surface("answers of services", "json", "unicode", "markdown", share=0.25)
def peers(folder: Path) -> Iterator[Check]:
    """GitHub, Tidal and Qdrant that answer with anything."""
    body = b""
    status = 200

    class Peer(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _answer(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            self.rfile.read(length)
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = do_PUT = do_PATCH = _answer  # noqa: N815

        def log_message(self, *_: object) -> None:
            """Silent."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Peer)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    url = f"http://127.0.0.1:{server.server_address[1]}"
    github = GitHubClient("acme/ideas", lambda: "token", url)
    tidal = Tidal(lambda: ClientCredentials("a", "b"), SystemClock(), api_url=url, auth_url=url)
    qdrant = QdrantTrackIndex(url, "tracks")
    calls: list[Callable[[], object]] = [
        github.about,
        lambda: GitHub(github, "main").list(),
        lambda: GitHub(github, "main").read(check_research_path("a.md")),
        lambda: tidal.search("bees", ["tracks", "albums"], 5),
        lambda: qdrant.search("bees", 5),
        lambda: qdrant.get(["USRC17607839"]),
    ]
    turns = iter(range(sys.maxsize))

    def check(text: str) -> None:
        nonlocal body, status
        turn = next(turns)
        body = text.encode("utf-8", "surrogatepass")
        status = (200, 200, 201, 404, 422, 500)[turn % 6]
        with contextlib.suppress(ExplorerError):
            calls[turn % len(calls)]()

    try:
        yield check
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
