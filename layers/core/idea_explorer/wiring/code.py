"""The parts of the code toolset: a repository at one commit, and where approved changes are written."""

import os
import tempfile
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from idea_explorer.agent.toolset import Toolset
from idea_explorer.domain.errors import ConfigurationError
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.limits import CodeLimits
from idea_explorer.domain.paths import RepositoryPath
from idea_explorer.domain.request import ExploreRequest
from idea_explorer.domain.transcript import ApprovalsDecided
from idea_explorer.ports import ChangeWriter, Checks, Log, PullRequests, Snapshot, Symbols
from idea_explorer.settings import Settings
from idea_explorer.wiring.local import system_clock
from idea_explorer.wiring.toolsets import github_client

if TYPE_CHECKING:
    from idea_explorer.adapters.checks.commands import LocalChecks
    from idea_explorer.adapters.checks.confirmations import Confirmations
    from idea_explorer.adapters.github.changes import GitHubChanges
    from idea_explorer.adapters.github.client import GitHubClient
    from idea_explorer.adapters.snapshots.cache import S3Packs, Snapshots
    from idea_explorer.tools.code import Workspace
    from idea_explorer.wiring.toolsets import ToolsetContext


def code_toolset(context: "ToolsetContext") -> Toolset:
    """The tools over the commit that a run is bound to and what was approved since; outside of a run,
    over the repository as it is now. A folder holds what was approved itself."""
    from idea_explorer.tools.code import code_tools

    settings, exploration = context.settings, context.exploration
    request = exploration.request if exploration else ExploreRequest(idea="none")
    if not _is_remote(settings, request):
        checks = _local_checks(settings)
        workspace = _workspace(settings, partial(_of_folder, settings))
        return code_tools(workspace, checks=checks if checks.is_configured else None)
    commit = exploration.base_commit if exploration else None
    shared = _shared(settings, request, context.log)
    workspace = _workspace(settings, partial(_of_commit, settings, request, commit, shared))
    for entry in context.entries:
        if isinstance(entry, ApprovalsDecided):
            for change in entry.written:
                workspace.approve(RepositoryPath(change.path), change.content)
    close = shared.finish if shared else lambda: None
    return code_tools(workspace, close, _github_checks(settings, exploration))


def _local_checks(settings: Settings) -> "LocalChecks":
    from idea_explorer.adapters.checks.commands import LocalChecks
    from idea_explorer.adapters.checks.sandbox import SandboxLimits

    limits = SandboxLimits(
        seconds=settings.checks_seconds,
        memory_bytes=settings.checks_memory_mb * 1_048_576,
        readable=tuple(path for path in settings.checks_read.split(os.pathsep) if path),
        may_run_open=settings.checks_without_isolation,
    )
    return LocalChecks(settings.research_dir, _confirmations(), limits, settings.code_limits)


def _confirmations() -> "Confirmations":
    from idea_explorer.adapters.checks.confirmations import Confirmations
    from idea_explorer.adapters.local_secrets import key_folder

    return Confirmations(key_folder(os.environ))


def _github_checks(settings: Settings, exploration: Exploration | None) -> Checks | None:
    """Outside of a run there is no branch whose checks could be read."""
    if exploration is None:
        return None
    from idea_explorer.adapters.github.checks import GitHubChecks

    connect = partial(client_for, settings, exploration.request)
    return GitHubChecks(connect, exploration.id, system_clock())


def base_commit_for(settings: Settings, exploration: Exploration) -> str | None:
    request = exploration.request
    return _commit_of(settings, request) if _is_remote(settings, request) else None


def check_repository(settings: Settings, exploration: Exploration) -> None:
    """Raise what keeps a run from its code on GitHub. Where its commit is not known yet, asking for that
    finds out the same."""
    request = exploration.request
    if exploration.base_commit and _is_remote(settings, request):
        from idea_explorer.adapters.github.code import GitHubCode

        GitHubCode(client_for(settings, request)).check()


def _is_remote(settings: Settings, request: ExploreRequest) -> bool:
    """Whether the code is on GitHub: also if the request names a repository."""
    return settings.uses_github or settings.in_cloud or request.repository is not None


