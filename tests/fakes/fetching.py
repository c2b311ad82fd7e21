"""The http_fetch tool as it runs, only that loopback is allowed. As a program: what each URL costs.

`python -m tests.fakes.fetching URL...` fetches one after the other and prints, for each, the process's
peak of memory in megabytes over that after the first.
"""

import json
import resource
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from idea_explorer.adapters.clock import SystemClock
from idea_explorer.adapters.documents.process import ChildProcessReader
from idea_explorer.adapters.http.connections import FETCH_RULES, is_public_or_loopback
from idea_explorer.adapters.http.public import PublicHttp
from idea_explorer.domain.errors import ExternalError
from idea_explorer.domain.json import JsonObject
from idea_explorer.ports import FileInfo, UploadedFile
from idea_explorer.tools import DIRECT_VERSION
from idea_explorer.tools.assistant import assistant_tools
from idea_explorer.tools.pages import HttpFetch


class Files:
    """Uploaded files in memory."""

    def __init__(self, **files: bytes) -> None:
        self._files = [UploadedFile(name.replace("__", "."), data) for name, data in files.items()]

    def list(self) -> Sequence[FileInfo]:
        return [FileInfo(file.name, len(file.content)) for file in self._files]

    def read_all(self) -> Sequence[UploadedFile]:
        return self._files


def local_pages(seconds: float = 10.0) -> PublicHttp:
    rules = replace(FETCH_RULES, ports=None, allow=is_public_or_loopback)
    return PublicHttp(SystemClock(), fetch_rules=rules, fetch_seconds=seconds)


def fetcher(seconds: float = 10.0) -> Callable[[str], JsonObject]:
    tool = assistant_tools(
        local_pages(seconds), Files(), DIRECT_VERSION, None, documents=ChildProcessReader()
    ).tools["http_fetch"]
    return lambda url: tool.run(HttpFetch(url=url)).payload


def peak_megabytes() -> float:
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024 / 1024
    # getrusage would begin with the peak of the process that started this one
    lines = dict(line.split(":", 1) for line in status.read_text().splitlines())
    return int(lines["VmHWM"].split()[0]) / 1024


def main(urls: Sequence[str]) -> None:
    fetch = fetcher(seconds=0.5)
    peaks: list[float] = []
    for url in urls:
        try:
            fetch(url)
        except ExternalError as error:
            print(url, error.error_type, file=sys.stderr)
        peaks.append(peak_megabytes())
    print(json.dumps({url: peak - peaks[0] for url, peak in zip(urls, peaks, strict=True)}))


if __name__ == "__main__":
    main(sys.argv[1:])
