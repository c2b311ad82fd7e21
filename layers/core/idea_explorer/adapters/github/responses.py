"""What we read in GitHub's answers, and nothing else of them. Parsed here, once."""

from datetime import datetime
from typing import Any, TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError

from idea_explorer.domain.errors import ExternalError

T = TypeVar("T")


class Named(BaseModel):
    sha: str


class Permissions(BaseModel):
    pull: bool
    push: bool


class Repository(BaseModel):
    full_name: str
    default_branch: str
    archived: bool = False
    permissions: Permissions | None = None


class Reference(BaseModel):
    object: Named


class Signature(BaseModel):
    date: datetime


class CommitFacts(BaseModel):
    message: str
    tree: Named
    committer: Signature


class ChangedFile(BaseModel):
    filename: str
    previous_filename: str | None = None


class Commit(BaseModel):
    sha: str
    html_url: str
    commit: CommitFacts
    parents: list[Named] = []
    files: list[ChangedFile] = []


class TreeEntry(BaseModel):
    path: str
    mode: str
    type: str
    sha: str
    size: int = 0


class Listing(BaseModel):
    tree: list[TreeEntry]
    truncated: bool


class Pull(BaseModel):
    number: int
    html_url: str
    state: str


class Blob(BaseModel):
    content: str
    encoding: str


def read(kind: type[T], answer: Any) -> T:
    """Raises ExternalError for an answer that is not of this kind, as a proxy's or a cut one is."""
    try:
        return TypeAdapter(kind).validate_python(answer)
    except ValidationError as error:
        raise ExternalError("GitHub's answer could not be read.") from error
