"""Files of this machine, sent to a deployment."""

from pathlib import Path

from idea_explorer.cli.remote.client import Remote
from idea_explorer.domain.errors import InvalidRequestError
from idea_explorer.domain.limits import MAX_UPLOAD_BYTES


def send_files(remote: Remote, paths: list[str]) -> list[str]:
    """Their ids. All are read before the first is sent, so that a wrong name sends nothing."""
    read = [(Path(path).name, _content(path)) for path in paths]
    return [_sent(remote, name, content) for name, content in read]


def _content(path: str) -> bytes:
    try:
        with Path(path).open("rb") as file:
            content = file.read(MAX_UPLOAD_BYTES + 1)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise InvalidRequestError(f"The file {path} cannot be read: {why}.") from error
    if len(content) > MAX_UPLOAD_BYTES:
        raise InvalidRequestError(f"The file {path} is larger than {MAX_UPLOAD_BYTES:,} bytes.")
    return content


def _sent(remote: Remote, name: str, content: bytes) -> str:
    room = remote.post("/files", {"name": name, "size": len(content)})
    remote.upload(room["upload"], content)
    return str(room["file_id"])
