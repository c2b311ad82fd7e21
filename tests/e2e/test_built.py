"""The service from what `sam build` made, with nothing else on the path: no function, toolset or client
misses what was left out of the layers. Run by `make build` where it builds for this machine."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import httpx
import pytest

from idea_explorer.domain.music import IndexedTrack
from idea_explorer.settings import Settings
from idea_explorer.tools.code.parsing import grammar_of
from idea_explorer.tools.code.parsing.more_grammars import GRAMMARS
from idea_explorer.wiring import music
from tests.e2e.conftest import TOKENS, client_of
from tests.e2e.harness import built
from tests.e2e.harness.minds import REPORT, Minds
from tests.e2e.harness.stack import Machine, Options, Stack, credentials
from tests.e2e.test_service import NOWHERE
from tests.fakes.anthropic_aws import AwsAccount
from tests.fakes.anthropic_faults import API_ERRORS, http_error
from tests.fakes.anthropic_server import FakeAnthropic
from tests.fakes.anthropic_turns import answer, text, tool_use
from tests.fakes.documents import make_docx, make_pdf, make_pptx, make_xlsx, paragraph, row
from tests.fakes.github_server import FakeGitHub
from tests.fakes.qdrant_server import FakeQdrant

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not built.runs_here(), reason="there is no build for this machine"),
]
PATIENCE_SECONDS = 300.0  # cold starts of a busy machine
DONE = answer(text("# Done\n\nThat was it."))
SIGNED = AwsAccount(access_key="testing", secret_key="testing")
DEFINED = {
    "in_c": ("a.c", "int in_c(void) { return 1; }"),
    "in_cpp": ("a.cpp", "class A { int in_cpp() { return 1; } };"),
    "InCSharp": ("a.cs", "class InCSharp {}"),
    "InGo": ("a.go", "package a\nfunc InGo() {}"),
    "InJava": ("a.java", "class InJava {}"),
    "inJavaScript": ("a.js", "function inJavaScript() {}"),
    "inKotlin": ("a.kt", "fun inKotlin() {}"),
    "inPhp": ("a.php", "<?php function inPhp() {}"),
    "in_python": ("a.py", "def in_python():\n    print 'of Python 2'\n"),
    "in_ruby": ("a.rb", "def in_ruby\nend"),
    "in_rust": ("a.rs", "fn in_rust() {}"),
    "InTypeScript": ("a.ts", "interface InTypeScript {}"),
    "InTsx": ("a.tsx", "const InTsx = () => <p/>;"),
}
TRACK = IndexedTrack(
    isrc="ZZTST1900001",
    title="Wet Asphalt",
    artist="Harrow Lane",
    album="Wipers on Low",
    description="A man drives home through the storm after the parting.",
)


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    runtime = built.lay_out_runtime(tmp_path_factory.mktemp("runtime"))
    with credentials():
        start = partial(built.BuiltEnvironment, runtime=runtime)
        machine = Machine(tmp_path_factory.mktemp("built"), start=start)
        try:
            yield machine
        finally:
            machine.close()


@pytest.fixture(scope="module")
def options(options: Options, github: FakeGitHub, qdrant: FakeQdrant) -> Options:
    github.create_repository("acme/tea", dict(DEFINED.values()))
    parameters = {
        **options.parameters,
        "MaxStreams": 1,
        "QdrantUrl": qdrant.url,
        "CodeRepositories": "acme/tea",
    }
    secrets = {**options.secrets, "QdrantSecret": "a-key"}
    code = built.code_of_functions()
    return replace(options, parameters=parameters, secrets=secrets, code=code)


@pytest.fixture(scope="module")
def qdrant() -> Iterator[FakeQdrant]:
    with FakeQdrant(api_key="a-key") as server:
        music.track_index(Settings(qdrant_url=server.url, qdrant_api_key="a-key")).add([TRACK])
        yield server


@pytest.fixture(scope="module")
def stack(machine: Machine, options: Options) -> Iterator[Stack]:
    with machine.stack(options) as stack:
        yield stack


@pytest.fixture
def ada(stack: Stack) -> Iterator[httpx.Client]:
    with client_of(stack, "ada") as client:
        yield client


def results_of(server: FakeAnthropic, idea: str) -> list[str]:
    """What the tools of a run answered, as its last request has it."""
    requests = [r.body["messages"] for r in server.requests]
    (*_, last) = [said for said in requests if idea in json.dumps(said[0])]
    blocks = [block for said in last for block in said["content"] if isinstance(block, dict)]
    return [json.dumps(block["content"]) for block in blocks if block["type"] == "tool_result"]


def run(stack: Stack, ada: httpx.Client, idea: str, **request: Any) -> str:
    sent = ada.post("/explorations", json={"idea": idea, **request}, timeout=120)
    assert sent.status_code == 202, sent.text
    exploration_id = str(sent.json()["id"])
    final = stack.wait_until_final(exploration_id, seconds=PATIENCE_SECONDS)
    assert final.status == "completed", (final.run.receipt, stack.logs())
    return exploration_id


def test_research_is_submitted_run_followed_published_shown_and_told_of(
    stack: Stack, ada: httpx.Client, minds: Minds, anthropic: FakeAnthropic
) -> None:
    idea = "Bees from built layers"
    minds.about(idea, answer(tool_use("list_research", {})), answer(text(REPORT)))
    body = {"idea": idea, "webhook_url": NOWHERE}
    sent = [
        ada.post("/explorations", json=body, headers={"Idempotency-Key": "built"}, timeout=120)
        for _ in range(2)
    ]
    assert [answered.status_code for answered in sent] == [202, 202], [a.text for a in sent]
    (exploration_id,) = {answered.json()["id"] for answered in sent}
    address = f"/explorations/{exploration_id}"

    final = stack.wait_until_final(exploration_id, seconds=PATIENCE_SECONDS)
    assert final.status == "completed", stack.logs()
    streamed = ada.get(f"{address}/events", headers={"Accept": "text/event-stream"}, timeout=60)
    assert stack.functions.log_lines(stack.named("FollowFunction"))
    assert final.publication.url
    assert "event: tool_call_end" in streamed.text
    assert len(results_of(anthropic, idea)) == 1
    page = ada.get(f"{address}/report", headers={"Accept": "text/html"})
    assert "<h1>" in page.text
    stack.wait(lambda: stack.load(exploration_id).delivery.attempts > 0)
    assert TOKENS["ada"] not in stack.logs()


def test_the_code_tools_parse_every_language(
    stack: Stack, ada: httpx.Client, minds: Minds, anthropic: FakeAnthropic
) -> None:
    idea = "Find what is defined"
    calls = [tool_use("find_definition", {"symbol": name}) for name in DEFINED]
    minds.about(idea, answer(*calls), DONE)

    run(stack, ada, idea, toolset="code", repository="acme/tea")

    found = results_of(anthropic, idea)
    assert {grammar_of(path) for path, _ in DEFINED.values()} == {*GRAMMARS}
    assert [path in result for (path, _), result in zip(DEFINED.values(), found, strict=True)] == [
        True
    ] * len(DEFINED)


def test_the_assistant_reads_documents_and_calculates(
    stack: Stack, ada: httpx.Client, minds: Minds, anthropic: FakeAnthropic
) -> None:
    idea = "What do my documents say?"
    documents = {
        "a.pdf": make_pdf(["Bees of the portable format"]),
        "b.docx": make_docx(paragraph("Bees of the word processor")),
        "c.xlsx": make_xlsx({"Bees": row("Bees of the spreadsheet")}),
        "d.pptx": make_pptx(["Bees of the slides"]),
    }
    files = []
    for name, content in documents.items():
        place = ada.post("/files", json={"name": name, "size": len(content)}).json()
        upload = place["upload"]
        given = {"data": upload["fields"], "files": {"file": content}}
        assert httpx.post(upload["url"], timeout=60, **given).is_success
        files.append(place["file_id"])
    minds.about(
        idea,
        answer(
            tool_use("file_search", {"query": "bees of"}),
            tool_use("calculator", {"expression": "6 * 7"}),
        ),
        DONE,
    )

    run(stack, ada, idea, toolset="assistant", files=files)

    found, calculated = results_of(anthropic, idea)
    assert [name in found for name in documents] == [True] * len(documents)
    assert "42" in calculated


def test_music_is_found_by_its_embedding(
    stack: Stack, ada: httpx.Client, minds: Minds, anthropic: FakeAnthropic
) -> None:
    idea = "Songs for a wet road"
    search = tool_use("semanticSearch", {"query": "driving in the rain after a break-up"})
    minds.about(idea, answer(search), DONE)

    run(stack, ada, idea, toolset="discover")

    (found,) = results_of(anthropic, idea)
    assert TRACK.isrc in found


def test_claude_on_aws_takes_the_signature(
    machine: Machine, options: Options, minds: Minds
) -> None:
    with FakeAnthropic(minds, aws=SIGNED) as server:
        signed = replace(
            options,
            parameters={
                **options.parameters,
                "Provider": "aws",
                "AnthropicWorkspaceId": SIGNED.workspace,
            },
            environment={**options.environment, "ANTHROPIC_AWS_BASE_URL": server.url},
        )
        with machine.stack(signed) as stack, client_of(stack, "ada") as ada:
            run(stack, ada, "Bees on AWS")
        assert server.rejections == []
        assert "AWS4-HMAC-SHA256" in server.requests[0].headers["authorization"]


# One request for each answer that the server has ready.
ASK = """
import sys
from idea_explorer.adapters.claude.client import Claude, map_sdk_errors
claude = Claude.with_key("a-key", sys.argv[1])
question = [{"role": "user", "content": "How are the bees?"}]
body = {"model": "claude-sonnet-5-5", "max_tokens": 16, "messages": question, "stream": True}
for _ in range(int(sys.argv[2])):
    try:
        with map_sdk_errors(claude.account):
            claude.client.post("/v1/messages", body=body, cast_to=object)
    except Exception as error:
        print(f"{type(error).__name__} from {type(error.__cause__).__name__}: {error}")
"""


def test_every_refusal_of_claude_becomes_the_same_error_as_with_the_whole_sdk() -> None:
    def ask(*python: str, path: str) -> list[str]:
        with FakeAnthropic([http_error(status) for status in API_ERRORS]) as server:
            command = [*python, "-c", ASK, server.url, str(len(API_ERRORS))]
            variables = {"PATH": "", "PYTHONPATH": path}
            done = subprocess.run(
                command, env=variables, capture_output=True, text=True, check=True
            )
        return done.stdout.splitlines()

    layers = os.pathsep.join(map(str, built.path_of("ExploreFunction")))

    expected = ask(sys.executable, path="")
    assert len({line.partition(":")[0] for line in expected}) > 5
    assert ask(built.PYTHON, "-S", path=layers) == expected
