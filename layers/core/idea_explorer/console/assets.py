"""The files of the page, and the policy under which a browser runs them.

Nothing is loaded from elsewhere, nothing inline runs, and the one place that takes HTML goes through a
Trusted Types policy of that name. A token is sent by our own scripts as a header, so no other site can
use it.
"""

import hashlib
import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

PAGE = "index.html"
DIRECTIVES = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    "img-src": "'self'",
    "connect-src": "'self'",
    "base-uri": "'none'",
    "form-action": "'none'",
    "frame-ancestors": "'none'",
    "require-trusted-types-for": "'script'",
    "trusted-types": "report",
}
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml; charset=utf-8",
}
_NAME = re.compile(r"[a-z]+(\.[a-z]+)")


def policy(upload_origin: str = "") -> str:
    """The Content-Security-Policy. A file may go straight to a bucket, which is then the one other origin."""
    allowed = {**DIRECTIVES, "connect-src": f"{DIRECTIVES['connect-src']} {upload_origin}".strip()}
    return "; ".join(f"{name} {value}" for name, value in allowed.items())


@dataclass(frozen=True, slots=True)
class Asset:
    text: str
    content_type: str
    etag: str


@cache
def asset(name: str) -> Asset | None:
    """A file of the page by its name; None where there is none. The name is untrusted."""
    shape = _NAME.fullmatch(name)
    content_type = TYPES.get(shape[1]) if shape else None
    if content_type is None:
        return None
    file = files(__package__).joinpath(name)
    if not file.is_file():
        return None
    text = file.read_text("utf-8")
    return Asset(text, content_type, f'"{hashlib.sha256(text.encode()).hexdigest()[:16]}"')


def names() -> list[str]:
    """Everything a browser may load."""
    return sorted(file.name for file in files(__package__).iterdir() if asset(file.name))
