"""The parts of publishing: where reports go, who hears of them, and what is known of them."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from idea_explorer import wiring
from idea_explorer.domain.errors import ConfigurationError
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.request import ExploreRequest, key_of
from idea_explorer.domain.webhook import Target
from idea_explorer.ports import (
    BranchLease,
    Clock,
    Publisher,
    PullRequests,
    ResearchIndex,
    Restorer,
    Reverter,
    Webhooks,
)
from idea_explorer.settings import Settings

if TYPE_CHECKING:
    from idea_explorer.usecases.finish import Destinations


def publisher(settings: Settings, clock: Clock, *, commit: bool = False) -> Publisher:
    """GitHub where it is set up; else the folder, with its own git where a commit is asked for."""
    if settings.uses_github:
        from idea_explorer.adapters.github.publisher import GitHubPublisher

        lease = branch_lease(settings, clock)
        client = wiring.github_client(settings)
        return GitHubPublisher(client, settings.github_branch, lease, clock)
    from idea_explorer.adapters.folder.publisher import FolderPublisher

    git = None
    if commit and commits(settings):
        from idea_explorer.adapters.folder.git import GitFolder

        git = GitFolder(settings.research_dir)
    return FolderPublisher(settings.research_dir, _lock(settings), git)


def reverter(settings: Settings, request: ExploreRequest) -> Reverter:
    """Undoes in the repository that a request's exploration wrote to."""
    from idea_explorer.adapters.github.revert import GitHubReverter
    from idea_explorer.wiring.code import client_for, ref_of

    return GitHubReverter(client_for(settings, request), ref_of(settings, request))


def restorer(settings: Settings) -> Restorer:
    from idea_explorer.adapters.folder.git import GitFolder, is_git_folder
    from idea_explorer.adapters.folder.restorer import FolderRestorer

    root = settings.research_dir
    git = GitFolder(root) if is_git_folder(root) else None
    return FolderRestorer(root, _lock(settings), git)


def _lock(settings: Settings) -> Path:
    return settings.store.with_name("publishing.lock")


def commits(settings: Settings) -> bool:
    """Whether there is a git repository that a report can be committed to."""
    from idea_explorer.adapters.folder.git import is_git_folder

    return settings.uses_github or is_git_folder(settings.research_dir)


def destinations(settings: Settings, clock: Clock, *, commit: bool = False) -> "Destinations":
    """Where reports go. A deployment without a repository has no place for them but its store."""
    from idea_explorer.usecases.finish import Destinations

    default = default_webhook(settings)
    if settings.in_cloud and not settings.uses_github:
        return Destinations(
            None, webhooks(clock), settings.published_to, settings.published_branch, default
        )
    return Destinations(
        publisher=publisher(settings, clock, commit=commit),
        webhooks=webhooks(clock),
        repository=settings.published_to,
        branch=settings.published_branch,
        default_webhook=default,
        index=research_index(settings) if settings.in_cloud else None,
        research=wiring.research_repository(settings) if settings.in_cloud else None,
        pull_requests_for=partial(_pull_requests_for, settings),
    )


def _pull_requests_for(settings: Settings, exploration: Exploration) -> PullRequests | None:
    from idea_explorer.wiring import code

    return code.pull_requests_for(settings, exploration)


class _OverHttp:
    """Loads the HTTP client for the first post: most explorations have none."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def post(self, url: str, body: bytes, headers: Mapping[str, str], timeout: float) -> int:
        from idea_explorer.adapters.http.public import PublicHttp

        return PublicHttp(self._clock).post(url, body, headers, timeout)


def webhooks(clock: Clock) -> Webhooks:
    return _OverHttp(clock)


def default_webhook(settings: Settings) -> Callable[[], Target | None]:
    """Whom to tell where a request names nobody. The secret is read when it is needed, as it is then."""

    def target() -> Target | None:
        if settings.webhook_url is None:
            return None
        return Target(settings.webhook_url, _webhook_secret(settings))

    return target


def _webhook_secret(settings: Settings) -> str | None:
    if settings.webhook_secret_id is None:
        given = settings.webhook_secret
        return given.get_secret_value() if given else None
    secret = wiring.cloud_secrets(settings).get(settings.webhook_secret_id, "secret")
    try:
        key_of(secret)
    except ValueError as error:
        raise ConfigurationError(
            f"The secret of the webhook cannot be used: {error}.",
            hint="Set it with 'idea admin secret set webhook'.",
        ) from error
    return secret


def branch_lease(settings: Settings, clock: Clock) -> BranchLease:
    if settings.in_cloud:
        from idea_explorer.adapters.dynamodb.leases import DynamoBranchLease
        from idea_explorer.adapters.dynamodb.table import Table

        name = wiring.named("TABLE_NAME", settings.table_name)
        return DynamoBranchLease(Table(name, wiring.connect("dynamodb", settings), clock), clock)
    from idea_explorer.adapters.sqlite.leases import SqliteBranchLease

    return SqliteBranchLease(settings.store.with_name("leases.db"), clock)


def research_index(settings: Settings) -> ResearchIndex:
    """The index in the deployment's bucket, read by boto3 alone; here, the documents themselves."""
    if settings.in_cloud:
        from idea_explorer.adapters.research_index import S3ResearchIndex
        from idea_explorer.wiring.cloud import bucket

        return S3ResearchIndex(bucket(settings))
    from idea_explorer.adapters.research_index import ComputedIndex

    return ComputedIndex(wiring.research_repository(settings))
