"""The console's files and its Content-Security-Policy.

Nothing is loaded from another origin, no inline script runs, and the one place that inserts HTML uses
the Trusted Types policy named below. Our scripts send the token as a header, so another site cannot
make the browser send it.
"""

import hashlib
import re
from functools import cache
from importlib.resources import files

from idea_explorer.domain.dataclass import dataclass

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


def build_policy(upload_origin: str = "") -> str:
    """Uploads may go straight to a bucket; then its origin is the only other one allowed."""
    allowed = {**DIRECTIVES, "connect-src": f"{DIRECTIVES['connect-src']} {upload_origin}".strip()}
    return "; ".join(f"{name} {value}" for name, value in allowed.items())


@dataclass(frozen=True, slots=True)
class Asset:
    """The tag is weak: the file has the same one compressed and as it is."""

    text: str
    content_type: str
    etag: str


@cache
def load_asset(name: str) -> Asset | None:
    """Return a file of the console, or None if there is none of that name. The name is untrusted."""
    shape = _NAME.fullmatch(name)
    content_type = TYPES.get(shape[1]) if shape else None
    if content_type is None:
        return None
    file = files(__package__).joinpath(name)
    if not file.is_file():
        return None
    text = file.read_text("utf-8")
    return Asset(text, content_type, f'W/"{hashlib.sha256(text.encode()).hexdigest()[:16]}"')


def list_assets() -> list[str]:
    return sorted(file.name for file in files(__package__).iterdir() if load_asset(file.name))
