"""The promises of ResearchRepository, kept alike by every adapter. See docs/adding-an-adapter.md."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import TypeAlias

import pytest

from idea_explorer.adapters.folder.research import Folder
from idea_explorer.adapters.github.client import GitHubClient
from idea_explorer.adapters.github.research import GitHub
from idea_explorer.domain.errors import (
    DocumentMissingError,
    DocumentTooLargeError,
    NotADocumentError,
)
from idea_explorer.domain.paths import ResearchPath
from idea_explorer.ports import Document, DocumentInfo, ResearchRepository
from tests.fakes.github_server import FakeGitHub

Opener: TypeAlias = Callable[[Path], AbstractContextManager[ResearchRepository]]

FILES = {
    "ideas/market/2024-06.md": b"# Tea\n\nTea rooms do well.",
    "ideas/empty.md": b"",
    "ideas/large.md": b"x" * 51_201,
    "ideas/latin.md": b"caf\xe9",
    "ideas/market/chart.png": b"\x89PNG",
    "ideas/offline.md": b"---\nmodel: offline\n---\n\n# Rooms",
    "secret.md": b"outside",
}


def in_folder(folder: Path) -> AbstractContextManager[ResearchRepository]:
    for path, content in FILES.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    return nullcontext(Folder(folder))


@contextmanager
def on_github(folder: Path) -> Iterator[ResearchRepository]:
    with FakeGitHub(folder, token="t") as server:
        server.create_repository("acme/ideas", FILES)
        yield GitHub(GitHubClient("acme/ideas", lambda: "t", server.url), None)


OPENERS: dict[str, Opener] = {
    "folder": in_folder,
    "github": on_github,
}


@pytest.fixture(params=OPENERS)
def repository(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ResearchRepository]:
    with OPENERS[request.param](tmp_path) as opened:
        yield opened


def test_a_document_is_read_with_its_size(repository: ResearchRepository) -> None:
    found = repository.read(ResearchPath("market/2024-06.md"))
    assert found == Document(content="# Tea\n\nTea rooms do well.", size=25)
    assert repository.read(ResearchPath("empty.md")) == Document(content="", size=0)


def test_what_is_not_utf_8_is_replaced(repository: ResearchRepository) -> None:
    assert repository.read(ResearchPath("latin.md")) == Document(content="caf\ufffd", size=4)


def test_a_document_over_the_limit_is_not_read(repository: ResearchRepository) -> None:
    with pytest.raises(DocumentTooLargeError):
        repository.read(ResearchPath("large.md"))
    assert repository.read(ResearchPath("large.md"), limit=51_201).size == 51_201


def test_a_missing_document_and_a_folder_are_told_apart(repository: ResearchRepository) -> None:
    with pytest.raises(DocumentMissingError):
        repository.read(ResearchPath("nothing.md"))
    with pytest.raises(NotADocumentError):
        repository.read(ResearchPath("market"))


def test_everything_below_ideas_is_listed_and_nothing_else(repository: ResearchRepository) -> None:
    assert sorted(repository.list(), key=lambda info: info.path) == [
        DocumentInfo("empty.md", 0),
        DocumentInfo("large.md", 51_201),
        DocumentInfo("latin.md", 4),
        DocumentInfo("market/2024-06.md", 25),
        DocumentInfo("market/chart.png", 4),
        DocumentInfo("offline.md", 31),
    ]


def test_for_search_every_text_within_the_limit_is_read(repository: ResearchRepository) -> None:
    # without what the offline model wrote, which has the word in its title
    (tea,), total = repository.search("rooms", 1)
    assert (tea.path, tea.title, total) == ("market/2024-06.md", "Tea", 1)
    assert tea.text == "# Tea\n\nTea rooms do well."
    # by their names: the text of the empty one, and not that of the large one
    found, _ = repository.search("empty latin large secret", 5)
    assert {each.path for each in found} == {"empty.md", "latin.md"}
