"""A change that a model proposes and a person decides: bound to the content it was made from."""

import hashlib
from typing import Literal

from pydantic import BaseModel, ConfigDict

from idea_explorer.domain.diffs import unified_diff
from idea_explorer.domain.git import blob_sha
from idea_explorer.domain.paths import RepositoryPath

ProposalKind = Literal["edit", "create"]
_BOM = "\ufeff"


class Proposal(BaseModel):
    """The whole new content of one file. `base_sha` names the content it replaces; None: no file yet."""

    model_config = ConfigDict(frozen=True)

    path: str
    kind: ProposalKind
    content: str
    diff: str
    base_sha: str | None
    content_hash: str
    description: str


def propose(path: RepositoryPath, content: str, description: str, base: bytes | None) -> Proposal:
    """The proposal to make `content` of the file that now holds `base`.

    A model does not see line ends and byte order marks, so the base's are kept.
    """
    old = None if base is None else base.decode("utf-8")
    new = content if old is None else _in_the_style_of(old, content)
    return Proposal(
        path=path,
        kind="create" if base is None else "edit",
        content=new,
        diff=unified_diff(path, old, new),
        base_sha=None if base is None else blob_sha(base),
        content_hash=content_hash(new),
        description=description,
    )


def content_hash(content: str) -> str:
    return hashlib.sha256(content.encode("utf-8")).hexdigest()


def _in_the_style_of(old: str, new: str) -> str:
    if "\r\n" in old and "\n" not in old.replace("\r\n", "") and "\r\n" not in new:
        new = new.replace("\n", "\r\n")
    if old.startswith(_BOM) and not new.startswith(_BOM):
        new = _BOM + new
    return new
