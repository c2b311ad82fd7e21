"""What TAB offers, and the scripts that ask for it."""

import shutil
import subprocess
from pathlib import Path

import pytest

from idea_explorer.cli import main
from idea_explorer.cli.completion import SCRIPTS, list_candidates
from idea_explorer.cli.user_parser import SHELLS


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["expl"], ["explore"]),
        (["explore", "--tool"], ["--toolset"]),
        (["explore", "--toolset", "c"], ["code"]),
        (["explore", "Tea", "--depth", ""], ["quick", "standard", "deep"]),
        (["report", "last", "--format", "m"], ["md", "m3u"]),
        (["config", "pro"], ["profile"]),
        (["config", "profile", "u"], ["use"]),
        (["list", "--status", "a"], ["awaiting_approval"]),
        (["completion", ""], ["bash", "zsh", "fish"]),
        (["help", "exit"], ["exit-codes"]),
        (["help", "comp"], ["completion"]),
        (["status", "la"], ["last"]),
        (["explore", "Tea", "--file", "no"], []),
        (["nothing", "x"], []),
    ],
)
def test_what_may_follow(
    words: list[str], offered: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert list(list_candidates(words)) == offered


def test_every_shell_has_a_script(capsys: pytest.CaptureFixture[str]) -> None:
    assert set(SCRIPTS) == set(SHELLS)
    for shell in SHELLS:
        assert main(["completion", shell]) == 0
        assert f"idea completion {shell} -- " in capsys.readouterr().out


def test_bash_gets_what_is_offered_for_the_word_at_the_cursor() -> None:
    """The program is replaced by one that prints what it was asked."""
    done = subprocess.run(
        ["bash", "--norc", "-c", f"""
{SCRIPTS["bash"]}
idea() {{ printf '%s\\n' "$#" "$@"; }}
COMP_WORDS=(idea explore 'two words' --to) COMP_CWORD=3
_idea; printf '%s\\n' "${{COMPREPLY[@]}}"
"""],
        capture_output=True,
        text=True,
        check=True,
    )  # fmt: skip
    asked = ["6", "completion", "bash", "--", "explore", "two words", "--to"]
    assert done.stdout.splitlines() == asked


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_can_read_their_script(shell: str) -> None:
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed")
    subprocess.run([program, "-n"], input=SCRIPTS[shell], text=True, check=True)
