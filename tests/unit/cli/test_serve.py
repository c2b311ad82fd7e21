"""What `idea serve` sets up before it listens."""

import sqlite3
import sys
from argparse import Namespace
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from idea_explorer.cli import serve
from idea_explorer.domain.errors import ConfigurationError, UnavailableError
from idea_explorer.observability.logging import SilentLog
from idea_explorer.ports import ResearchIndex
from idea_explorer.settings import Settings
from idea_explorer.wiring.deps import server_deps
from idea_explorer.wiring.toolsets import INDEX_FILE


def test_threads_that_compute_make_others_wait_less_than_the_interpreter_lets_them(
    tmp_path: Path,
) -> None:
    before = sys.getswitchinterval()
    arguments = Namespace(workers=1, port=0, research=str(tmp_path / "missing"))
    try:
        with pytest.raises(ConfigurationError):
            serve.run(arguments)
        assert sys.getswitchinterval() == pytest.approx(serve.SWITCH_SECONDS)
    finally:
        sys.setswitchinterval(before)


def test_the_documents_are_indexed_before_anybody_asks(tmp_path: Path) -> None:
    (tmp_path / "ideas").mkdir()
    (tmp_path / "ideas" / "bees.md").write_text("# Bees")
    settings = Settings(research_dir=tmp_path)

    serve._prepare(server_deps(settings, SilentLog()))

    with closing(sqlite3.connect(settings.data_dir / INDEX_FILE)) as db:
        assert db.execute("SELECT path FROM documents").fetchall() == [("ideas/bees.md",)]


def test_documents_that_cannot_be_indexed_do_not_end_the_server(tmp_path: Path) -> None:
    def fail() -> ResearchIndex:
        raise UnavailableError("GitHub cannot be reached.")

    deps = server_deps(Settings(research_dir=tmp_path), SilentLog())
    serve._prepare(replace(deps, index=fail))
