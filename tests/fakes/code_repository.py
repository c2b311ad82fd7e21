"""Repositories for the code tools: real folders and real tarballs, described by what is in them."""

import gzip
import io
import os
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from idea_explorer.adapters.snapshots.cache import Snapshots
from idea_explorer.adapters.snapshots.packs import Pack
from idea_explorer.adapters.snapshots.symbols import SqliteSymbols
from idea_explorer.agent.tool_calls import ToolExecutor, ToolLimiter, ToolRetrier
from idea_explorer.agent.validation import ArgumentValidator
from idea_explorer.domain.approvals import Proposal
from idea_explorer.domain.limits import CodeLimits
from idea_explorer.domain.tools import ToolCall
from idea_explorer.ports import Snapshot
from idea_explorer.tools.code import Workspace, code_tools
from tests.fakes.clock import ManualClock
from tests.fakes.engine import RecordedLog

SHA = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
TOP = "team-project-4b825dc"


@dataclass(frozen=True)
class Link:
    target: str | bytes


@dataclass(frozen=True)
class HardLink:
    target: str


Content = str | bytes | Link | HardLink
Files = Mapping[str, Content]  # names that are not UTF-8 come from os.fsdecode


def fill(root: Path, files: Files) -> Path:
    """A folder with these files and links in it."""
    top = os.fsencode(root)
    for name, content in files.items():
        path = top + b"/" + os.fsencode(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)  # noqa: PTH103, PTH120  names are bytes
        match content:
            case Link(target):
                Path(os.fsdecode(path)).symlink_to(os.fsdecode(target))
            case HardLink(target):
                os.link(root / target, path)
            case str() | bytes():
                Path(os.fsdecode(path)).write_bytes(_bytes(content))
    return root


def tarball(files: Files, *, top: str = TOP, extra: Sequence[tarfile.TarInfo] = ()) -> bytes:
    """What GitHub would send: everything below one folder, gzipped."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(f"{top}/{name}")
            member.mtime = 1_700_000_000
            match content:
                case Link(target):
                    member.type, member.linkname = tarfile.SYMTYPE, os.fsdecode(target)
                    archive.addfile(member)
                case HardLink(target):
                    member.type, member.linkname = tarfile.LNKTYPE, target
                    archive.addfile(member)
                case str() | bytes():
                    data = _bytes(content)
                    member.size = len(data)
                    archive.addfile(member, io.BytesIO(data))
        for member in extra:
            archive.addfile(member)
    return gzip.compress(packed.getvalue(), 1)


def _bytes(content: str | bytes) -> bytes:
    return content.encode() if isinstance(content, str) else content


class CodeBench:
    """The tools as the engine calls them, over one snapshot. Proposals are kept, not decided."""

    def __init__(self, cache: Path, limits: CodeLimits | None = None) -> None:
        self.cache = cache
        self.limits = limits or CodeLimits()
        self.snapshots = Snapshots(cache / "snapshots", self.limits)
        self.symbols = SqliteSymbols(cache / "symbols.db")
        self.proposals: list[Proposal] = []
        self.log = RecordedLog()

    def over_folder(self, root: Path) -> "CodeBench":
        return self._over(lambda: self.snapshots.of_folder(root))

    def over_tarball(self, packed: bytes, sha: str = SHA) -> "CodeBench":
        return self._over(
            lambda: self.snapshots.of_commit("acme/tea", sha, lambda: io.BytesIO(packed))
        )

    def over_pack(self, file: Path) -> "CodeBench":
        """A snapshot that is on disk already."""
        return self._over(lambda: Pack(file, SHA))

    def _over(self, open_snapshot: Any) -> "CodeBench":
        def opened() -> Snapshot:
            snapshot: Snapshot = open_snapshot()
            return snapshot

        self.workspace = Workspace(opened, self.symbols, self.limits)
        runner = ToolLimiter(ToolRetrier(ToolExecutor(self.log), ManualClock(), self.log))
        self._caller = ArgumentValidator(code_tools(self.workspace), runner, self.log)
        return self

    def call(self, name: str, /, **given: Any) -> Any:
        result = self._caller.call(ToolCall(id="c", name=name, input=given))
        if result.proposal:
            self.proposals.append(result.proposal)
        return result.payload


PROJECT: Files = {
    "package.json": '{"name": "garden-kit"}\n',
    "README.md": "# Garden kit\n\nTODO: describe it\n",
    "src/app.py": (
        "import os\n\nfrom .plots import Plot\n\n\n"
        "def main(argv):\n    # TODO: parse\n    return Plot()\n"
    ),
    "src/plots.py": "class Plot:\n    rows = 3\n\n    def water(self, litres=1):\n        return litres\n",
    "src/windows.txt": "first\r\nsecond\r\n",
    "src/latin.txt": b"caf\xe9\n",
    "src/logo.png": b"\x89PNG\x00",
    "src/large.csv": b"1,2\n" * 262_145,
    "docs/latest": Link("../README.md"),
    "docs/code": Link("../src"),
}


def garden_kit(folder: Path) -> CodeBench:
    """The tools over a small project, of which every file is of the same time."""
    root = fill(folder / "project", PROJECT)
    for file in root.rglob("*"):
        os.utime(file, (1_700_000_000, 1_700_000_000), follow_symlinks=False)
    return CodeBench(folder / "cache").over_folder(root)
