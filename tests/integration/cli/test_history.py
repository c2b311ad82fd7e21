"""What this machine has explored: listed, named, read, searched, counted and shown, without a server."""

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from idea_explorer.cli.output import print_markdown
from idea_explorer.cli.streams import print_coloured
from tests.fakes.command import environment
from tests.fakes.in_process import Idea
from tests.fakes.terminal import Terminal, run_on_terminal, show_on_terminal

EXAMPLES = Path(__file__).parents[3] / "examples"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which two ideas were explored."""
    from idea_explorer.cli import main

    folder = tmp_path_factory.mktemp("history")
    notes = folder / "ideas" / "market"
    notes.mkdir(parents=True)
    (notes / "rooftops.md").write_text("# Rooftops\n\nHoney from rooftops sells in many a town.\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for idea in ("Urban bees", "Rooftop honey * 2"):
            assert main(["explore", idea, "--quiet", "--if-exists", "run"]) == 0
    return folder


@pytest.fixture
def idea(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Idea:
    for name in ("IDEA_API_URL", "ANTHROPIC_API_KEY", "GITHUB_TOKEN", "GITHUB_REPOSITORY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(folder)
    capsys.readouterr()
    return Idea(capsys)


def on_terminal(*arguments: str) -> str:
    return Terminal().show(run_on_terminal(arguments))


def test_on_a_terminal_the_list_has_headers_and_short_ids_that_work(idea: Idea) -> None:
    header, newest, oldest = on_terminal("list").splitlines()

    assert header.split() == ["ID", "STATUS", "STARTED", "COST", "IDEA"]
    assert (" ago " in newest, newest.endswith("Rooftop honey * 2")) == (True, True)
    for row in (newest, oldest):
        assert idea("status", row.split()[0])[1].splitlines()[0] == row.split("$0.00")[1].strip()


def test_a_path_is_never_broken(
    idea: Idea, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    notes = tmp_path / "what we  know so far" / "ideas"
    notes.mkdir(parents=True)
    path = idea("explore", "Urban bees", "--research", str(notes.parent))[1].splitlines()[0]
    monkeypatch.setenv("COLUMNS", "30")

    assert "what we  know so far" in path
    assert path in on_terminal("status", "last", "--research", str(notes.parent)).splitlines()


def test_the_newest_ones_have_names_of_their_own(idea: Idea) -> None:
    newest, oldest = idea("list", "--quiet")[1].split()

    for name, own in (
        ("last", newest),
        ("-1", newest),
        ("-2", oldest),
        (oldest[:13], oldest),
        (oldest[-8:], oldest),
    ):
        assert json.loads(idea("status", name, "--json")[1])["id"] == own
    assert idea("replay", "last")[1].startswith("The same report")
    code, _, err = idea("report", newest[:4])
    assert code == 2
    assert err.count("\n") == 1
    for name in (newest[-8:], oldest[-8:]):
        assert f"{name} (" in err


def test_a_follow_up_takes_the_same_names(idea: Idea) -> None:
    newest, _ = idea("list", "--quiet")[1].split()
    arguments = ("explore", "And honey?", "--continue-from", "last", "--estimate", "--json")

    assert idea(*arguments)[0] == 0
    code, _, err = idea("explore", "And?", "--continue-from", "ffff", "--estimate")
    assert (code, "ends or begins with ffff" in err) == (1, True)
    assert newest


def test_what_is_printed_to_try_next_works_whatever_is_exported(
    idea: Idea, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("IDEA_API_URL", "http://127.0.0.1:1")  # nobody listens there
    monkeypatch.setenv("IDEA_API_TOKEN", "token")
    *_, last = idea("explore", "Tea")[2].splitlines()
    command = last.partition("with: idea ")[2].split()

    code, out, _ = idea(*command)

    assert (code, out.startswith("# Tea")) == (0, True)
    assert command[-1] == "--local"
    assert idea("report", "last")[0] == 1  # without the option, it is asked of the deployment


def test_a_report_is_written_in_every_format(idea: Idea, tmp_path: Path) -> None:
    markdown = idea("report", "last", "--format", "md")[1]
    page = tmp_path / "report.html"

    assert idea("report", "last", "--output", str(page)) == (0, f"{page}\n", "")
    html = page.read_text("utf-8")
    assert "<title>Rooftop honey * 2</title>" in html
    assert "default-src 'none'" in html
    data = json.loads(idea("report", "last", "--format", "json")[1])
    assert (data["content"], data["status"]) == (markdown.rstrip("\n"), "completed")
    assert idea("report", "last", "--format", "m3u")[2].startswith("idea: Only explorations of")
    code, _, err = idea("report", "last", "--output", str(tmp_path / "none" / "x.md"))
    assert (code, err.endswith("cannot be written: No such file or directory.\n")) == (2, True)


def test_a_file_whose_ending_is_no_format_is_not_written(idea: Idea, tmp_path: Path) -> None:
    file = tmp_path / "report.pdf"
    code, out, err = idea("report", "last", "--output", str(file))
    assert (code, out, file.exists()) == (2, "", False)
    assert err.startswith("idea: --output: a report cannot be written as .pdf, only as .md, ")

    assert idea("report", "last", "--output", str(file), "--format", "md")[0] == 0
    assert file.read_text().startswith("# Rooftop honey")


def test_signs_are_escaped_in_files_and_not_on_a_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    print_markdown("2 \\* 3")
    assert capsys.readouterr().out == "2 \\* 3\n"
    assert show_on_terminal(lambda: print_markdown("2 \\* 3")).strip() == b"2 * 3"


def test_a_report_is_shown_in_the_browser(
    idea: Idea, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > {tmp_path}/opened\n')
    browser.chmod(0o755)
    monkeypatch.setenv("BROWSER", str(browser))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    import webbrowser

    monkeypatch.setattr(webbrowser, "_tryorder", None)  # it reads BROWSER once

    for arguments in (("open", "last"), ("report", "last", "--open")):
        code, out, _ = idea(*arguments)
        page = Path(out.strip())
        assert code == 0
        assert (tmp_path / "opened").read_text().strip() == page.as_uri()
        assert "<h1>Rooftop honey" in page.read_text("utf-8")
        assert stat.S_IMODE(page.stat().st_mode) == 0o600


def test_research_is_searched_for_words(idea: Idea) -> None:
    code, out, _ = idea("search", "rooftop", "honey")

    assert code == 0
    assert "Rooftops\n    ideas/market/rooftops.md\n    Rooftops: Honey from rooftops sells" in out
    found = json.loads(idea("search", "honey", "--json", "--limit", "1")[1])
    assert (len(found["results"]), found["totalFound"] > 1) == (1, True)
    left = found["totalFound"] - 1
    said = f"idea: … and {left} more. See more with --limit 20.\n"
    assert idea("search", "honey", "--limit", "1")[2] == said
    assert idea("search", "honey", "zeppelin")[1] == ""  # every word, as in the console
    assert Path(idea("search", "honey", "--quiet")[1].splitlines()[0]).is_file()
    assert idea("search", "zeppelin")[2] == "idea: No document has the word: zeppelin\n"
    assert idea("search", "honey", "--limit", "0")[0] == 2


def test_a_cut_list_says_how_many_more_there_are(idea: Idea, tmp_path: Path) -> None:
    for number in range(21):
        (tmp_path / f"{number}.md").write_text("# Mead\n\nMade of honey.")
    err = idea("search", "mead", "--limit", "20", "--research", str(tmp_path))[2]
    assert err == "idea: … and 1 more. Add a word to find fewer.\n"


def test_an_excerpt_has_neither_front_matter_nor_markup(idea: Idea, tmp_path: Path) -> None:
    (tmp_path / "ideas" / "market").mkdir(parents=True)
    text = "---\nidea: [honey\n---\n\n# Jars\n\n> - Sell **[honey](../honey.md)** in `jars`.\n"
    (tmp_path / "ideas" / "market" / "jars.md").write_text(text)

    found = idea("search", "honey", "jars", "--research", str(tmp_path))[1]

    assert found.splitlines()[-1] == "    Jars: · Sell honey in jars."


NAMED_FOLDER = (
    "list", "status last", "watch last", "report last", "open last", "cancel last", "resume last",
    "revert last", "approve last", "reject last", "webhook resend last", "replay last", "spend",
    "search tea", "explore Tea", "explore Tea --estimate", "tool list_research {}", "tools",
    "index tracks.jsonl", "library list", "library import tracks.jsonl", "library remove X", "serve",
)  # fmt: skip


@pytest.mark.parametrize("command", NAMED_FOLDER)
def test_a_folder_that_does_not_exist_is_told_in_one_sentence(idea: Idea, command: str) -> None:
    code, out, err = idea(*command.split(), "--research", "nowhere")

    assert (code, out) == (2, "")
    assert err == (
        "idea: The research folder nowhere does not exist."
        " Create one, or name another with --research or IDEA_RESEARCH_DIR.\n"
    )


def test_a_search_of_nothing_says_so(
    idea: Idea, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, err = idea("search", "honey")
    assert (code, out) == (1, "")
    assert "has no documents that can be read (.md, .markdown or .txt)" in err


def test_a_run_that_is_not_done_says_so_to_a_shell_that_stops_reading(tmp_path: Path) -> None:
    """An interpreter of its own: what happens to its last output is part of the behaviour."""
    idea = f"{sys.executable} -m idea_explorer explore --quiet --toolset code"
    script = f"{idea} 'Create a.md with \"words\"' | true; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=tmp_path,
        env=environment({"PYTHONPATH": os.pathsep.join(sys.path)}),
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stdout == "3\n"  # it waits for approval
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("variable", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_colours_are_left_out_where_they_are_not_wanted(
    idea: Idea, variable: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    lines = [("+added", "32")]

    assert b"\x1b[32m" in show_on_terminal(lambda: print_coloured(lines, sys.stdout))
    for name, value in variable.items():
        monkeypatch.setenv(name, value)
    assert b"\x1b" not in show_on_terminal(lambda: print_coloured(lines, sys.stdout))


def test_on_a_dumb_terminal_progress_is_lines(idea: Idea, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    shown = run_on_terminal(["watch", "last"])
    assert b"\x1b" not in shown
    assert b"step 1: " in shown
