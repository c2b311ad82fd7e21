"""The parts of GitHub's responses that we use, parsed once and here."""

from datetime import datetime
from typing import Any, TypeVar

from pydantic import AliasPath, BaseModel, Field, TypeAdapter, ValidationError

from idea_explorer.domain.errors import ExternalError

T = TypeVar("T")


class GitObject(BaseModel):
    sha: str


class Permissions(BaseModel):
    pull: bool
    push: bool


class Repository(BaseModel):
    full_name: str = ""
    default_branch: str
    archived: bool = False
    permissions: Permissions | None = None


class GitRef(BaseModel):
    sha: str = Field(validation_alias=AliasPath("object", "sha"))


class ChangedFile(BaseModel):
    filename: str
    previous_filename: str | None = None


class Commit(BaseModel):
    sha: str
    html_url: str
    message: str = Field(validation_alias=AliasPath("commit", "message"))
    tree_sha: str = Field(validation_alias=AliasPath("commit", "tree", "sha"))
    date: datetime = Field(validation_alias=AliasPath("commit", "committer", "date"))
    parents: list[GitObject] = []
    files: list[ChangedFile] = []


class TreeEntry(BaseModel):
    path: str
    mode: str
    type: str
    sha: str
    size: int = 0


class TreeListing(BaseModel):
    tree: list[TreeEntry]
    truncated: bool


class PullRequest(BaseModel):
    number: int
    html_url: str
    state: str


class Blob(BaseModel):
    content: str
    encoding: str


def parse(kind: type[T], response: Any) -> T:
    """Raises ExternalError for a response of another shape, such as a proxy's or a truncated one."""
    try:
        return TypeAdapter(kind).validate_python(response)
    except ValidationError as error:
        raise unreadable() from error


def unreadable() -> ExternalError:
    error = ExternalError("GitHub's response could not be read.")
    error.code = "GITHUB_UNAVAILABLE"
    return error
