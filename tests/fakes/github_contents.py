"""Files by path: reading as GitHub answers, and the one-file commits of the Contents API."""

import base64
import binascii
import configparser
import posixpath
from urllib.parse import quote

from tests.fakes.github_call import Call, git_commit
from tests.fakes.github_git import Entry, Signature
from tests.fakes.github_refs import refuse_if_protected
from tests.fakes.github_trees import Change
from tests.fakes.github_wire import (
    ApiError,
    JsonObject,
    Reply,
    json_reply,
    not_found,
    text_field,
    unprocessable,
    wrapped_base64,
)

MAX_INLINE_BYTES = 1024 * 1024  # beyond it the content is left out and has to be asked for raw
MAX_LISTED = 1000
_TYPES = {"120000": "symlink", "040000": "dir", "160000": "submodule"}


def get_contents(call: Call) -> Reply:
    ref = call.query.get("ref") or call.repo.default_branch
    if call.repo.is_empty():
        raise ApiError(404, "This repository is empty.")
    commit = call.repo.git.resolve(ref)
    if commit is None:
        raise ApiError(404, f"No commit found for the ref {ref}")
    entry = _entry(call, commit, call.params["path"])
    if entry is None:
        raise not_found()
    if entry.kind == "tree":
        return _folder(call, entry, ref)
    if entry.kind == "commit":
        return json_reply(_submodule(call, commit, entry, ref))
    content = _content(call, commit, entry)
    if content is None:
        target = _blob(call, entry.sha)
        facts = _facts(call, entry, ref, "symlink", len(target))
        return json_reply({**facts, "target": target.decode()})
    if call.request.accepts("raw"):
        return Reply(200, content, {"Content-Type": "application/vnd.github.raw+json"})
    inline = len(content) <= MAX_INLINE_BYTES
    shown: JsonObject = {
        "content": wrapped_base64(content) if inline else "",
        "encoding": "base64" if inline else "none",
    }
    return json_reply({**_facts(call, entry, ref, "file", len(content)), **shown})


def put_contents(call: Call) -> Reply:
    body = call.request.json()
    message = text_field(body, "message")
    try:
        content = base64.b64decode(text_field(body, "content"))
    except binascii.Error as error:
        raise unprocessable("content is not valid Base64") from error
    (blob,) = call.repo.git.write_blobs([content])
    path = call.params["path"]
    existed, commit = _commit(call, body, message, Change(path, "100644", blob))
    facts = _facts(call, Entry(path, "100644", blob), _branch(call, body), "file", len(content))
    answer = {"content": facts, "commit": git_commit(call, commit)}
    return json_reply(answer, 200 if existed else 201)


def delete_contents(call: Call) -> Reply:
    body = call.request.json()
    text_field(body, "sha")
    message = text_field(body, "message")
    _, commit = _commit(call, body, message, Change(call.params["path"], "0", None))
    return json_reply({"content": None, "commit": git_commit(call, commit)})


def _commit(call: Call, body: JsonObject, message: str, change: Change) -> tuple[bool, str]:
    """Whether the path was there before, and the commit that changed it."""
    branch = _branch(call, body)
    git, ref = call.repo.git, f"refs/heads/{branch}"
    parent = git.resolve(ref)
    if parent is None and not call.repo.is_empty():
        raise ApiError(404, f"Branch {branch} not found")
    refuse_if_protected(call.repo, branch, status=409)
    old = _entry(call, parent, change.path) if parent else None
    if old is None and change.sha is None:
        raise not_found()
    if old is not None and not isinstance(body.get("sha"), str):
        raise unprocessable('Invalid request.\n\n"sha" wasn\'t supplied.')
    if old is not None and body["sha"] != old.sha:
        raise ApiError(409, f"{change.path} does not match {body['sha']}")
    tree = git.write_tree(parent, [change])
    author = Signature("Token Owner", "owner@example.com", int(call.repo.clock()))
    sha = git.write_commit(tree, [parent] if parent else [], message, author, author)
    if not git.update_ref(ref, sha, parent):
        raise ApiError(409, f"is at {git.resolve(ref)} but expected {parent}")
    return old is not None, sha


def _branch(call: Call, body: JsonObject) -> str:
    return str(body.get("branch") or call.repo.default_branch)


def _entry(call: Call, commit: str, path: str) -> Entry | None:
    root = call.repo.git.read(f"{commit}^{{tree}}")
    return call.repo.git.entry_at(root.sha, path) if root else None


def _blob(call: Call, sha: str) -> bytes:
    found = call.repo.git.read(sha)
    return found.data if found else b""


def _content(call: Call, commit: str, entry: Entry) -> bytes | None:
    """A file's bytes. A link to a file answers with the file's; None: the link stays a link."""
    if entry.mode != "120000":
        return _blob(call, entry.sha)
    target = _blob(call, entry.sha).decode(errors="replace")
    path = posixpath.normpath(posixpath.join(posixpath.dirname(entry.path), target))
    aim = None if path.startswith(("/", "..")) else _entry(call, commit, path)
    if aim is None or aim.mode not in {"100644", "100755"}:
        return None
    return _blob(call, aim.sha)


def _folder(call: Call, entry: Entry, ref: str) -> Reply:
    rows = call.repo.git.list_tree(entry.sha, recursive=False)[:MAX_LISTED]
    listed = []
    for row in rows:
        inside = Entry(f"{entry.path}/{row.path}".lstrip("/"), row.mode, row.sha)
        kind = _TYPES.get(row.mode, "file")
        # A listing calls a submodule a file: the real one does, for old clients.
        kind = "file" if kind == "submodule" else kind
        listed.append(_facts(call, inside, ref, kind, row.size))
    if call.request.accepts("object"):
        return json_reply({**_facts(call, entry, ref, "dir", 0), "entries": listed})
    return json_reply(listed)


def _submodule(call: Call, commit: str, entry: Entry, ref: str) -> JsonObject:
    modules = configparser.ConfigParser()
    listed = _entry(call, commit, ".gitmodules")
    if listed:
        text = _blob(call, listed.sha).decode()
        modules.read_string("\n".join(line.strip() for line in text.splitlines()))
    sections = (modules[name] for name in modules.sections())
    origin = next((part.get("url") for part in sections if part.get("path") == entry.path), None)
    return {**_facts(call, entry, ref, "submodule", 0), "submodule_git_url": origin}


def _facts(call: Call, entry: Entry, ref: str, kind: str, size: int) -> JsonObject:
    path = quote(entry.path)
    store = {"blob": "blobs", "tree": "trees", "commit": "trees"}[entry.kind]
    own = f"{call.api(f'contents/{path}')}?ref={quote(ref, safe='')}"
    git = call.api(f"git/{store}/{entry.sha}")
    html = call.web(f"{'blob' if entry.kind == 'blob' else 'tree'}/{ref}/{path}")
    raw = f"https://raw.githubusercontent.com/{call.repo.full_name}/{ref}/{path}"
    return {
        "name": entry.name,
        "path": entry.path,
        "sha": entry.sha,
        "size": size,
        "url": own,
        "html_url": html,
        "git_url": git,
        "download_url": raw if entry.kind == "blob" else None,
        "type": kind,
        "_links": {"self": own, "git": git, "html": html},
    }
