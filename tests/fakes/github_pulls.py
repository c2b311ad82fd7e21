"""Pull requests and the comments on them."""

from tests.fakes.github_call import Call, iso, user
from tests.fakes.github_repository import PullRequest
from tests.fakes.github_wire import (
    ApiError,
    JsonObject,
    Reply,
    json_reply,
    not_found,
    text_field,
    unprocessable,
)


def create_pull(call: Call) -> Reply:
    body = call.request.json()
    title = text_field(body, "title")
    head = text_field(body, "head").removeprefix(f"{call.repo.owner}:")
    base = text_field(body, "base")
    for field, branch in (("head", head), ("base", base)):
        if call.repo.git.resolve(f"refs/heads/{branch}") is None:
            raise _invalid({"field": field, "code": "invalid"})
    if call.repo.git.is_ancestor(call.repo.head(head), call.repo.head(base)):
        raise _invalid({"code": "custom", "message": f"No commits between {base} and {head}"})
    with call.repo.lock:
        if any(
            (pull.head, pull.base, pull.state) == (head, base, "open") for pull in call.repo.pulls
        ):
            owner = call.repo.owner
            message = f"A pull request already exists for {owner}:{head}."
            raise _invalid({"code": "custom", "message": message})
        text = body.get("body")
        pull = PullRequest(
            number=len(call.repo.pulls) + 1,
            title=title,
            body=text if isinstance(text, str) else None,
            head=head,
            base=base,
            draft=body.get("draft") is True,
            created_at=call.repo.clock(),
        )
        call.repo.pulls.append(pull)
    shown = _shown(call, pull)
    return json_reply(shown, 201, {"Location": str(shown["url"])})


def list_pulls(call: Call) -> Reply:
    """Newest first. A head without its owner filters nothing, as on the real one."""
    wanted = {name: call.query[name] for name in ("head", "base") if name in call.query}
    if ":" not in wanted.get("head", ":"):
        del wanted["head"]
    state = call.query.get("state", "open")
    found = [
        _shown(call, pull)
        for pull in reversed(call.repo.pulls)
        if state in {"all", pull.state}
        and wanted.get("base", pull.base) == pull.base
        and wanted.get("head", _label(call, pull)) == _label(call, pull)
    ]
    return json_reply(found)


def get_pull(call: Call) -> Reply:
    return json_reply(_shown(call, _pull(call)))


def update_pull(call: Call) -> Reply:
    pull, body = _pull(call), call.request.json()
    state = body.get("state", pull.state)
    if state not in {"open", "closed"}:
        raise _invalid({"field": "state", "code": "invalid"})
    with call.repo.lock:
        pull.state = str(state)
        pull.title = str(body.get("title", pull.title))
        pull.base = str(body.get("base", pull.base))
        pull.body = str(body["body"]) if isinstance(body.get("body"), str) else pull.body
    return json_reply(_shown(call, pull))


def create_comment(call: Call) -> Reply:
    pull, text = _pull(call), text_field(call.request.json(), "body")
    with call.repo.lock:
        number = len(pull.comments) + 1
        comment: JsonObject = {
            "id": number,
            "body": text,
            "user": user(call.repo.owner),
            "created_at": iso(call.repo.clock()),
            "url": call.api(f"issues/comments/{number}"),
            "html_url": call.web(f"pull/{pull.number}#issuecomment-{number}"),
        }
        pull.comments.append(comment)
    return json_reply(comment, 201)


def list_comments(call: Call) -> Reply:
    return json_reply(_pull(call).comments)


def _pull(call: Call) -> PullRequest:
    number = call.params.get("pull_number") or call.params["issue_number"]
    if not number.isdigit() or not 0 < int(number) <= len(call.repo.pulls):
        raise not_found()
    return call.repo.pulls[int(number) - 1]


def _invalid(error: JsonObject) -> ApiError:
    return unprocessable("Validation Failed", {"resource": "PullRequest", **error})


def _label(call: Call, pull: PullRequest) -> str:
    return f"{call.repo.owner}:{pull.head}"


def _shown(call: Call, pull: PullRequest) -> JsonObject:
    def side(branch: str) -> JsonObject:
        sha = call.repo.git.resolve(f"refs/heads/{branch}")
        repo = {"full_name": call.repo.full_name}
        return {"label": f"{call.repo.owner}:{branch}", "ref": branch, "sha": sha, "repo": repo}

    return {
        "id": pull.number,
        "number": pull.number,
        "url": call.api(f"pulls/{pull.number}"),
        "html_url": call.web(f"pull/{pull.number}"),
        "issue_url": call.api(f"issues/{pull.number}"),
        "state": pull.state,
        "title": pull.title,
        "body": pull.body,
        "draft": pull.draft,
        "merged": False,
        "user": user(call.repo.owner),
        "created_at": iso(pull.created_at),
        "head": side(pull.head),
        "base": side(pull.base),
    }
