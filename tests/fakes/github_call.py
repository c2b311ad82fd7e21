"""One API call on one repository, and the pieces of JSON that many answers share."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from tests.fakes.github_access import Level
from tests.fakes.github_repository import Repository
from tests.fakes.github_wire import JsonObject, ReceivedRequest, not_found

WEB = "https://github.com"
_PERSON = re.compile(r"(.*) <(.*)> (\d+) [+-]\d{4}")
_UNSIGNED: JsonObject = {
    "verified": False,
    "reason": "unsigned",
    "signature": None,
    "payload": None,
    "verified_at": None,
}


@dataclass(frozen=True)
class Call:
    request: ReceivedRequest
    params: Mapping[str, str]
    repo: Repository
    url: str  # of the server
    level: Level
    tree_limit: int

    @property
    def query(self) -> Mapping[str, str]:
        return self.request.query

    def api(self, path: str) -> str:
        return f"{self.url}/repos/{self.repo.full_name}/{path}".rstrip("/")

    def web(self, path: str) -> str:
        return f"{WEB}/{self.repo.full_name}/{path}".rstrip("/")


def iso(seconds: float) -> str:
    return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def user(login: str) -> JsonObject:
    return {"login": login, "id": 1, "type": "User", "html_url": f"{WEB}/{login}"}


def git_commit(call: Call, sha: str) -> JsonObject:
    """A commit as the git database shows it, read from the object itself."""
    found = call.repo.git.find(sha, "commit")
    if found is None:
        raise not_found()
    head, _, message = found.data.decode(errors="replace").partition("\n\n")
    fields = [line.partition(" ")[::2] for line in head.splitlines()]
    parents = [value for key, value in fields if key == "parent"]
    once = dict(fields)
    return {
        "sha": sha,
        "node_id": f"C_{sha}",
        "url": call.api(f"git/commits/{sha}"),
        "html_url": call.web(f"commit/{sha}"),
        "author": _person(once["author"]),
        "committer": _person(once["committer"]),
        "tree": {"sha": once["tree"], "url": call.api(f"git/trees/{once['tree']}")},
        "message": message,
        "parents": [
            {
                "sha": parent,
                "url": call.api(f"git/commits/{parent}"),
                "html_url": call.web(f"commit/{parent}"),
            }
            for parent in parents
        ],
        "verification": _UNSIGNED,
    }


def listed_commit(call: Call, sha: str) -> JsonObject:
    """A commit as the history shows it."""
    commit = git_commit(call, sha)
    inner = {key: commit[key] for key in ("author", "committer", "message", "tree")}
    return {
        "sha": sha,
        "node_id": commit["node_id"],
        "commit": {
            **inner,
            "url": call.api(f"git/commits/{sha}"),
            "comment_count": 0,
            "verification": _UNSIGNED,
        },
        "url": call.api(f"commits/{sha}"),
        "html_url": call.web(f"commit/{sha}"),
        "comments_url": call.api(f"commits/{sha}/comments"),
        "author": None,
        "committer": None,
        "parents": commit["parents"],
    }


def _person(line: str) -> JsonObject:
    found = _PERSON.fullmatch(line)
    assert found is not None
    return {"name": found[1], "email": found[2], "date": iso(int(found[3]))}
