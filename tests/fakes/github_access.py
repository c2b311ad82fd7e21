"""Who may do what: tokens, the repositories they reach, and how GitHub refuses."""

from collections.abc import Mapping
from typing import Literal

from tests.fakes.github_repository import Repository
from tests.fakes.github_wire import ApiError, ReceivedRequest, not_found

Level = Literal["none", "read", "write", "app"]  # an app's token may write


class Access:
    """Without an owner's token everything is open. The owner's token may write everywhere."""

    def __init__(self, owner_token: str | None) -> None:
        self._owner_token = owner_token
        self._granted: dict[str, dict[str, Level]] = {}

    def grant(self, token: str, repository: str, level: Level) -> None:
        """Make a token known and say what it may do in one repository."""
        self._granted.setdefault(token, {})[repository.lower()] = level

    def revoke(self, token: str) -> None:
        """From now on the token is a bad credential."""
        self._granted.pop(token, None)
        if token == self._owner_token:
            self._owner_token = ""

    def check_token(self, request: ReceivedRequest) -> None:
        token = _token(request.headers)
        known = {self._owner_token, *self._granted}
        if self._owner_token is not None and token is not None and token not in known:
            raise ApiError(401, "Bad credentials", docs="https://docs.github.com/rest")

    def level(self, request: ReceivedRequest, repository: Repository) -> Level:
        token = _token(request.headers)
        if self._owner_token is None or (token and token == self._owner_token):
            return "write"
        granted = self._granted.get(token or "", {}).get(repository.full_name.lower(), "none")
        return "read" if granted == "none" and not repository.private else granted

    def check_repository(self, request: ReceivedRequest, repository: Repository) -> None:
        level = self.level(request, repository)
        if level == "none":
            raise not_found()  # what may not be seen does not exist
        if request.writes and repository.archived:
            raise ApiError(403, "Repository was archived so is read-only.")
        if request.writes and level not in {"write", "app"}:
            if _token(request.headers) is None:
                raise ApiError(401, "Requires authentication")
            raise ApiError(403, "Resource not accessible by personal access token")


def _token(headers: Mapping[str, str]) -> str | None:
    scheme, _, token = headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() in {"bearer", "token"} else None
