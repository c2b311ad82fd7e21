"""A word that no command knows gets the one that was probably meant."""

import pytest

from idea_explorer.cli import main


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["lst"], "There is no command 'lst'. Did you mean 'list'? See them with: idea --help"),
        (["xyzzy"], "There is no command 'xyzzy'. See them with: idea --help"),
        (["admin", "tokn"], "Did you mean 'token'? See them with: idea admin --help"),
        (
            ["explore", "Tea", "--tolset", "code"],
            "There is no option '--tolset'. Did you mean '--toolset'?",
        ),
        (["explore", "Tea", "--effrot=low"], "'--effrot'. Did you mean '--effort'?"),
        (["report", "last", "--format", "htm"], "--format cannot be 'htm'. Did you mean 'html'?"),
        (["completion", "tcsh"], "Choose one of: bash, zsh, fish."),
        (["completion"], "The following arguments are required: shell. Usage:"),
        (["list", "--foo"], "There is no option '--foo'. See them with: idea list --help Usage:"),
        (["explore", "A", "box"], "expected: box. Put a text with spaces into quotation marks."),
        (["list", "--limit"], "--limit needs a value."),
        (["list", "--local", "--profile", "x"], "--profile cannot be used with --local. Usage:"),
        (["list", "--limit", "x"], "--limit takes a whole number, not 'x'."),
        (
            ["explore", "Tea", "--max-cost-usd", "2,50"],
            "--max-cost-usd takes a number, not '2,50'.",
        ),
    ],
)
def test_what_was_meant_is_suggested(
    arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)

    assert ended.value.code == 2
    said = " ".join(capsys.readouterr().err.split())
    assert sentence in said
    assert "shell, words" not in said


def test_a_secret_on_the_command_line_is_not_repeated(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["admin", "secret", "set", "github", "ghp_secret"])

    assert "ghp_secret" not in capsys.readouterr().err
