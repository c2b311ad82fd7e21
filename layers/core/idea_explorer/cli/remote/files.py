"""Files of this machine, sent to a deployment."""

from collections.abc import Iterator

from idea_explorer.cli.remote.client import Remote
from idea_explorer.ports import UploadedFiles


def send_files(remote: Remote, files: UploadedFiles) -> Iterator[str]:
    """Their ids."""
    for file in files.read_all():
        room = remote.post("/files", {"name": file.name, "size": len(file.content)})
        remote.upload(room["upload"], file.content)
        yield str(room["file_id"])
