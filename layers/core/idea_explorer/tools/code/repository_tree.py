"""The repository as the tools see it: a snapshot, and over it the changes approved since."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from idea_explorer.domain.blobs import blob_sha
from idea_explorer.domain.code import NOT_KEPT, SnapshotEntry, ensure_newline, is_utf8
from idea_explorer.domain.dataclass import dataclass
from idea_explorer.domain.deadline import check_time_limit
from idea_explorer.domain.errors import ToolError
from idea_explorer.domain.paths import RepositoryPath
from idea_explorer.domain.redaction import mask_bytes
from idea_explorer.domain.repository_settings import SETTINGS_FILE, find_allowed_files
from idea_explorer.domain.secret_files import is_secret_file
from idea_explorer.ports import Snapshot
from idea_explorer.tools.code.parsing.modules import module_segments
from idea_explorer.tools.code.patterns import Pattern

MAX_RUN = 262_144  # bytes that are searched at once, and the rest of the line


@dataclass(frozen=True, slots=True)
class LineMatch:
    """A line with a match, and where in the buffer the match begins."""

    entry: SnapshotEntry
    at: int


class TextBuffer:
    """Texts one after the other, each ending in a line feed (its own, or one that was added)."""

    def __init__(self, text: memoryview, entries: Sequence[SnapshotEntry]) -> None:
        self.text = text
        self.entries = entries
        self._last_shown: tuple[SnapshotEntry, bytes] | None = None

    def content(self, entry: SnapshotEntry) -> bytes:
        return bytes(self.text[entry.start : entry.start + entry.size])

    def shown(self, entry: SnapshotEntry) -> bytes:
        """The content as a model may see it: as long, with masks in the place of keys."""
        last = self._last_shown
        if last is None or last[0] is not entry:
            # matches come file by file
            self._last_shown = last = (entry, mask_bytes(self.content(entry)))
        return last[1]

    def match_lines(
        self, pattern: Pattern, is_wanted: Callable[[SnapshotEntry], bool]
    ) -> Iterator[LineMatch]:
        """One match for each line. The pattern has to match up to the end of a line, and not beyond."""
        for start, end in self._runs(is_wanted):
            line_end = start - 1
            for span in pattern.finditer(self.text, start, end):
                at = span.start()
                # skip the empty matches at the end of the same line and after the last line
                if line_end < at < end:
                    yield LineMatch(self._entry_at(at), at)
                    line_end = span.end()
                    # a byte that is not UTF-8 ends a match, but not its line
                    if line_end < end and self.text[line_end] != ord("\n"):
                        line_end = self._line_end(line_end, end) - 1

    def files_with(self, pattern: Pattern) -> Iterator[SnapshotEntry]:
        """Every file that contains a match."""
        for start, end in self._runs(lambda _: True):
            while found := pattern.search(self.text, start, end):
                entry = self._entry_at(found.start())
                yield entry
                start = self._end(entry)

    def line(self, hit: LineMatch) -> tuple[int, bytes, int]:
        """The number of the line, the line, and where in it the match begins."""
        content = self.content(hit.entry)
        at = hit.at - hit.entry.start
        first = content.rfind(b"\n", 0, at) + 1
        last = content.find(b"\n", at)
        line = self.shown(hit.entry)[first : last if last >= 0 else None]
        return content.count(b"\n", 0, at) + 1, line, at - first

    @cached_property
    def _texts(self) -> list[SnapshotEntry]:
        kept = (entry for entry in self.entries if entry.start != NOT_KEPT and entry.size)
        return sorted(kept, key=lambda entry: entry.start)

    @cached_property
    def _starts(self) -> list[int]:
        return [entry.start for entry in self._texts]

    def _entry_at(self, position: int) -> SnapshotEntry:
        return self._texts[bisect_right(self._starts, position) - 1]

    def _end(self, entry: SnapshotEntry) -> int:
        end = entry.start + entry.size
        return end if self.text[end - 1] == ord("\n") else end + 1

    def _runs(self, is_wanted: Callable[[SnapshotEntry], bool]) -> Iterator[tuple[int, int]]:
        """The ranges of wanted texts, adjacent ones joined, in parts of about MAX_RUN that end with a line.
        While RE2 searches one, it cannot be stopped, so the time limit is checked before each."""
        start = end = NOT_KEPT
        for entry in self._texts:
            if not is_wanted(entry):
                continue
            if entry.start != end or end - start >= MAX_RUN:
                yield from self._parts(start, end)
                start = entry.start
            end = self._end(entry)
        yield from self._parts(start, end)

    def _parts(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        while start < end:
            check_time_limit()
            part_end = self._line_end(start + MAX_RUN, end)
            yield start, part_end
            start = part_end

    def _line_end(self, at: int, end: int) -> int:
        """Where the line at this position ends, its line feed included."""
        while at < end:
            found = bytes(self.text[at : min(at + MAX_RUN, end)]).find(b"\n")
            if found >= 0:
                return at + found + 1
            at += MAX_RUN
        return end


def _allowed_files(snapshot: Snapshot) -> frozenset[str]:
    entry = next((e for e in snapshot.entries if e.path == SETTINGS_FILE), None)
    if entry is None or entry.content != "text":
        return frozenset()
    return find_allowed_files(bytes(snapshot.text[entry.start : entry.start + entry.size]))


MAX_HOPS = 40  # as many links as Linux follows before it reports a loop


def _buffer_files(files: Mapping[str, bytes], modified: int) -> TextBuffer:
    entries: list[SnapshotEntry] = []
    text = bytearray()
    for path, content in files.items():
        entry = SnapshotEntry(path, "text", len(content), modified, blob_sha(content), len(text))
        entry = replace(entry, utf8=is_utf8(content))
        if b"\x00" in content:
            entry = replace(entry, content="binary", start=NOT_KEPT)
        else:
            text += ensure_newline(content)
        entries.append(entry)
    return TextBuffer(memoryview(bytes(text)), entries)


class RepositoryTree:
    """Everything is in memory. Links are resolved here, name by name, and never lead out of the root.
    `approved` are the contents approved since the snapshot, by path; None is a file that is gone. Key files
    have no content here, unless the snapshot's own settings allow them by name; approved changes cannot allow
    any."""

    def __init__(self, snapshot: Snapshot, approved: Mapping[str, bytes | None]) -> None:
        self._approved = approved
        self.allowed_files = _allowed_files(snapshot)
        below = [
            replace(entry, content="secret", start=NOT_KEPT) if self._is_hidden(entry) else entry
            for entry in snapshot.entries
            if entry.path not in approved
        ]
        # approval times are not known here: approved files count as new as the newest file, on every resume
        newest = max((entry.modified for entry in snapshot.entries), default=0)
        written = {path: content for path, content in approved.items() if content is not None}
        self.buffers = (TextBuffer(snapshot.text, below), _buffer_files(written, newest))
        self._entries = {entry.path: entry for buffer in self.buffers for entry in buffer.entries}
        self._paths = sorted(self._entries)

    def _is_hidden(self, entry: SnapshotEntry) -> bool:
        return entry.kind == "file" and is_secret_file(entry.path, self.allowed_files)

    def entry(self, path: str) -> SnapshotEntry | None:
        return self._entries.get(path)

    def is_folder(self, path: str) -> bool:
        return path in self._folders

    def children(self, folder: str) -> list[str]:
        return sorted(self._folders[folder])

    def folders_below(self, folder: str) -> Iterator[str]:
        prefix = f"{folder}/" if folder else ""
        return (path for path in self._folders if path and path.startswith(prefix))

    def entries_below(self, folder: str) -> Iterator[SnapshotEntry]:
        """Sorted by path."""
        if not folder:
            return (self._entries[path] for path in self._paths)
        first = bisect_left(self._paths, f"{folder}/")
        last = bisect_left(self._paths, f"{folder}0")  # '0' is the character after '/'
        return (self._entries[path] for path in self._paths[first:last])

    def modified(self, folder: str) -> int:
        """When anything in the folder was last changed."""
        return max((entry.modified for entry in self.entries_below(folder)), default=0)

    def content(self, entry: SnapshotEntry) -> bytes:
        """The bytes of a text file, keys included: for proposals, and to find places in."""
        return self.buffers[entry.path in self._approved].content(entry)

    def shown(self, entry: SnapshotEntry) -> bytes:
        """The bytes of a text file as a model may see them."""
        return self.buffers[entry.path in self._approved].shown(entry)

    def files_with(self, pattern: Pattern) -> Iterator[SnapshotEntry]:
        for buffer in self.buffers:
            yield from buffer.files_with(pattern)

    def resolve(self, path: RepositoryPath) -> RepositoryPath:
        """The path with links resolved; raises `path_validation` if one leads out of the repository."""
        leads_out = ToolError("path_validation", f"A link leads out of the repository: {path}")
        done: list[str] = []
        todo = [*reversed(path.split("/"))]
        hops = 0
        while todo:
            segment = todo.pop()
            if segment == ".." and not done:
                raise leads_out
            if segment == "..":
                done.pop()
            elif segment not in {"", "."}:
                done.append(segment)
                link = self._entries.get("/".join(done))
                if link and link.kind == "symlink":
                    hops += 1
                    if hops > MAX_HOPS:
                        raise ToolError("path_validation", f"Links lead in a circle: {path}")
                    if link.target.startswith("/"):
                        raise leads_out
                    done.pop()
                    todo.extend(reversed(link.target.split("/")))
        return RepositoryPath("/".join(done))

    @cached_property
    def modules(self) -> frozenset[tuple[str, ...]]:
        """Every file by the name under which it would be imported."""
        return frozenset(tuple(module_segments(path)) for path in self._paths)

    @cached_property
    def _folders(self) -> dict[str, set[str]]:
        """Every folder with the paths of its children."""
        folders: dict[str, set[str]] = {"": set()}
        for path in self._paths:
            child = path
            while child:
                parent = child.rpartition("/")[0]
                is_known = parent in folders
                folders.setdefault(parent, set()).add(child)
                child = "" if is_known else parent
        return folders
