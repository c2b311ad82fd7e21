"""What travels over the wire: a request as it came, a reply, and the shape of GitHub's errors."""

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias
from urllib.parse import parse_qsl, unquote

JsonObject: TypeAlias = dict[str, object]
DOCS = "https://docs.github.com/rest"
JSON_TYPE = "application/json; charset=utf-8"


@dataclass
class ReceivedRequest:
    """A request and, once it was acted upon, the status it earned (also if the reply got lost)."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes = b""
    status: int | None = None

    @property
    def path(self) -> str:
        return unquote(self.target.partition("?")[0])

    @property
    def query(self) -> dict[str, str]:
        return dict(parse_qsl(self.target.partition("?")[2], keep_blank_values=True))

    @property
    def writes(self) -> bool:
        return self.method not in {"GET", "HEAD"}

    def json(self) -> JsonObject:
        try:
            parsed: object = json.loads(self.body or b"{}")
        except ValueError as error:
            raise ApiError(400, "Problems parsing JSON") from error
        if not isinstance(parsed, dict):
            raise ApiError(400, "Body should be a JSON object")
        return parsed

    def accepts(self, media: str) -> bool:
        """Whether a media type such as `raw` was asked for, old or new spelling."""
        return any(
            part.strip().startswith("application/vnd.github") and f".{media}" in part
            for part in self.headers.get("accept", "").split(",")
        )


@dataclass
class Reply:
    status: int
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    stream: Iterator[bytes] | None = None
    cut: bool = False  # the connection ends in the middle of the body


class ApiError(Exception):
    """A refusal in GitHub's shape."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        docs: str | None = None,
        errors: Sequence[JsonObject] = (),
        headers: Mapping[str, str] | None = None,
        url: str | None = None,
    ) -> None:
        super().__init__(message)
        self.url = url
        self.status = status
        self.message = message
        self.docs = docs
        self.errors = list(errors)
        self.headers = dict(headers or {})

    def reply(self, docs: str = DOCS) -> Reply:
        body: JsonObject = {"message": self.message}
        if self.errors:
            body["errors"] = self.errors
        if self.url:
            body["url"] = self.url
        body |= {"documentation_url": self.docs or docs, "status": str(self.status)}
        return json_reply(body, self.status, self.headers)


def json_reply(body: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Reply:
    text = json.dumps(body, ensure_ascii=False).encode()
    return Reply(status, text, {"Content-Type": JSON_TYPE, **(headers or {})})


def not_found() -> ApiError:
    return ApiError(404, "Not Found")


def moved(where: str, *, writes: bool) -> ApiError:
    status, message = (307, "Temporary Redirect") if writes else (301, "Moved Permanently")
    docs = f"{DOCS}/guides/best-practices-for-using-the-rest-api#follow-redirects"
    return ApiError(status, message, docs=docs, headers={"Location": where}, url=where)


def unprocessable(message: str, *errors: JsonObject) -> ApiError:
    return ApiError(422, message, errors=errors)


def wrapped_base64(data: bytes) -> str:
    """Base64 in lines of 60, as the API writes it."""
    text = base64.b64encode(data).decode()
    return "".join(f"{text[at : at + 60]}\n" for at in range(0, len(text), 60))


def text_field(body: JsonObject, name: str) -> str:
    """A required string of a request body."""
    value = body.get(name)
    if not isinstance(value, str):
        raise unprocessable(f'Invalid request.\n\n"{name}" wasn\'t supplied.')
    return value
