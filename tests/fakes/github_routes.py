"""The table of routes: which call goes where, by its name in GitHub's own description.

`make github-openapi` writes what the description says of each into github_openapi.json.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from tests.fakes import github_checks as checks
from tests.fakes import github_contents as contents
from tests.fakes import github_history as history
from tests.fakes import github_objects as objects
from tests.fakes import github_pulls as pulls
from tests.fakes import github_refs as refs
from tests.fakes.github_call import Call
from tests.fakes.github_wire import ApiError, Reply

Handler: TypeAlias = Callable[[Call], Reply]
_REPO = "/repos/{owner}/{repo}"


@dataclass(frozen=True)
class Route:
    handler: Handler
    needs_commits: bool = False


def _git(handler: Handler) -> Route:
    return Route(handler, needs_commits=True)


ROUTES: dict[str, Route] = {
    f"GET {_REPO}": Route(history.get_repository),
    f"GET {_REPO}/contents/{{path}}": Route(contents.get_contents),
    f"PUT {_REPO}/contents/{{path}}": Route(contents.put_contents),
    f"DELETE {_REPO}/contents/{{path}}": Route(contents.delete_contents),
    f"GET {_REPO}/branches/{{branch}}": Route(refs.get_branch),
    f"GET {_REPO}/git/ref/{{ref}}": _git(refs.get_ref),
    f"POST {_REPO}/git/refs": _git(refs.create_ref),
    f"PATCH {_REPO}/git/refs/{{ref}}": _git(refs.update_ref),
    f"DELETE {_REPO}/git/refs/{{ref}}": _git(refs.delete_ref),
    f"GET {_REPO}/git/blobs/{{file_sha}}": _git(objects.get_blob),
    f"POST {_REPO}/git/blobs": _git(objects.create_blob),
    f"GET {_REPO}/git/trees/{{tree_sha}}": _git(objects.get_tree),
    f"POST {_REPO}/git/trees": _git(objects.create_tree),
    f"GET {_REPO}/git/commits/{{commit_sha}}": _git(objects.get_commit),
    f"POST {_REPO}/git/commits": _git(objects.create_commit),
    f"GET {_REPO}/commits": _git(history.list_commits),
    f"GET {_REPO}/commits/{{ref}}": _git(history.get_history_commit),
    f"GET {_REPO}/commits/{{ref}}/check-runs": _git(checks.list_check_runs),
    f"GET {_REPO}/commits/{{ref}}/status": _git(checks.get_combined_status),
    f"GET {_REPO}/actions/jobs/{{job_id}}/logs": Route(checks.get_job_log),
    f"GET {_REPO}/tarball/{{ref}}": Route(history.get_tarball),
    f"POST {_REPO}/pulls": Route(pulls.create_pull),
    f"GET {_REPO}/pulls": Route(pulls.list_pulls),
    f"GET {_REPO}/pulls/{{pull_number}}": Route(pulls.get_pull),
    f"PATCH {_REPO}/pulls/{{pull_number}}": Route(pulls.update_pull),
    f"POST {_REPO}/issues/{{issue_number}}/comments": Route(pulls.create_comment),
    f"GET {_REPO}/issues/{{issue_number}}/comments": Route(pulls.list_comments),
}


def run(name: str, docs: str, call: Call) -> Reply:
    """The answer to an operation, refusals included."""
    route = ROUTES[name]
    try:
        if route.needs_commits and call.repo.is_empty():
            raise ApiError(409, "Git Repository is empty.")
        return route.handler(call)
    except ApiError as error:
        return error.reply(docs)
