"""Indexes of documents that are in no folder and on no server."""

from collections.abc import Callable, Mapping

from idea_explorer.adapters.research_index.index import DocumentIndex
from idea_explorer.adapters.research_index.sources import Changes, FileChange
from idea_explorer.domain.text import hash_text


class Documents:
    """Texts by their paths below `ideas/`, which a test may change."""

    identity = "a test"
    is_remote = False

    def __init__(self, texts: Mapping[str, str] | None = None) -> None:
        self.texts = dict(texts or {})
        self.read: list[str] = []

    def find_changes(self, state: str, versions: Callable[[], Mapping[str, str]]) -> Changes | None:
        known = versions()
        found = {path: hash_text(text) for path, text in self.texts.items()}
        changed = [path for path, version in found.items() if known.get(path) != version]
        self.read += changed
        files = [FileChange(path, found[path], 1, self.texts[path]) for path in changed]
        gone = [FileChange(path, None) for path in known if path not in found]
        return Changes([*files, *gone], "") if files or gone else None


def index_of(texts: Mapping[str, str] | None = None) -> DocumentIndex:
    return DocumentIndex(Documents(texts))