def writer_for(settings: Settings, exploration: Exploration) -> ChangeWriter:
    if _is_remote(settings, exploration.request):
        return _github_changes(settings, exploration.request)
    from idea_explorer.adapters.checks.confirmations import ConfirmingWriter
    from idea_explorer.adapters.folder.git import GitFolder, is_git_folder
    from idea_explorer.adapters.folder.writer import FolderWriter

    root = settings.research_dir
    git = GitFolder(root) if is_git_folder(root) else None
    writer = FolderWriter(root, settings.store.with_name("publishing.lock"), git)
    return ConfirmingWriter(writer, _confirmations(), root)


def pull_requests_for(settings: Settings, exploration: Exploration) -> PullRequests | None:
    """None for a folder, where approved changes are already written."""
    request = exploration.request
    return _github_changes(settings, request) if _is_remote(settings, request) else None


def _github_changes(settings: Settings, request: ExploreRequest) -> "GitHubChanges":
    from idea_explorer.adapters.github.changes import GitHubChanges

    return GitHubChanges(client_for(settings, request), ref_of(settings, request))


def client_for(settings: Settings, request: ExploreRequest) -> "GitHubClient":
    """A client for the repository that the request names, or for the configured one."""
    name = request.repository or settings.github_repository
    allowed = {known.casefold() for known in settings.allowed_repositories}
    if not settings.uses_github:
        raise ConfigurationError(
            "There is no GitHub repository set up.", hint="Set GITHUB_REPOSITORY and GITHUB_TOKEN."
        )
    if name is None or name.casefold() not in allowed:
        raise ConfigurationError(
            f"The repository {name} may not be explored here.", hint="An operator can allow it."
        )
    return github_client(settings, name)


def ref_of(settings: Settings, request: ExploreRequest) -> str | None:
    """The ref that is explored; None is the default branch."""
    ours = (request.repository or settings.github_repository) == settings.github_repository
    return request.ref or (settings.github_branch if ours else None)


def _commit_of(settings: Settings, request: ExploreRequest) -> str:
    from idea_explorer.adapters.github.code import GitHubCode

    return GitHubCode(client_for(settings, request)).commit_of(ref_of(settings, request))


def _of_commit(
    settings: Settings, request: ExploreRequest, commit: str | None, shared: "S3Packs | None" = None
) -> Snapshot:
    from idea_explorer.adapters.github.code import GitHubCode

    client = client_for(settings, request)  # raises if the repository may not be explored any more
    code = GitHubCode(client)
    sha = commit or code.commit_of(ref_of(settings, request))
    return _snapshots(_cache_folder(settings), settings.code_limits).of_commit(
        client.repository, sha, lambda: code.download(sha), shared
    )


def _shared(settings: Settings, request: ExploreRequest, log: Log) -> "S3Packs | None":
    """The snapshots that the workers of a deployment share."""
    repository = request.repository or settings.github_repository
    if not settings.in_cloud or repository is None:
        return None
    from idea_explorer.adapters.snapshots.cache import S3Packs
    from idea_explorer.wiring.cloud import bucket

    return S3Packs(bucket(settings), repository, log)


def _of_folder(settings: Settings) -> Snapshot:
    snapshots = _snapshots(_cache_folder(settings), settings.code_limits)
    return snapshots.of_folder(settings.research_dir)


def _workspace(settings: Settings, opened: Callable[[], Snapshot]) -> "Workspace":
    from idea_explorer.tools.code import Workspace

    return Workspace(opened, _symbols(_cache_folder(settings)), settings.code_limits)


def _cache_folder(settings: Settings) -> Path:
    """Where snapshots and symbols are cached; Lambda can only write to its temporary folder."""
    if settings.in_cloud:
        return Path(tempfile.gettempdir()) / "idea-explorer-code"
    return settings.data_dir / "code"


@cache
def _snapshots(folder: Path, limits: CodeLimits) -> "Snapshots":
    from idea_explorer.adapters.snapshots.cache import Snapshots

    return Snapshots(folder, limits)


@cache
def _symbols(folder: Path) -> Symbols:
    from idea_explorer.adapters.snapshots.symbols import SqliteSymbols

    return SqliteSymbols(folder / "symbols.db")
