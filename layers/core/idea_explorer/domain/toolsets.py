"""The toolsets: what the rest of the product has to know of each.

Nothing else asks for a toolset by its name. To add one, see docs/adding-a-toolset.md.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, NamedTuple

Publishes = Literal["document", "pull_request"]
FollowUp = Literal["document", "conversation"]


class ToolsetSpec(NamedTuple):
    """One toolset. Its prompt is `agent/prompts/{name}.md`, unless it takes a mode: then it is the mode's.

    No dataclass: `idea --help` loads this, and the module for those takes as long as half of the rest."""

    name: str
    tools: str  # module:function that makes the tools; imported when a run needs them
    labels: Mapping[str, str]  # by tool, what a person reads while it runs
    default_steps: int  # a toolset with depths takes both from the depth
    default_seconds: int = 120
    # what an exploration leaves behind besides its stored report
    publishes: Publishes | None = None
    # what a follow-up gets: the report as it was published, or the whole conversation
    follow_up: FollowUp = "conversation"
    # request fields of this toolset alone, each with what it does, to complete "only this toolset …"
    fields: Mapping[str, str] = MappingProxyType({})
    # the tools whose results are private: what was uploaded, the team's code, research or library
    private_tools: frozenset[str] = frozenset()
    # the tool whose last result is the result of the run, whatever its text says
    result_tool: str | None = None
    # the setting without which it cannot run in a deployment, and the parameter that an operator sets
    needs: tuple[str, str] | None = None

    @property
    def verifies(self) -> bool:
        """Whether its reports are verified: people decide by those that are published as documents."""
        return self.publishes_documents

    def takes(self, request_field: str) -> bool:
        return request_field in self.fields

    @property
    def searches_web(self) -> bool:
        return "web_search" in self.labels

    @property
    def publishes_documents(self) -> bool:
        return self.publishes == "document"

    @property
    def proposes_changes(self) -> bool:
        """Whether the approved changes are its result, and not the text that it ends with."""
        return self.publishes == "pull_request"


_SEARCH = {"web_search": "Searching the web"}
_WEB_FIELDS = {
    "allow_fetch_after_private": "opens pages",
    "allowed_domains": "searches the web",
    "blocked_domains": "searches the web",
    "user_location": "searches the web",
}

TOOLSETS: Mapping[str, ToolsetSpec] = {
    spec.name: spec
    for spec in (
        ToolsetSpec(
            name="research",
            tools="idea_explorer.wiring.toolsets:research",
            labels={
                **_SEARCH,
                "write_plan": "Planning",
                "web_fetch": "Reading a page",
                "http_fetch": "Reading a page",
                "read_research": "Reading earlier research",
                "list_research": "Looking through earlier research",
                "search_research": "Searching earlier research",
            },
            default_steps=5,
            publishes="document",
            follow_up="document",
            fields={
                "mode": "has modes",
                "depth": "has depths",
                "review_plan": "plans its research",
                "if_exists": "has something to reuse",
                "update": "adds to a document",
                **_WEB_FIELDS,
            },
            private_tools=frozenset({"read_research", "list_research", "search_research"}),
        ),
        ToolsetSpec(
            name="assistant",
            tools="idea_explorer.wiring.toolsets:assistant",
            labels={
                **_SEARCH,
                "http_fetch": "Reading a page",
                "file_search": "Searching the files",
                "calculator": "Calculating",
            },
            default_steps=10,
            fields={"files": "searches files", **_WEB_FIELDS},
            private_tools=frozenset({"file_search"}),
        ),
        ToolsetSpec(
            name="code",
            tools="idea_explorer.wiring.code:code_toolset",
            labels={
                "read_file": "Reading a file",
                "list_files": "Listing files",
                "search_files": "Searching the code",
                "find_files": "Looking for files",
                "find_definition": "Looking for a definition",
                "find_importers": "Looking for importers",
                "find_references": "Looking for uses",
                "edit_file": "Proposing an edit",
                "create_file": "Proposing a file",
                "delete_file": "Proposing to delete a file",
                "move_file": "Proposing to move a file",
                "run_checks": "Running the checks",
            },
            default_steps=10,
            default_seconds=300,  # an edit of a whole file of 22 KB takes two minutes to write
            publishes="pull_request",
            fields={"repository": "reads a repository", "ref": "reads a repository"},
            private_tools=frozenset(
                "read_file list_files search_files find_files find_definition find_importers"
                " find_references edit_file create_file delete_file move_file run_checks".split()
            ),
            needs=("github_repository", "GitHubRepository"),
        ),
        ToolsetSpec(
            name="discover",
            tools="idea_explorer.wiring.music:discover",
            labels={
                "semanticSearch": "Searching the library",
                "tidalSearch": "Searching the catalogue",
                "albumTracks": "Reading an album",
                "batchMetadata": "Looking up tracks",
                "suggestPlaylist": "Putting a playlist together",
            },
            default_steps=5,
            result_tool="suggestPlaylist",
            private_tools=frozenset(
                "semanticSearch tidalSearch albumTracks batchMetadata suggestPlaylist".split()
            ),
            needs=("qdrant_url", "QdrantUrl"),
        ),
    )
}
DEFAULT_TOOLSET = "research"

if TYPE_CHECKING:
    ToolsetName = str
else:
    ToolsetName = Literal[tuple(TOOLSETS)]


def toolsets_taking(request_field: str) -> dict[str, str]:
    """The names of the toolsets that take a request field, each with what it does with it."""
    takers = (spec for spec in TOOLSETS.values() if spec.takes(request_field))
    return {spec.name: spec.fields[request_field] for spec in takers}
