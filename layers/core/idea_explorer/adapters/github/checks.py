"""The checks of the branch with an exploration's approved changes, as GitHub tells them."""

from collections.abc import Callable, Iterator, Sequence

from pydantic import AliasPath, BaseModel, Field

from idea_explorer.adapters.github.branches import GitHubBranches, branch_of
from idea_explorer.adapters.github.client import GitHubClient
from idea_explorer.adapters.github.responses import parse
from idea_explorer.domain.approvals import Proposal
from idea_explorer.domain.checks import MAX_OUTPUT_CHARS, CheckOutcome, CheckResult
from idea_explorer.domain.deadline import Clock, check_time_limit
from idea_explorer.domain.errors import AuthFailedError, ConfigurationError, DocumentMissingError
from idea_explorer.domain.ids import ExplorationId
from idea_explorer.domain.text import make_printable

WAIT_SECONDS = 60.0  # for checks to end; a model may ask again
PAUSE_SECONDS = 5.0
PER_PAGE = 100  # GitHub shows no more at once, and nobody reads more
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
    name: str
    status: str
    conclusion: str | None = None
    title: str | None = Field(default=None, validation_alias=AliasPath("output", "title"))
    summary: str | None = Field(default=None, validation_alias=AliasPath("output", "summary"))
    text: str | None = Field(default=None, validation_alias=AliasPath("output", "text"))


class _CheckRuns(BaseModel):
    check_runs: list[_CheckRun]


class _Status(BaseModel):
    context: str
    state: str
    description: str | None = None


class _CombinedStatus(BaseModel):
    statuses: list[_Status]


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
            results = [*_read(client, tip)]
            if results and all(result.outcome != "pending" for result in results):
                break
            if self._clock.monotonic() + PAUSE_SECONDS > ends:
                break
            check_time_limit()
            self._clock.sleep(PAUSE_SECONDS)
        return [r for r in results if only and only in r.name.casefold()] or results


def _read(client: GitHubClient, commit: str) -> Iterator[CheckResult]:
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
        yield CheckResult(
            name=status.context,
            outcome=_STATES.get(status.state, "failed"),
            detail=make_printable(status.description or status.state)[:500],
        )


def _from_run(run: _CheckRun) -> CheckResult:
    has_ended = run.status == "completed"
    text = make_printable("\n".join(part for part in (run.summary, run.text) if part))
    return CheckResult(
        name=run.name,
        outcome=_CONCLUSIONS.get(run.conclusion, "failed") if has_ended else "pending",
        detail=make_printable(run.title or run.conclusion or run.status)[:500],
        output=text[-MAX_OUTPUT_CHARS:],
        output_cut=len(text) > MAX_OUTPUT_CHARS,
    )
