"""The checks of a commit: runs of apps, and the older statuses."""

from tests.fakes.github_call import Call, iso, user
from tests.fakes.github_repository import CheckRun
from tests.fakes.github_wire import JsonObject, Reply, json_reply, unprocessable


def list_check_runs(call: Call) -> Reply:
    sha = _commit(call)
    runs = call.repo.check_runs.get(sha, [])
    size = int(call.query.get("per_page", 30))
    shown = [_shown(call, sha, number, run) for number, run in enumerate(runs[:size], 1)]
    return json_reply({"total_count": len(runs), "check_runs": shown})


def get_combined_status(call: Call) -> Reply:
    """Without any status, GitHub says `pending`."""
    sha = _commit(call)
    statuses = call.repo.statuses.get(sha, [])
    states = {status.state for status in statuses}
    bad = states & {"failure", "error"}
    state = "failure" if bad else "success" if states == {"success"} else "pending"
    shown: list[JsonObject] = [
        {
            "id": number,
            "node_id": f"SC_{number}",
            "url": call.api(f"statuses/{sha}"),
            "avatar_url": None,
            "state": status.state,
            "context": status.context,
            "description": status.description,
            "target_url": None,
            "required": None,
            "created_at": iso(call.repo.clock()),
            "updated_at": iso(call.repo.clock()),
        }
        for number, status in enumerate(statuses, 1)
    ]
    return json_reply(
        {
            "state": state,
            "statuses": [*shown],
            "sha": sha,
            "total_count": len(statuses),
            "repository": {"full_name": call.repo.full_name},
            "commit_url": call.api(f"commits/{sha}"),
            "url": call.api(f"commits/{sha}/status"),
        }
    )


def get_job_log(call: Call) -> Reply:
    """Send the client to where logs are. The id of a check run of GitHub Actions is that of its job."""
    if _log_of(call) is None:
        return json_reply({"message": "Must have admin rights to Repository."}, 403)
    job = call.params["job_id"]
    return Reply(302, b"", {"Location": f"{call.url}/logs/{call.repo.full_name}/{job}"})


def download_log(call: Call) -> Reply:
    log = _log_of(call) or ""
    return Reply(200, log.encode(), {"Content-Type": "text/plain"})


def _log_of(call: Call) -> str | None:
    number = int(call.params["job_id"])
    (runs,) = call.repo.check_runs.values()
    return runs[number - 1].log


def _commit(call: Call) -> str:
    sha = call.repo.git.resolve(call.params["ref"])
    if sha is None:
        raise unprocessable(f"No commit found for SHA: {call.params['ref']}")
    return sha


def _shown(call: Call, sha: str, number: int, run: CheckRun) -> JsonObject:
    ended = iso(call.repo.clock()) if run.status == "completed" else None
    return {
        "id": number,
        "head_sha": sha,
        "node_id": f"CR_{number}",
        "external_id": "",
        "url": call.api(f"check-runs/{number}"),
        "html_url": call.web(f"runs/{number}"),
        "details_url": call.web(f"runs/{number}"),
        "status": run.status,
        "conclusion": run.conclusion if run.status == "completed" else None,
        "started_at": iso(call.repo.clock()),
        "completed_at": ended,
        "output": {
            "title": run.title,
            "summary": run.summary,
            "text": run.text,
            "annotations_count": 0,
            "annotations_url": call.api(f"check-runs/{number}/annotations"),
        },
        "name": run.name,
        "check_suite": {"id": 1},
        "app": {"slug": "github-actions", "owner": user("github")},
        "pull_requests": [],
    }
