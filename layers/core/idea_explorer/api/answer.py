"""An answer, and the headers that every one of them has."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from pydantic import BaseModel

from idea_explorer.domain.json import JsonObject

JSON = "application/json"
SECURITY_HEADERS: Mapping[str, str] = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "Strict-Transport-Security": "max-age=63072000; includeSubDomains",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


@dataclass(frozen=True)
class Answer:
    """A body is a model, a JSON object, or text of the given type."""

    status: int
    body: BaseModel | JsonObject | str | None = None
    content_type: str = JSON
    headers: Mapping[str, str] = field(default_factory=dict)

    def all_headers(self) -> Mapping[str, str]:
        return {**SECURITY_HEADERS, **self.headers}

    def text(self) -> str:
        match self.body:
            case None:
                return ""
            case str():
                return self.body
            case BaseModel():
                return self.body.model_dump_json(by_alias=True)
            case _:
                return json.dumps(self.body, ensure_ascii=False)
