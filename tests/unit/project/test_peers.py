"""The comparison with other loops: what all of them are given, and what is said about the figures."""

import json

import pytest

from tests.performance.peers.environments import ENVIRONMENTS, PEERS
from tests.performance.peers.report import render_goals, render_table
from tests.performance.peers.runners.protocol import REPORT_LENGTH, TOTALS
from tests.performance.peers.script import ANSWERS, READS, REPORT, answers, render_stream
from tests.performance.peers.server import Script


@pytest.mark.parametrize("scenario", READS)
def test_the_runners_check_what_the_script_says(scenario: str) -> None:
    given = answers(scenario)
    usages = [usage for _, _, usage in given]
    reads = [
        block
        for content, _, _ in given
        for block in content
        if block["type"] == "tool_use" and "path" in block["input"]
    ]
    tokens_in = sum(usage["input_tokens"] for usage in usages)
    tokens_out = sum(usage["output_tokens"] for usage in usages)

    assert TOTALS[scenario] == (tokens_in, tokens_out)
    assert (len(given), len(reads), len(REPORT)) == (ANSWERS, READS[scenario], REPORT_LENGTH)


def test_a_stream_has_all_of_the_report() -> None:
    stream = render_stream(5, answers("common")[-1])
    events = [json.loads(line[6:]) for line in stream.splitlines() if line.startswith("data: ")]

    deltas = [e["delta"]["text"] for e in events if e["type"] == "content_block_delta"]
    assert "".join(deltas) == REPORT


def test_each_exploration_has_its_own_answers_and_no_more() -> None:
    script = Script()

    def ask(name: str) -> bytes:
        return script.respond("POST", "/v1/messages", f"Exploration EXP-{name}".encode())[0]

    first = [ask("0" * 16) for _ in range(ANSWERS)]

    assert [ask("1" * 16) for _ in range(ANSWERS)] == first
    assert len(set(first)) == ANSWERS
    assert ask("0" * 16).startswith(b"HTTP/1.1 400")


def test_each_peer_has_an_environment_of_its_own() -> None:
    """Ours would otherwise run among the packages that develop it, some of which load others."""
    for name, peer in PEERS.items():
        assert peer.folder.parent == ENVIRONMENTS
        if not peer.runs_on_node:
            assert peer.command[0] == str(peer.folder / "bin" / "python")
        assert bool(peer.packages) == (name != "ours")
        for variable in ("MALLOC_ARENA_MAX", "GLIBC_TUNABLES"):  # of template.yaml
            assert (variable in peer.variables) == (name == "ours")


def test_ratios_are_within_rounds() -> None:
    """A machine that is busy in one round is so for all."""
    figures = ("ready", "ready CPU", "first", "warm CPU", "warm", "RSS", "sent")
    others = ("20 at once", "20 at once CPU")
    results = {
        "c": {figure: [100.0, 1_000.0, 200.0] for figure in (*figures, *others)},
        "ours": {figure: [30.0, 300.0, 80.0] for figure in (*figures, *others)},
    }

    goals = render_goals(results)

    assert "| ready | 0.30 (0.30–0.40) | 0.35: reached | 0.25: not reached |" in goals
    assert "| RSS | 0.30 (0.30–0.40) | 0.65: reached |  |" in goals
    assert "warm CPU" not in goals  # nobody ran that it is compared with
    assert "| **Idea Explorer**, streamed | 80.0 (30.0–300.0) |" in render_table(results)
