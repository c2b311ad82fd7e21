"""`--file`: files of this machine, for the assistant to search."""

from collections.abc import Sequence
from pathlib import Path

from idea_explorer.domain.request import ExploreRequest
from idea_explorer.ports import UploadedFiles
from idea_explorer.settings import Settings
from idea_explorer.usecases.request_policy import check_takes_files
from idea_explorer.wiring.local import given_files, local_uploads


def named_files(paths: Sequence[str] | None, toolset: str) -> UploadedFiles:
    """Raises InvalidRequestError where a file is missing, too large, or for a toolset without files."""
    if paths:
        check_takes_files(toolset)
    return given_files([Path(path) for path in paths or ()])


def with_files(
    request: ExploreRequest, files: UploadedFiles, owner: str, settings: Settings
) -> ExploreRequest:
    """The request with the files, copied to where a run that goes on later finds them."""
    uploads = local_uploads(settings)
    kept = tuple(uploads.add(owner, file.name, file.content) for file in files.read_all())
    return request.model_copy(update={"files": kept})
