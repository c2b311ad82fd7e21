"""Links that sign a browser in to `idea serve`.

A link holds a code in place of the token, after the `#`, which no browser sends anywhere. The code works
once, so a link that stays in a browser's history or in a terminal's is worth nothing.
"""

import hmac
import secrets
from collections.abc import Callable

SCHEME = "signin"


class SignInLinks:
    """One code is valid at a time. Whoever uses it gets the token, and `on_used` shows the next link."""

    def __init__(self, token: str, on_used: Callable[[], None]) -> None:
        self._token = token
        self._on_used = on_used
        self._code = _new_code()

    @property
    def path(self) -> str:
        return f"/#/sign-in/{self._code}"

    def redeem(self, authorization: str) -> str | None:
        """The token for a header such as `SignIn CODE`; None if the code is not the valid one."""
        scheme, _, code = authorization.partition(" ")
        if scheme.lower() != SCHEME or not _is_equal(code.strip(), self._code):
            return None
        self._code = _new_code()
        self._on_used()
        return self._token


def _is_equal(given: str, known: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "replace"), known.encode())


def _new_code() -> str:
    return secrets.token_urlsafe(32)
