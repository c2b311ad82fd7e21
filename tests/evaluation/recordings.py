"""The ideas and questions of the evaluation, each with a rubric and a recorded answer.

One YAML file each, in `recordings/`; docs/evaluation.md describes the format.
"""

from functools import cached_property
from pathlib import Path
from typing import Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, model_validator

from idea_explorer.domain.depths import DEFAULT_DEPTH
from idea_explorer.domain.json import JsonObject
from idea_explorer.domain.text import fold

FOLDER = Path(__file__).parent / "recordings"


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Source(_Part):
    """A page that a search found, with the passage that the model cites from it."""

    url: str
    title: str
    text: str
    age: str | None = None


class Step(_Part):
    """One answer of the model before the report: everything it looks up side by side."""

    search: dict[str, list[str]] = Field(default_factory=dict)  # the sources found, by query
    list_research: bool = False
    search_research: str | None = None
    read_research: list[str] = Field(default_factory=list)
    http_fetch: list[str] = Field(default_factory=list)
    file_search: list[str] = Field(default_factory=list)
    calculator: list[str] = Field(default_factory=list)

    @property
    def calls(self) -> list[tuple[str, JsonObject]]:
        """The calls of tools that run here, each with its arguments."""
        wanted: list[tuple[str, JsonObject]] = []
        if self.list_research:
            wanted.append(("list_research", {}))
        if self.search_research:
            wanted.append(("search_research", {"query": self.search_research}))
        wanted += [("read_research", {"path": path}) for path in self.read_research]
        wanted += [("http_fetch", {"url": url}) for url in self.http_fetch]
        wanted += [("file_search", {"query": query}) for query in self.file_search]
        wanted += [("calculator", {"expression": given}) for given in self.calculator]
        return wanted


class Point(_Part):
    """Something a good report says. It does if it has any of the words of `any`, and one of each list in
    `all`; upper and lower case and accents do not matter."""

    point: str
    any: list[str] = Field(default_factory=list)
    all: list[list[str]] = Field(default_factory=list)

    @model_validator(mode="after")
    def _is_recognisable(self) -> "Point":
        if not self.any and not self.all:
            raise ValueError(f"'{self.point}' needs words by which it is recognised: any or all")
        return self

    def is_covered(self, folded: str) -> bool:
        groups = [*([self.any] if self.any else []), *self.all]
        return all(any(fold(words) in folded for words in group) for group in groups)


class Recording(_Part):
    name: str
    toolset: Literal["research", "assistant"] = "research"
    mode: str = "business"
    depth: str = DEFAULT_DEPTH
    language: str = "en"
    idea: str
    context: str | None = None
    research: dict[str, str] = Field(default_factory=dict)  # the team's documents, by path
    files: dict[str, str] = Field(default_factory=dict)  # uploaded, by name
    pages: dict[str, str] = Field(default_factory=dict)  # HTML by address
    sources: dict[str, Source] = Field(default_factory=dict)
    steps: list[Step] = Field(default_factory=list)
    report: str
    rewrites: list[str] = Field(default_factory=list)  # when asked to write the report again
    corrections: dict[str, str] = Field(default_factory=dict)  # instead: what it then replaces
    planted: list[str] = Field(default_factory=list)  # claims that their sources do not support
    rubric: list[Point] = Field(min_length=3)

    @property
    def group(self) -> str:
        """The row of the summary."""
        if self.toolset != "research":
            return self.toolset
        return f"{self.toolset} {self.mode} {self.depth}"

    @property
    def fields(self) -> dict[str, str]:
        """The fields of the request."""
        wanted: dict[str, str] = {"toolset": self.toolset}
        if self.toolset == "research":
            wanted |= {"mode": self.mode, "depth": self.depth}
        return wanted | ({"context": self.context} if self.context else {})

    @cached_property
    def reports(self) -> list[str]:
        corrected = self.report
        for wrong, right in self.corrections.items():
            corrected = corrected.replace(wrong, right)
        return [self.report, *(self.rewrites or [corrected])]


def load(path: Path) -> Recording:
    fields = yaml.load(path.read_text("utf-8"), Loader=yaml.CSafeLoader)
    return Recording.model_validate({"name": path.stem, **fields})


def load_all(folder: Path = FOLDER) -> list[Recording]:
    """In the order of the table: by group, then by name."""
    found = [load(path) for path in sorted(folder.glob("*.yaml"))]
    return sorted(found, key=lambda recording: (recording.group, recording.name))
