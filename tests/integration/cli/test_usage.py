"""What the command says when it is used or set up wrongly: one sentence, the right exit code."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.fakes.command import Done, environment, idea

FULL = Path("/dev/full")


def run(*arguments: str, folder: Path, **variables: str) -> Done:
    return idea(*arguments, env=variables, folder=folder)


@pytest.mark.parametrize("key", ["sk-test\r", " ", "schlüssel"])
@pytest.mark.parametrize("variable", ["ANTHROPIC_API_KEY", "GITHUB_TOKEN"])
def test_a_key_with_a_stray_character_is_refused_at_once(
    tmp_path: Path, variable: str, key: str
) -> None:
    done = run("explore", "Tea", folder=tmp_path, **{variable: key})

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"idea: {variable} holds characters that no key has.\n"


WRONG_SETTINGS = [
    ({"GITHUB_API_URL": "notaurl"}, "GITHUB_API_URL must be an address"),
    ({"ANTHROPIC_BASE_URL": "api.example"}, "ANTHROPIC_BASE_URL must be an address"),
    ({"GITHUB_REPOSITORY": "garbage"}, "GITHUB_REPOSITORY must look like owner/name."),
    ({"IDEA_MAX_COST_USD": "much"}, "IDEA_MAX_COST_USD must be a number."),
    ({"IDEA_MODELS": "[]"}, "IDEA_MODELS must be a JSON object."),
    ({"IDEA_PRICES": '{"a": {"input": 1}}'}, "IDEA_PRICES is missing (IDEA_PRICES.a.output)."),
]


@pytest.mark.parametrize(("variables", "sentence"), WRONG_SETTINGS)
def test_a_variable_that_holds_what_it_cannot_is_named(
    tmp_path: Path, variables: Mapping[str, str], sentence: str
) -> None:
    done = run("explore", "Tea", folder=tmp_path, **variables)

    assert done.returncode == 2
    assert done.stderr.startswith(f"idea: {sentence}")


WRONG_USAGE = [
    (["explore", "Tea", "--max-steps", "0"], "--max-steps must be at least 1."),
    (["explore", "Tea", "--max-cost-usd", "-1"], "--max-cost-usd must be more than 0.\n"),
    (["reject", "x", "--reason", "y" * 2_001], "--reason must be at most 2,000 characters."),
    (["explore", "Tea", "--toolset", "x"], "--toolset must be one of: research, assistant"),
    (["explore", "Tea", "--repository", "x"], "--repository must look like owner/name."),
    (["explore", "Tea", "--deadline-seconds", "1"], "--deadline-seconds must be at least 60."),
    (["explore", "Tea", "--context", "notse.md"], "--context: there is no file notse.md."),
    (
        ["explore", "Tea", "--callback-secret", "x"],
        "--callback-secret must come with --webhook-url",
    ),
    (["explore", " "], "The idea must not be blank."),
    (["tools", "--toolset", "foo"], "There is no toolset 'foo'. Choose one of: research, assi"),
    (["tool", "calculator", "[]", "--toolset", "assistant"], "The arguments must be a JSON obj"),
    (["tool", "x", "--research", "notes.md"], "The research folder notes.md is a file, not a f"),
    (["serve", "--workers", "0"], "--workers must be at least 1"),
    (["serve", "--port", "99999"], "--port must be between 0 and 65535."),
]


@pytest.mark.parametrize(("arguments", "sentence"), WRONG_USAGE)
def test_wrong_usage_is_said_in_the_words_of_the_command(
    tmp_path: Path, arguments: list[str], sentence: str
) -> None:
    (tmp_path / "notes.md").write_text("# Notes\n")

    done = run(*arguments, folder=tmp_path)

    assert done.returncode == 2
    assert done.stderr.startswith(f"idea: {sentence}")
    assert ".." not in done.stderr


def test_an_address_that_is_not_of_this_machine_is_no_matter_of_ports(tmp_path: Path) -> None:
    done = run("serve", "--host", "999.1.1.1", folder=tmp_path)

    assert done.returncode == 2
    assert "with --host." in done.stderr
    assert "port" not in done.stderr


def test_an_unknown_flag_shows_the_usage_of_its_command(tmp_path: Path) -> None:
    done = run("explore", "Tea", "--unknown", folder=tmp_path)

    assert done.returncode == 2
    assert done.stderr == (
        "idea: There is no option '--unknown'. See them with: idea explore --help\n"
        "Usage: idea explore [options] [idea]\n"
    )


def test_without_research_who_asks_for_its_tools_is_told_why(tmp_path: Path) -> None:
    done = run("tool", "read_research", '{"path": "a.md"}', folder=tmp_path)

    assert json.loads(done.stdout)["error_type"] == "unknown_tool"
    assert f"There is no research folder: {tmp_path / 'ideas'} does not exist." in done.stderr
    assert "--research" in done.stderr


def test_without_checks_who_runs_them_is_told_where_they_are_named(tmp_path: Path) -> None:
    done = run("tool", "--toolset", "code", "run_checks", "{}", folder=tmp_path)

    assert "names no checks in .idea-explorer.toml" in done.stderr
    assert "ideas/" not in done.stderr


@pytest.mark.parametrize("missing", ["GITHUB_TOKEN", "GITHUB_REPOSITORY"])
def test_half_of_a_github_is_said_to_do_nothing(tmp_path: Path, missing: str) -> None:
    both = {"GITHUB_TOKEN": "t0ken", "GITHUB_REPOSITORY": "acme/ideas"}

    done = run("tools", folder=tmp_path, **(both | {missing: ""}))

    assert done.returncode == 0
    assert (
        f"{missing} is not set, so the folder {tmp_path} is used instead of GitHub." in done.stderr
    )


def test_what_no_model_wrote_names_none(tmp_path: Path) -> None:
    run("explore", "Tea", "--model", "opus", "--quiet", folder=tmp_path)

    (document,) = (tmp_path / "ideas").glob("*/research.md")
    (entry,) = json.loads(document.with_name("exploration-log.json").read_text("utf-8"))
    assert "\nmodel: offline\n" in document.read_text("utf-8")
    assert entry["model"] == "offline"


def test_an_export_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    started = json.loads(run("explore", "Tea", "--json", folder=tmp_path).stdout)

    done = run("replay", started["id"], "--export", "none/such", folder=tmp_path)

    assert done.returncode == 2
    assert done.stderr == "idea: none/such cannot be written: No such file or directory.\n"


def test_a_replay_of_what_was_reused_says_so(tmp_path: Path) -> None:
    run("explore", "Tea", "--quiet", folder=tmp_path)
    again = run("explore", "Tea", "--if-exists", "reuse", "--json", folder=tmp_path)

    done = run("replay", json.loads(again.stdout)["id"], folder=tmp_path)

    assert done.returncode == 1
    assert "research.md: nothing ran, so there is nothing to run again." in done.stderr


@pytest.mark.skipif(not FULL.exists(), reason="there is no full device here")
@pytest.mark.parametrize("command", [["tools", "--json"], ["explore", "Tea"]])
def test_an_output_that_is_full_is_one_sentence(tmp_path: Path, command: list[str]) -> None:
    with FULL.open("w") as full:
        done = _fresh(command, tmp_path, stdout=full.fileno())

    assert done.returncode == 1
    assert done.stderr.endswith(
        "idea: The output cannot be read or written: No space left on device.\n"
    )
    assert "Traceback" not in done.stderr
    assert "Exception" not in done.stderr


def test_a_terminal_without_the_characters_ends_no_command(tmp_path: Path) -> None:
    done = _fresh(["explore", "Café über alles"], tmp_path, PYTHONIOENCODING="ascii")

    assert done.returncode == 0
    assert "research.md" in done.stdout


def _fresh(
    arguments: list[str], folder: Path, stdout: int = subprocess.PIPE, **variables: str
) -> "subprocess.CompletedProcess[str]":
    """With an interpreter of its own: what it does at its exit is part of the behaviour."""
    return subprocess.run(
        [sys.executable, "-m", "idea_explorer", *arguments],
        cwd=folder,
        env={**environment(variables), "PYTHONPATH": os.pathsep.join(sys.path)},
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        timeout=60,
    )
