"""The command in the process of the tests."""

import pytest

from idea_explorer.cli import main


class Idea:
    """Answers with exit code, output and errors."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *arguments: str) -> tuple[int, str, str]:
        code = main(arguments)
        out, err = self._capsys.readouterr()
        return code, out, err
