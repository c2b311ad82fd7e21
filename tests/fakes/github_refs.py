"""References: reading, creating, moving by compare-and-set, and branches that refuse to move."""

from tests.fakes.github_call import Call, listed_commit
from tests.fakes.github_git import GitError
from tests.fakes.github_repository import Repository, Rule
from tests.fakes.github_wire import (
    ApiError,
    JsonObject,
    Reply,
    json_reply,
    not_found,
    text_field,
    unprocessable,
)

_PROTECTION_DOCS = "https://docs.github.com/articles/about-protected-branches"
_REFUSALS: dict[Rule, tuple[int, str, str | None]] = {
    "pull_request": (
        422,
        "Protected branch update failed for refs/heads/{branch}.\n\n"
        "- Changes must be made through a pull request.",
        _PROTECTION_DOCS,
    ),
    "restricted": (
        403,
        f"You're not authorized to push to this branch. Visit {_PROTECTION_DOCS}/ "
        "for more information.",
        _PROTECTION_DOCS,
    ),
    "ruleset": (
        422,
        "Repository rule violations found\n\nChanges must be made through a pull request.\n\n",
        None,
    ),
}


def refuse_if_protected(repo: Repository, branch: str, status: int | None = None) -> None:
    rule = repo.protected.get(branch)
    if rule:
        usual, message, docs = _REFUSALS[rule]
        raise ApiError(status or usual, message.format(branch=branch), docs=docs)


def get_ref(call: Call) -> Reply:
    ref = f"refs/{call.params['ref']}"
    sha = call.repo.git.resolve(ref)
    if sha is None:
        raise not_found()
    return json_reply(_shown(call, ref, sha))


def create_ref(call: Call) -> Reply:
    body = call.request.json()
    ref, sha = text_field(body, "ref"), text_field(body, "sha")
    if not ref.startswith("refs/"):
        raise unprocessable("Reference name must start with 'refs/'.")
    if ref.count("/") < 2:
        raise unprocessable(
            "Reference name must contain at least three slash-separated components."
        )
    if call.repo.git.resolve(ref):
        raise unprocessable("Reference already exists")
    _check_commit(call, sha)
    try:
        created = call.repo.git.update_ref(ref, sha, None)
    except GitError as error:
        raise unprocessable("Reference update failed") from error
    if not created:
        raise unprocessable("Reference already exists")
    headers = {"Location": call.api(f"git/{ref}")}
    return json_reply(_shown(call, ref, sha), 201, headers)


def update_ref(call: Call) -> Reply:
    body = call.request.json()
    sha, ref = text_field(body, "sha"), f"refs/{call.params['ref']}"
    force = body.get("force") is True
    while True:
        current = call.repo.git.resolve(ref)
        if current is None:
            raise unprocessable("Reference does not exist")
        _check_commit(call, sha)
        refuse_if_protected(call.repo, ref.removeprefix("refs/heads/"))
        if not force and not call.repo.git.is_ancestor(current, sha):
            raise unprocessable("Update is not a fast forward")
        if call.repo.git.update_ref(ref, sha, current):
            return json_reply(_shown(call, ref, sha))


def delete_ref(call: Call) -> Reply:
    ref = f"refs/{call.params['ref']}"
    if call.repo.git.resolve(ref) is None:
        raise unprocessable("Reference does not exist")
    refuse_if_protected(call.repo, ref.removeprefix("refs/heads/"))
    call.repo.git.delete_ref(ref)
    return Reply(204)


def get_branch(call: Call) -> Reply:
    branch = call.params["branch"]
    sha = call.repo.git.resolve(f"refs/heads/{branch}")
    if sha is None:
        raise ApiError(404, "Branch not found")
    shown: JsonObject = {
        "name": branch,
        "commit": listed_commit(call, sha),
        "_links": {"self": call.api(f"branches/{branch}"), "html": call.web(f"tree/{branch}")},
        "protected": branch in call.repo.protected,
    }
    return json_reply(shown)


def _check_commit(call: Call, sha: str) -> None:
    if call.repo.git.find(sha, "commit") is None:
        raise unprocessable("Object does not exist")


def _shown(call: Call, ref: str, sha: str) -> JsonObject:
    return {
        "ref": ref,
        "node_id": f"REF_{sha}",
        "url": call.api(f"git/{ref}"),
        "object": {"sha": sha, "type": "commit", "url": call.api(f"git/commits/{sha}")},
    }
