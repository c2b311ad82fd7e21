"""The git database: blobs, trees and commits, each written before anything points to it."""

import base64
import binascii
from collections.abc import Sequence
from datetime import datetime

from tests.fakes.github_call import Call, git_commit
from tests.fakes.github_git import MODES, Entry, GitError, Signature
from tests.fakes.github_trees import Change
from tests.fakes.github_wire import (
    JsonObject,
    Reply,
    json_reply,
    not_found,
    text_field,
    unprocessable,
    wrapped_base64,
)


def get_blob(call: Call) -> Reply:
    found = call.repo.git.find(call.params["file_sha"], "blob")
    if found is None:
        raise not_found()
    if call.request.accepts("raw"):
        return Reply(200, found.data, {"Content-Type": "application/vnd.github.raw+json"})
    return json_reply(
        {
            "sha": found.sha,
            "node_id": f"B_{found.sha}",
            "size": len(found.data),
            "url": call.api(f"git/blobs/{found.sha}"),
            "content": wrapped_base64(found.data),
            "encoding": "base64",
        }
    )


def create_blob(call: Call) -> Reply:
    body = call.request.json()
    content = text_field(body, "content").encode()
    if body.get("encoding") == "base64":
        try:
            content = base64.b64decode(content)
        except binascii.Error as error:
            raise unprocessable("content is not valid Base64") from error
    (sha,) = call.repo.git.write_blobs([content])
    url = call.api(f"git/blobs/{sha}")
    return json_reply({"sha": sha, "url": url}, 201, {"Location": url})


def get_tree(call: Call) -> Reply:
    name = call.params["tree_sha"]
    found = call.repo.git.read(f"{call.repo.git.resolve(name) or name}^{{tree}}")
    if found is None:
        raise not_found()
    # Any value of `recursive` switches it on, `false` included.
    rows = call.repo.git.list_tree(found.sha, recursive="recursive" in call.query)
    return json_reply(_shown_tree(call, found.sha, rows))


def create_tree(call: Call) -> Reply:
    body = call.request.json()
    base, entries = body.get("base_tree"), body.get("tree")
    if not isinstance(entries, list) or not entries:
        raise unprocessable("Invalid tree info")
    git = call.repo.git
    if base is not None:
        root = git.read(f"{base}^{{tree}}") if isinstance(base, str) else None
        if root is None:
            raise unprocessable("base_tree is not a valid tree oid")
        base = root.sha
    changes = _expanded(call, base, _changes(call, entries))
    try:
        tree = git.write_tree(base, changes)
    except GitError as error:
        raise unprocessable("GitRPC::BadObjectState") from error
    rows = git.list_tree(tree, recursive=False)
    return json_reply(_shown_tree(call, tree, rows), 201)


def get_commit(call: Call) -> Reply:
    return json_reply(git_commit(call, call.params["commit_sha"]))


def create_commit(call: Call) -> Reply:
    body = call.request.json()
    message, tree = text_field(body, "message"), text_field(body, "tree")
    parents = body.get("parents") or []
    if call.repo.git.find(tree, "tree") is None:
        raise unprocessable("Tree SHA does not exist")
    if not isinstance(parents, list) or not all(
        isinstance(parent, str) and call.repo.git.find(parent, "commit") for parent in parents
    ):
        raise unprocessable("Parent SHA does not exist or is not a commit object")
    author = _signature(call, body.get("author"))
    committer = _signature(call, body.get("committer"), author)
    sha = call.repo.git.write_commit(tree, parents, message, author, committer)
    shown = git_commit(call, sha)
    return json_reply(shown, 201, {"Location": str(shown["url"])})


def _changes(call: Call, entries: Sequence[object]) -> list[Change]:
    """What the request asks for; inline contents become blobs in one go."""
    rows = [row for row in entries if isinstance(row, dict)]
    inline = [str(row["content"]).encode() for row in rows if "content" in row]
    blobs = iter(call.repo.git.write_blobs(inline))
    changes = []
    for row in rows:
        path, mode, sha = _path(row.get("path")), row.get("mode"), row.get("sha")
        if mode not in MODES:
            raise unprocessable("Must supply a valid tree.mode")
        if ("content" in row) == ("sha" in row):
            raise unprocessable(
                "Must supply either tree.sha or tree.content. "
                "Request will be rejected if both are present."
            )
        stored = sha is None or mode == "160000" or call.repo.git.find(str(sha), MODES[mode])
        if not stored:
            raise unprocessable(f"tree.sha {sha} is not a valid {MODES[mode]}")
        changes.append(Change(path, mode, next(blobs) if "content" in row else sha))
    return changes


def _path(path: object) -> str:
    if not isinstance(path, str) or not path:
        raise unprocessable("Must supply a valid tree.path")
    if path.startswith("/"):
        raise unprocessable("tree.path cannot start with a slash")
    if path.endswith("/"):
        raise unprocessable("tree.path cannot end with a slash")
    if any(part.lower() in {"", ".", "..", ".git"} for part in path.split("/")) or "\0" in path:
        raise unprocessable("tree.path contains a malformed path component")
    return path


def _expanded(call: Call, base: str | None, changes: Sequence[Change]) -> list[Change]:
    """Folders as their files: a subtree that is set, and a path that is deleted."""
    git = call.repo.git
    deletes = any(change.sha is None for change in changes)
    old = git.list_tree(base, recursive=True, folders=False) if base and deletes else []
    expanded: list[Change] = []
    for change in changes:
        if change.sha is None:
            under = f"{change.path}/"
            gone = [
                row.path for row in old if row.path == change.path or row.path.startswith(under)
            ]
            if not gone:
                raise unprocessable("GitRPC::BadObjectState")
            expanded += [Change(path, "0", None) for path in gone]
        elif change.mode == "040000":
            rows = git.list_tree(change.sha, recursive=True, folders=False)
            expanded += [Change(f"{change.path}/{row.path}", row.mode, row.sha) for row in rows]
        else:
            expanded.append(change)
    return expanded


def _shown_tree(call: Call, sha: str, rows: Sequence[Entry]) -> JsonObject:
    return {
        "sha": sha,
        "url": call.api(f"git/trees/{sha}"),
        "tree": [_shown_row(call, row) for row in rows[: call.tree_limit]],
        "truncated": len(rows) > call.tree_limit,
    }


def _shown_row(call: Call, row: Entry) -> JsonObject:
    shown: JsonObject = {"path": row.path, "mode": row.mode, "type": row.kind, "sha": row.sha}
    if row.kind == "blob":
        return {**shown, "size": row.size, "url": call.api(f"git/blobs/{row.sha}")}
    return {**shown, "url": call.api(f"git/trees/{row.sha}")} if row.kind == "tree" else shown


def _signature(call: Call, given: object, default: Signature | None = None) -> Signature:
    fallback = default or Signature("Token Owner", "owner@example.com", int(call.repo.clock()))
    if not isinstance(given, dict):
        return fallback
    date = given.get("date")
    try:
        seconds = int(datetime.fromisoformat(date).timestamp()) if date else fallback.seconds
    except (TypeError, ValueError) as error:
        raise unprocessable("Invalid request.\n\nInvalid date.") from error
    return Signature(text_field(given, "name"), text_field(given, "email"), seconds)
