"""A transcript replays to the same report, without model, tools or network."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from idea_explorer.cli import main
from idea_explorer.domain.errors import NetworkError
from idea_explorer.domain.transcript import AnyEntry, Instruction, ToolsRan
from idea_explorer.domain.transcript_json import dump_entry, parse_entry
from idea_explorer.usecases.replay import replay
from tests.fakes.engine import Bench
from tests.fakes.models import calls, raw, says, scripted

REPORT = "# Tea\n\nAs [known](../a.md)."
RECORDINGS = sorted((Path(__file__).parents[1].parent / "transcripts").glob("*.jsonl"))


def recorded(
    tmp_path: Path, *replies: object, max_steps: int = 5
) -> tuple[Sequence[AnyEntry], str]:
    bench = Bench(tmp_path, scripted(replies))  # type: ignore[arg-type]
    bench.write("a.md", "what is known")
    done = bench.explore(max_steps=max_steps)
    return bench.entries(done), bench.store.load_report(done.id)


READ = calls(("read_research", {"path": "a.md"}), ("read_research", {}))
RUNS: list[list[object]] = [
    [says(REPORT)],
    [READ, says(REPORT)],
    [READ, READ, says(REPORT)],
    [NetworkError("reset"), READ, NetworkError("reset"), says(REPORT)],
    [says("# Te", "max_tokens"), says("a")],
    [raw({"type": "text", "text": "x"}, stop_reason="model_context_window_exceeded"), says(REPORT)],
    [says(" "), says(REPORT)],
]


@pytest.mark.parametrize("replies", RUNS)
def test_a_replay_comes_to_the_same_report(tmp_path: Path, replies: list[object]) -> None:
    entries, report = recorded(tmp_path, *replies)
    replayed = replay([parse_entry(dump_entry(entry)) for entry in entries])
    assert replayed.divergence == ""
    assert replayed.conclusion is not None
    assert replayed.conclusion.text == report


def test_a_run_cut_short_by_its_steps_replays_too(tmp_path: Path) -> None:
    entries, report = recorded(tmp_path, READ, says(REPORT), max_steps=2)
    replayed = replay(entries)
    assert (replayed.divergence, replayed.steps) == ("", 2)
    assert replayed.conclusion is not None
    assert replayed.conclusion.text == report


def test_a_decision_that_would_be_made_otherwise_today_is_reported(tmp_path: Path) -> None:
    entries, _ = recorded(tmp_path, READ, says(REPORT))
    changed = [entry for entry in entries if not isinstance(entry, ToolsRan)]
    assert "RunTools" in replay(changed).divergence
    invented = [
        *entries[:1],
        Instruction(purpose="write", reason="repeated_call", text="x"),
        *entries[1:],
    ]
    assert "Ask" in replay(invented).divergence


def proposals() -> list[AnyEntry]:
    """Two proposals beside a read, one of them approved, one rejected."""
    recording = next(path for path in RECORDINGS if path.stem == "proposals-decided")
    return [parse_entry(line) for line in recording.read_bytes().splitlines()]


def test_a_run_that_waits_for_a_decision_replays_up_to_there() -> None:
    entries = proposals()
    asked = next(n for n, e in enumerate(entries) if isinstance(e, ToolsRan) and e.pending)
    replayed = replay(entries[: asked + 1])
    assert (replayed.divergence, replayed.steps, replayed.tool_calls) == ("", 2, 3)


def test_a_proposal_that_was_another_than_the_call_is_reported() -> None:
    changed = [
        replace(entry, pending=entry.pending[:1]) if isinstance(entry, ToolsRan) else entry
        for entry in proposals()
    ]
    assert "RunTools" in replay(changed).divergence


def test_the_command_says_whether_the_report_is_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    monkeypatch.setenv("IDEA_RESEARCH_DIR", str(tmp_path))
    assert main(["explore", "Tea", "--quiet", "--json"]) == 0
    exploration_id = json.loads(capsys.readouterr().out)["id"]
    exported = tmp_path / "t.jsonl"
    assert main(["replay", exploration_id, "--export", str(exported)]) == 0
    assert capsys.readouterr().out.startswith("The same report (1 step, 0 tool calls")
    assert main(["replay", str(exported)]) == 0
    assert main(["replay", "01890000-0000-7000-8000-000000000000"]) == 1
    assert main(["replay", "no-such-file"]) == 2


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda path: path.stem)
def test_a_kept_recording_still_replays(recording: Path) -> None:
    entries = [parse_entry(line) for line in recording.read_bytes().splitlines()]
    replayed = replay(entries)
    assert replayed.divergence == ""
    assert replayed.conclusion is not None
    expected = recording.with_suffix(".md").read_text("utf-8")
    assert replayed.conclusion.text == expected
