"""The repository itself, its history, and its archive."""

import secrets
from urllib.parse import quote, urlencode

from tests.fakes.github_call import WEB, Call, listed_commit, user
from tests.fakes.github_wire import (
    JsonObject,
    Reply,
    json_reply,
    not_found,
    unprocessable,
)

MAX_PER_PAGE = 100
_STATUSES = {"A": "added", "M": "modified", "D": "removed", "T": "changed"}


def get_repository(call: Call) -> Reply:
    repo = call.repo
    return json_reply(
        {
            "id": repo.number,
            "name": repo.name,
            "full_name": repo.full_name,
            "private": repo.private,
            "visibility": "private" if repo.private else "public",
            "owner": user(repo.owner),
            "html_url": f"{WEB}/{repo.full_name}",
            "url": call.api(""),
            "default_branch": repo.default_branch,
            "archived": repo.archived,
            # an app's token reads and writes while this says that it may do neither
            "permissions": {
                "admin": False,
                "push": call.level == "write",
                "pull": call.level != "app",
            },
        }
    )


def list_commits(call: Call) -> Reply:
    """Newest first, paged, with links to the other pages."""
    ref = call.query.get("sha") or call.repo.default_branch
    start = call.repo.git.resolve(ref)
    if start is None:
        raise not_found()
    size = min(_number(call, "per_page", 30), MAX_PER_PAGE)
    page = _number(call, "page", 1)
    within = ["--", call.query["path"]] if call.query.get("path") else ["--"]
    window = [f"--skip={(page - 1) * size}", f"--max-count={size + 1}"]
    shas = call.repo.git.run("rev-list", *window, start, *within).decode().split()
    headers = _links(call, page, more=len(shas) > size)
    return json_reply([listed_commit(call, sha) for sha in shas[:size]], 200, headers)


def get_history_commit(call: Call) -> Reply:
    ref = call.params["ref"]
    sha = call.repo.git.resolve(ref)
    if sha is None:
        raise unprocessable(f"No commit found for SHA: {ref}")
    if call.request.accepts("sha"):
        return Reply(200, sha.encode(), {"Content-Type": "application/vnd.github.sha"})
    changed = call.repo.git.run(
        "diff-tree", "-r", "--root", "--no-commit-id", "--name-status", "--no-renames", "-z", sha
    )
    fields = changed.decode().split("\0")
    files: list[JsonObject] = [
        {"filename": path, "status": _STATUSES[status]}
        for status, path in zip(fields[0:-1:2], fields[1::2], strict=True)
    ]
    return json_reply({**listed_commit(call, sha), "files": files})


def get_tarball(call: Call) -> Reply:
    """Send the client to where archives are; for a private repository with a ticket."""
    ref = call.params["ref"]
    sha = call.repo.git.resolve(ref)
    if sha is None:
        raise not_found()
    ticket = secrets.token_hex(8)
    with call.repo.lock:
        call.repo.archive_tickets.add(ticket)
    where = f"{call.url}/codeload/{call.repo.full_name}/legacy.tar.gz/{quote(ref)}"
    if call.repo.private:
        where += f"?{urlencode({'token': ticket})}"
    return Reply(302, b"", {"Location": where})


def download_archive(call: Call) -> Reply:
    sha = call.repo.git.resolve(call.params["ref"])
    allowed = not call.repo.private or call.query.get("token") in call.repo.archive_tickets
    if sha is None or not allowed:
        return Reply(404, b"404: Not Found", {"Content-Type": "text/plain"})
    prefix = f"{call.repo.owner}-{call.repo.name}-{sha[:7]}"
    headers = {
        "Content-Type": "application/x-gzip",
        "Content-Disposition": f"attachment; filename={prefix}.tar.gz",
    }
    return Reply(200, headers=headers, stream=call.repo.git.archive(sha, prefix))


def _number(call: Call, name: str, default: int) -> int:
    text = call.query.get(name, "")
    return max(1, int(text)) if text.isdigit() else default


def _links(call: Call, page: int, *, more: bool) -> dict[str, str]:
    numbers = {"prev": page - 1, "next": page + 1 if more else 0}
    links = [
        f'<{call.api("commits")}?{urlencode({**call.query, "page": number})}>; rel="{name}"'
        for name, number in numbers.items()
        if number
    ]
    return {"Link": ", ".join(links)} if links else {}
