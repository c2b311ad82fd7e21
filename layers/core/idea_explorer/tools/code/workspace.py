"""What the code tools share: the repository, its symbols, and what was approved since."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from idea_explorer.domain.errors import ExplorerError, ExternalError, ToolError
from idea_explorer.domain.limits import CodeLimits
from idea_explorer.domain.paths import RepositoryPath
from idea_explorer.ports import Snapshot, Symbols
from idea_explorer.tools.code.index import SymbolIndex
from idea_explorer.tools.code.tree import Overlay, Tree


@dataclass
class Workspace:
    """One exploration's view of a repository. Safe to use from several threads.

    The snapshot is opened on first use, so that a repository that cannot be read is a tool's error and
    not the end of the run.
    """

    open_snapshot: Callable[[], Snapshot]
    symbols: Symbols
    limits: CodeLimits = field(default_factory=CodeLimits)

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._snapshot: Snapshot | None = None
        self._refusal: ExplorerError | None = None
        self._overlay = Overlay()
        self.index = SymbolIndex(self.symbols)
        self._tree: Tree | None = None

    @property
    def tree(self) -> Tree:
        with self._lock:
            if self._snapshot is None:
                self._snapshot = self._opened()
            if self._tree is None:
                self._tree = Tree(self._snapshot, self._overlay)
            return self._tree

    def _opened(self) -> Snapshot:
        """Opened once, or refused once: only a failure that may pass is worth another attempt."""
        if self._refusal:
            raise self._refusal
        try:
            return self.open_snapshot()
        except ExternalError as error:
            self._refusal = None if error.retryable else error
            raise
        except ExplorerError as error:  # a missing folder or ref is worth a sentence to the model
            self._refusal = ToolError("internal_error", error.sentence)
            raise self._refusal from error

    def approve(self, path: RepositoryPath, content: str) -> None:
        """From now on every tool sees this content."""
        with self._lock:
            self._overlay = self._overlay.approve(path, content.encode("utf-8"))
            self._tree = None
