"""Music discovery from the command line, on the sample data, without a model."""

import csv
import io
import json
from pathlib import Path

import pytest

from idea_explorer.cli import main

MUSIC = Path(__file__).parents[2].parent.parent / "examples" / "music"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    monkeypatch.setenv("IDEA_RESEARCH_DIR", str(tmp_path))
    return tmp_path


@pytest.mark.usefixtures("folder")
def test_a_mood_becomes_a_playlist_with_reasons_and_flags(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["index", str(MUSIC / "tracks.jsonl")]) == 0
    assert main(["library", "import", str(MUSIC / "library.jsonl")]) == 0
    assert "Indexed 200 tracks" in capsys.readouterr().out
    idea = "melancholic love songs for a rainy drive"
    flags = ["--toolset", "discover", "--json", "--quiet", "--collect-tool-stats"]
    assert main(["explore", idea, *flags]) == 0
    outcome = json.loads(capsys.readouterr().out)
    names = [call["name"] for call in outcome["stats"]["tool_calls"]]
    assert names == ["semanticSearch", "batchMetadata", "suggestPlaylist"]
    assert outcome["content"].startswith("# Melancholic love songs")
    assert outcome["content"].count("\n| ") == 9
    assert len(outcome["playlist"]["tracks"]) == 8
    assert {track["in_library"] for track in outcome["playlist"]["tracks"]} == {True, False}

    assert main(["report", outcome["id"], "--format", "m3u"]) == 0
    assert capsys.readouterr().out.count("#EXTINF:") == 8
    assert main(["report", outcome["id"], "--format", "csv"]) == 0
    assert len(list(csv.DictReader(io.StringIO(capsys.readouterr().out)))) == 8
    assert main(["report", outcome["id"], "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == outcome["playlist"]


@pytest.mark.usefixtures("folder")
def test_the_library_is_imported_listed_and_removed_from(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "mine.jsonl"
    file.write_text('{"isrc": "ZZTST1900001", "title": "Crust", "artist": "Vine"}\n')
    assert main(["library", "import", str(file)]) == 0
    assert capsys.readouterr().out == "Added 1 track, replaced 0, removed 0, left 0 unchanged\n"
    assert main(["library", "list"]) == 0
    assert capsys.readouterr().out == "ZZTST1900001 Crust – Vine\n"
    assert main(["library", "remove", "ZZTST0000000"]) != 0
    assert "Not in the library: ZZTST0000000" in capsys.readouterr().err
    assert main(["library", "remove", "X"]) == 2
    assert "idea: Invalid ISRC 'X': it has 12 letters" in capsys.readouterr().err
    assert main(["library", "remove", "zztst1900001"]) == 0
    assert capsys.readouterr().out == "Removed 1 track\n"
    assert main(["library", "import", str(MUSIC / "tracks.jsonl")]) == 2
    assert "'idea index' takes" in capsys.readouterr().err


@pytest.mark.usefixtures("folder")
def test_an_empty_index_says_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explore", "anything", "--toolset", "discover", "--json", "--quiet"]) == 0
    assert "idea index FILE.jsonl" in json.loads(capsys.readouterr().out)["content"]


def test_a_wrong_line_is_named_and_nothing_is_imported(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = folder / "bad.jsonl"
    bad.write_text('{"isrc": "nope"}\n')
    assert main(["index", str(bad)]) == 2
    assert "line 1" in capsys.readouterr().err
    assert main(["index", str(folder / "missing.jsonl")]) == 2
