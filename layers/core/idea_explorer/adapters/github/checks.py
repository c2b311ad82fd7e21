"""The checks of the branch with an exploration's approved changes, as GitHub tells them."""

from collections.abc import Callable, Iterator, Sequence

from pydantic import AliasPath, BaseModel, Field

from idea_explorer.adapters.github.branches import GitHubBranches, branch_of
from idea_explorer.adapters.github.client import GitHubClient
from idea_explorer.adapters.github.responses import parse
from idea_explorer.domain.approvals import Proposal
from idea_explorer.domain.checks import MAX_OUTPUT_CHARS, CheckOutcome, CheckResult
from idea_explorer.domain.dataclass import dataclass
from idea_explorer.domain.deadline import Clock, check_time_limit
from idea_explorer.domain.errors import (
    AuthFailedError,
    ConfigurationError,
    DocumentMissingError,
    ExternalError,
)
from idea_explorer.domain.ids import ExplorationId
from idea_explorer.domain.text import make_printable

WAIT_SECONDS = 60.0  # for checks to end; a model may ask again
PAUSE_SECONDS = 5.0
PER_PAGE = 100  # GitHub shows no more at once, and nobody reads more
ACTIONS = "github-actions"  # the app whose check runs are jobs, with a log instead of an output
MAX_LOGS = 5  # each is a download; the first failures are what matters
MAX_LOG_BYTES = 20_000_000
_CONCLUSIONS: dict[str | None, CheckOutcome] = {
    "success": "passed",
    "neutral": "skipped",
    "skipped": "skipped",
    "cancelled": "stopped",
    "timed_out": "stopped",
    "stale": "stopped",
}
_STATES: dict[str, CheckOutcome] = {"success": "passed", "pending": "pending"}


class _CheckRun(BaseModel):
    id: int
    name: str
    status: str
    conclusion: str | None = None
    title: str | None = Field(default=None, validation_alias=AliasPath("output", "title"))
    summary: str | None = Field(default=None, validation_alias=AliasPath("output", "summary"))
    text: str | None = Field(default=None, validation_alias=AliasPath("output", "text"))
    app: str | None = Field(default=None, validation_alias=AliasPath("app", "slug"))


class _CheckRuns(BaseModel):
    check_runs: list[_CheckRun]


class _Status(BaseModel):
    context: str
    state: str
    description: str | None = None


class _CombinedStatus(BaseModel):
    statuses: list[_Status]


@dataclass(frozen=True)
class _Found:
    """`job` is the job of GitHub Actions whose log says why it failed."""

    result: CheckResult
    job: int | None = None


class GitHubChecks:
    """Runs nothing: it waits a little for GitHub's checks, and reads what they say."""

    def __init__(
        self, connect: Callable[[], GitHubClient], exploration_id: ExplorationId, clock: Clock
    ) -> None:
        self._connect = connect  # raises if the repository may not be explored any more
        self._branch = branch_of(exploration_id)
        self._clock = clock

    def ask_first(self) -> Proposal | None:
        return None

    def run(self, only: str | None) -> Sequence[CheckResult]:
        """GitHub's checks have names of their own: `only` selects those whose name contains it, if any."""
        client = self._connect()
        tip = GitHubBranches(client).tip(self._branch)
        if tip is None:
            raise ConfigurationError("No change was approved yet, so there is nothing to check.")
        ends = self._clock.monotonic() + WAIT_SECONDS
        while True:
            found = [*_read(client, tip)]
            if found and all(each.result.outcome != "pending" for each in found):
                break
            if self._clock.monotonic() + PAUSE_SECONDS > ends:
                break
            check_time_limit()
            self._clock.sleep(PAUSE_SECONDS)
        named = [each for each in found if only and only in each.result.name.casefold()]
        return [*_add_logs(client, named or found)]


def _add_logs(client: GitHubClient, found: Sequence[_Found]) -> Iterator[CheckResult]:
    left = MAX_LOGS
    for each in found:
        if each.job is None or not left:
            yield each.result
            continue
        left -= 1
        check_time_limit()
        yield _add_log(client, each.job, each.result)


def _add_log(client: GitHubClient, job: int, result: CheckResult) -> CheckResult:
    """The result with the end of the job's log, or with the reason why that cannot be read."""
    segments = ("actions", "jobs", str(job), "logs")
    try:
        with client.download(*segments, max_bytes=MAX_LOG_BYTES) as file:
            log = file.read().decode("utf-8", "replace")
    except (AuthFailedError, DocumentMissingError):
        detail = f"{result.detail}; its log needs the permission 'Actions', to read"
        return result.model_copy(update={"detail": detail})
    except ExternalError:
        return result.model_copy(update={"detail": f"{result.detail}; its log cannot be read"})
    text = make_printable("\n".join(map(_without_time, log.splitlines())))
    cut = len(text) > MAX_OUTPUT_CHARS
    return result.model_copy(update={"output": text[-MAX_OUTPUT_CHARS:], "output_cut": cut})


def _without_time(line: str) -> str:
    """GitHub begins each line with the time: `2026-11-17T16:00:00.0000000Z `."""
    time, _, rest = line.partition(" ")
    return rest if time.endswith("Z") and time[4:5] == "-" and time[10:11] == "T" else line


def _read(client: GitHubClient, commit: str) -> Iterator[_Found]:
    try:
        runs = client.get("commits", commit, "check-runs", per_page=PER_PAGE)
        states = client.get("commits", commit, "status", per_page=PER_PAGE)
    except (AuthFailedError, DocumentMissingError) as error:
        raise ConfigurationError(
            "GitHub does not let the token read the checks of the changes.",
            hint="It needs the permissions 'Checks' and 'Commit statuses', to read.",
        ) from error
    for run in parse(_CheckRuns, runs).check_runs:
        yield _from_run(run)
    for status in parse(_CombinedStatus, states).statuses:
        yield _Found(
            CheckResult(
                name=status.context,
                outcome=_STATES.get(status.state, "failed"),
                detail=make_printable(status.description or status.state)[:500],
            )
        )


def _from_run(run: _CheckRun) -> _Found:
    has_ended = run.status == "completed"
    text = make_printable("\n".join(part for part in (run.summary, run.text) if part))
    result = CheckResult(
        name=run.name,
        outcome=_CONCLUSIONS.get(run.conclusion, "failed") if has_ended else "pending",
        detail=make_printable(run.title or run.conclusion or run.status)[:500],
        output=text[-MAX_OUTPUT_CHARS:],
        output_cut=len(text) > MAX_OUTPUT_CHARS,
    )
    has_log = run.app == ACTIONS and result.outcome == "failed" and not text
    return _Found(result, run.id if has_log else None)
