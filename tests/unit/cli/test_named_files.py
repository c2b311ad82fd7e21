"""The files that commands take: a pipe or a device in place of one is refused at once, in one sentence."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from idea_explorer.cli import approvals, music, replay
from idea_explorer.cli.arguments import read_request
from idea_explorer.cli.parser import build_parser
from idea_explorer.domain.errors import InvalidRequestError


def _command(*words: str) -> Callable[[str], object]:
    def call(path: str) -> object:
        return read_request(build_parser().parse_args([*words, path]))

    return call


def _run(
    run: Callable[..., object], *words: str, after: tuple[str, ...] = ()
) -> Callable[[str], object]:
    return lambda path: run(build_parser().parse_args([*words, path, *after]))


COMMANDS: dict[str, Callable[[str], object]] = {
    "--context": _command("explore", "Tea", "--context"),
    "--content": _run(approvals.run, "approve", "an-id", "a-change", "--content"),
    "index": _run(music.index, "index"),
    "library import": _run(music.import_owned, "library", "import"),
    "replay": _run(replay.run, "replay"),
}


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
@pytest.mark.parametrize("kind", ["pipe", "device", "link to a device"])
def test_what_is_no_file_is_refused_without_waiting(
    command: Callable[[str], object], kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "given"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "link to a device":
        path.symlink_to("/dev/zero")
    given = "/dev/zero" if kind == "device" else str(path)

    with pytest.raises(InvalidRequestError) as refused:
        command(given)

    assert f"{given} is not a file." in refused.value.message


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_a_file_without_an_end_is_not_read(
    command: Callable[[str], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sparse file says that it has more bytes than there is memory."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "given"
    with path.open("wb") as file:
        file.truncate(1 << 40)

    with pytest.raises(InvalidRequestError, match=r"is larger than|is longer than"):
        command(str(path))


def test_the_content_of_a_link_that_a_person_named_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes.md").write_text("A roof.", "utf-8")
    (tmp_path / "link.md").symlink_to(tmp_path / "notes.md")

    request = read_request(build_parser().parse_args(["explore", "Tea", "--context", "link.md"]))

    assert request.context == "A roof."
