"""The parts of publishing: where reports go, the default webhook, and the index of research."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from idea_explorer.domain.errors import ConfigurationError
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.request import ExploreRequest, key_of
from idea_explorer.domain.webhook import WebhookTarget
from idea_explorer.settings import Settings
from idea_explorer.wiring import cloud
from idea_explorer.wiring.local import system_clock
from idea_explorer.wiring.toolsets import (
    folder_layout,
    github_client,
    github_research,
    research_folder,
)

if TYPE_CHECKING:
    from idea_explorer.ports import (
        BranchLease,
        Clock,
        Publisher,
        PullRequests,
        ResearchIndex,
        Restorer,
        Reverter,
    )


def publisher(settings: Settings, *, commit: bool = False) -> Publisher:
    """GitHub if it is configured; else the folder, with its own git where `commit` asks for it."""
    if settings.uses_github:
        from idea_explorer.adapters.github.publisher import GitHubPublisher

        clock = system_clock()
        lease = branch_lease(settings, clock)
        client = github_client(settings)
        return GitHubPublisher(client, settings.github_branch, lease, clock)
    from idea_explorer.adapters.folder.publisher import FolderPublisher

    git = None
    if commit and commits(settings):
        from idea_explorer.adapters.folder.git import GitFolder

        git = GitFolder(settings.research_dir)
    return FolderPublisher(settings.research_dir, _lock(settings), git, folder_layout(settings))


def reverter(settings: Settings, request: ExploreRequest) -> Reverter:
    """Undoes in the repository that a request's exploration wrote to."""
    from idea_explorer.adapters.github.revert import GitHubReverter
    from idea_explorer.wiring.code import client_for, ref_of

    return GitHubReverter(client_for(settings, request), ref_of(settings, request))


def restorer(settings: Settings) -> Restorer:
    from idea_explorer.adapters.folder.git import GitFolder, is_git_folder
    from idea_explorer.adapters.folder.writer import FolderRestorer

    root = settings.research_dir
    git = GitFolder(root) if is_git_folder(root) else None
    return FolderRestorer(root, _lock(settings), git, folder_layout(settings))


def _lock(settings: Settings) -> Path:
    return settings.store.with_name("publishing.lock")


def commits(settings: Settings) -> bool:
    """Whether there is a git repository that a report can be committed to."""
    from idea_explorer.adapters.folder.git import is_git_folder

    return settings.uses_github or is_git_folder(settings.research_dir)


def pull_requests_for(settings: Settings, exploration: Exploration) -> PullRequests | None:
    if settings.in_cloud and not settings.uses_github:
        return None
    from idea_explorer.wiring import code

    return code.pull_requests_for(settings, exploration)


def default_webhook(settings: Settings) -> Callable[[], WebhookTarget | None]:
    """The webhook for requests that name none. Its secret is read again for each message."""

    def target() -> WebhookTarget | None:
        if settings.webhook_url is None:
            return None
        return WebhookTarget(settings.webhook_url, _webhook_secret(settings))

    return target


def _webhook_secret(settings: Settings) -> str | None:
    if settings.webhook_secret_id is None:
        given = settings.webhook_secret
        return given.get_secret_value() if given else None
    secret = cloud.cloud_secrets(settings).get(settings.webhook_secret_id, "secret")
    try:
        key_of(secret)
    except ValueError as error:
        raise ConfigurationError(
            f"The webhook secret cannot be used: {error}.",
            hint="Set it with 'idea admin secret set webhook'.",
        ) from error
    return secret


def branch_lease(settings: Settings, clock: Clock) -> BranchLease:
    if settings.in_cloud:
        from idea_explorer.adapters.dynamodb.leases import DynamoBranchLease

        return DynamoBranchLease(cloud.table(settings), clock)
    from idea_explorer.adapters.sqlite.leases import SqliteBranchLease

    return SqliteBranchLease(settings.store.with_name("leases.db"), clock)


def research_index(settings: Settings) -> ResearchIndex:
    """The index in the deployment's bucket, read by botocore alone; here, that of the documents."""
    if settings.in_cloud:
        from idea_explorer.adapters.research_index.bucket import BucketIndex
        from idea_explorer.wiring.cloud import bucket

        source = partial(github_research, settings) if settings.uses_github else lambda: None
        return BucketIndex(bucket(settings), source)
    if settings.uses_github:
        return github_research(settings).index
    return research_folder(settings).index  # a folder without research may get some
