"""What `--context` makes of what it is given: a text, a file, or a slip."""

from pathlib import Path

import pytest

from idea_explorer.cli.arguments import read_request
from idea_explorer.cli.parser import build_parser
from idea_explorer.domain.errors import InvalidRequestError


def context(given: str) -> str | None:
    return read_request(build_parser().parse_args(["explore", "Tea", "--context", given])).context


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    "text",
    [
        "We have a roof.",
        "Roofs",
        "Open 24/7, see notes.md",
        "https://example.com/notes.md",
        "We have a roof. " * 30,
        "屋顶/蜜蜂" * 60,
    ],
)
def test_a_text_is_the_context(text: str) -> None:
    assert context(text) == text


def test_a_file_is_read(folder: Path) -> None:
    (folder / "notes.md").write_text("A roof.", "utf-8")

    assert context("notes.md") == "A roof."


@pytest.mark.parametrize("slip", ["notse.md", "./notes", "docs"])
def test_a_path_where_there_is_no_file_is_refused(folder: Path, slip: str) -> None:
    (folder / "docs").mkdir()

    with pytest.raises(InvalidRequestError, match=f"there is no file {slip}"):
        context(slip)
