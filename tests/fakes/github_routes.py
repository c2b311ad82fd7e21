"""The table of routes: which call goes where, what it is called in the documentation."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from tests.fakes import github_contents as contents
from tests.fakes import github_history as history
from tests.fakes import github_objects as objects
from tests.fakes import github_pulls as pulls
from tests.fakes import github_refs as refs
from tests.fakes.github_call import Call
from tests.fakes.github_wire import DOCS, ApiError, Reply

Handler: TypeAlias = Callable[[Call], Reply]


@dataclass(frozen=True)
class Route:
    method: str
    pattern: re.Pattern[str]
    handler: Handler
    docs: str
    needs_commits: bool


def _route(
    method: str, path: str, handler: Handler, docs: str, *, needs_commits: bool = False
) -> Route:
    """A path's `{name}` is one segment, `{name...}` all that is left."""
    pattern = re.sub(r"\{(\w+)\.\.\.\}", r"(?P<\1>.*)", path)
    pattern = re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", pattern)
    return Route(method, re.compile(pattern), handler, f"{DOCS}/{docs}", needs_commits)


def _git(method: str, path: str, handler: Handler, docs: str) -> Route:
    return _route(method, path, handler, docs, needs_commits=True)


ROUTES = (
    _route("GET", "", history.get_repository, "repos/repos#get-a-repository"),
    _route(
        "GET",
        "contents(?:/{path...})?",
        contents.get_contents,
        "repos/contents#get-repository-content",
    ),
    _route(
        "PUT",
        "contents/{path...}",
        contents.put_contents,
        "repos/contents#create-or-update-file-contents",
    ),
    _route(
        "DELETE", "contents/{path...}", contents.delete_contents, "repos/contents#delete-a-file"
    ),
    _route("GET", "branches/{branch...}", refs.get_branch, "branches/branches#get-a-branch"),
    _git("GET", "git/ref/{ref...}", refs.get_ref, "git/refs#get-a-reference"),
    _git("POST", "git/refs", refs.create_ref, "git/refs#create-a-reference"),
    _git("PATCH", "git/refs/{ref...}", refs.update_ref, "git/refs#update-a-reference"),
    _git("DELETE", "git/refs/{ref...}", refs.delete_ref, "git/refs#delete-a-reference"),
    _git("GET", "git/blobs/{sha}", objects.get_blob, "git/blobs#get-a-blob"),
    _git("POST", "git/blobs", objects.create_blob, "git/blobs#create-a-blob"),
    _git("GET", "git/trees/{sha...}", objects.get_tree, "git/trees#get-a-tree"),
    _git("POST", "git/trees", objects.create_tree, "git/trees#create-a-tree"),
    _git("GET", "git/commits/{sha}", objects.get_commit, "git/commits#get-a-commit-object"),
    _git("POST", "git/commits", objects.create_commit, "git/commits#create-a-commit"),
    _git("GET", "commits", history.list_commits, "commits/commits#list-commits"),
    _git("GET", "commits/{ref...}", history.get_history_commit, "commits/commits#get-a-commit"),
    _route(
        "GET",
        "tarball(?:/{ref...})?",
        history.get_tarball,
        "repos/contents#download-a-repository-archive-tar",
    ),
    _route("POST", "pulls", pulls.create_pull, "pulls/pulls#create-a-pull-request"),
    _route("GET", "pulls", pulls.list_pulls, "pulls/pulls#list-pull-requests"),
    _route("GET", "pulls/{number}", pulls.get_pull, "pulls/pulls#get-a-pull-request"),
    _route("PATCH", "pulls/{number}", pulls.update_pull, "pulls/pulls#update-a-pull-request"),
    _route(
        "POST",
        "issues/{number}/comments",
        pulls.create_comment,
        "issues/comments#create-an-issue-comment",
    ),
    _route(
        "GET",
        "issues/{number}/comments",
        pulls.list_comments,
        "issues/comments#list-issue-comments",
    ),
)


def find_route(method: str, path: str) -> tuple[Route, dict[str, str]] | None:
    """The first route that fits, with the values in its path."""
    for route in ROUTES:
        found = route.pattern.fullmatch(path) if route.method == method else None
        if found:
            return route, found.groupdict("")
    return None


def run(route: Route, call: Call) -> Reply:
    """The route's answer, refusals included."""
    try:
        if route.needs_commits and call.repo.is_empty():
            raise ApiError(409, "Git Repository is empty.")
        return route.handler(call)
    except ApiError as error:
        return error.reply(route.docs)
