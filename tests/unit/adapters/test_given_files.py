from pathlib import Path

import pytest

from idea_explorer.adapters.documents.process import ChildProcessReader
from idea_explorer.adapters.given_files import GivenFiles
from idea_explorer.domain.errors import InvalidRequestError

READER = ChildProcessReader()
UNREADABLE = Path("/proc/self/mem")  # even for root: its first page is not mapped


def test_given_files_are_read_under_their_names(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"alpha")
    (tmp_path / "b.md").write_bytes(b"\xff")
    files = GivenFiles([tmp_path / "a.txt", tmp_path / "b.md"], READER)
    assert [(about.name, about.size) for about in files.list()] == [("a.txt", 5), ("b.md", 1)]
    read = [(file.name, file.content) for file in files.read_all()]
    assert read == [("a.txt", b"alpha"), ("b.md", b"\xff")]


def test_what_is_no_file_is_said_at_once(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "missing.txt"):
        with pytest.raises(InvalidRequestError, match="is not a file"):
            GivenFiles([path], READER)


@pytest.mark.skipif(not UNREADABLE.exists(), reason="only Linux has such a file")
def test_a_file_that_cannot_be_read_is_said_at_once() -> None:
    with pytest.raises(InvalidRequestError, match=r"/proc/self/mem cannot be read: \w+"):
        GivenFiles([UNREADABLE], READER)


@pytest.mark.parametrize("content", [b"", b" \n\t", b"\xef\xbb\xbf\n"])
def test_a_file_without_text_is_said_at_once(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.txt").write_bytes(content)
    with pytest.raises(InvalidRequestError, match=r"a\.txt is empty"):
        GivenFiles([tmp_path / "a.txt"], READER)


def test_a_file_whose_name_cannot_be_kept_is_said_at_once(tmp_path: Path) -> None:
    (tmp_path / "a\\b.txt").touch()
    with pytest.raises(InvalidRequestError, match="must be a file name"):
        GivenFiles([tmp_path / "a\\b.txt"], READER)


def test_a_file_that_is_too_large_is_said_at_once(tmp_path: Path) -> None:
    large = tmp_path / "large.txt"
    with large.open("wb") as file:
        file.truncate(20 * 1024 * 1024 + 1)
    with pytest.raises(InvalidRequestError, match="20 MB"):
        GivenFiles([large], READER)


def test_there_may_be_twenty_and_no_more(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("a")
    assert len(list(GivenFiles([file] * 20, READER).read_all())) == 20
    with pytest.raises(InvalidRequestError, match="At most 20"):
        GivenFiles([file] * 21, READER)
