"""The code toolset put together: a repository at one commit, and where approved changes go."""

import tempfile
from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from idea_explorer.agent.toolset import Toolset
from idea_explorer.domain.errors import ConfigurationError
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.limits import CodeLimits
from idea_explorer.domain.paths import RepositoryPath
from idea_explorer.domain.request import ExploreRequest
from idea_explorer.domain.transcript import AnyEntry, ApprovalsDecided
from idea_explorer.ports import ChangeWriter, Log, PullRequests, Snapshot, Symbols
from idea_explorer.settings import Settings
from idea_explorer.wiring.cloud import connect, named
from idea_explorer.wiring.toolsets import github_client

if TYPE_CHECKING:
    from idea_explorer.adapters.github.changes import GitHubChanges
    from idea_explorer.adapters.github.client import GitHubClient
    from idea_explorer.adapters.snapshots.disk import Snapshots
    from idea_explorer.adapters.snapshots.shared import S3Packs
    from idea_explorer.tools.code import Workspace


def toolset_of(
    settings: Settings, exploration: Exploration, entries: Sequence[AnyEntry], log: Log
) -> Toolset:
    """The tools of one run, over the commit it is bound to and what was approved since."""
    from idea_explorer.tools.code import code_tools

    if not _is_remote(settings, exploration.request):  # the folder itself holds what was approved
        return code_tools(_workspace(settings, partial(_of_folder, settings)))
    request = exploration.request
    shared = _shared(settings, request, log)
    opened = partial(_of_commit, settings, request, exploration.base_commit, shared)
    workspace = _workspace(settings, opened)
    for entry in entries:
        if isinstance(entry, ApprovalsDecided):
            for change in entry.written:
                workspace.approve(RepositoryPath(change.path), change.content)
    return code_tools(workspace, shared.finish) if shared else code_tools(workspace)


def toolset_by_hand(settings: Settings) -> Toolset:
    """The tools outside of any run: over the folder as it is, or the repository as it is now."""
    from idea_explorer.tools.code import code_tools

    request = ExploreRequest(idea="by hand", toolset="code")
    by_hand = partial(_of_commit, settings, request, None)
    opened = by_hand if settings.uses_github else partial(_of_folder, settings)
    return code_tools(_workspace(settings, opened))


def base_of(settings: Settings, exploration: Exploration) -> str | None:
    """The commit that an exploration of code shall read; None where there is no such thing."""
    request = exploration.request
    if request.toolset != "code" or not _is_remote(settings, request):
        return None
    return _commit_of(settings, request)


def check_repository(settings: Settings, exploration: Exploration) -> None:
    """Raise what keeps a run from its code on GitHub. Its commit, where it is not known yet, is asked
    for besides."""
    request = exploration.request
    if exploration.base_commit and _is_remote(settings, request):
        from idea_explorer.adapters.github.code import GitHubCode

        GitHubCode(client_for(settings, request)).check()


def _is_remote(settings: Settings, request: ExploreRequest) -> bool:
    """Whether the code lies on GitHub; one who names a repository means it, and not the folder."""
    return settings.uses_github or settings.in_cloud or request.repository is not None


def writer_for(settings: Settings, exploration: Exploration) -> ChangeWriter:
    if _is_remote(settings, exploration.request):
        return _github_changes(settings, exploration.request)
    from idea_explorer.adapters.folder.writer import FolderWriter

    return FolderWriter(settings.research_dir)


def pull_requests_for(settings: Settings, exploration: Exploration) -> PullRequests | None:
    """None where changes were written to a folder: they are there already."""
    request = exploration.request
    return _github_changes(settings, request) if _is_remote(settings, request) else None


def _github_changes(settings: Settings, request: ExploreRequest) -> "GitHubChanges":
    from idea_explorer.adapters.github.changes import GitHubChanges

    return GitHubChanges(client_for(settings, request), ref_of(settings, request))


def client_for(settings: Settings, request: ExploreRequest) -> "GitHubClient":
    """Calls for the repository that a request names, else for the configured one."""
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

    sha = commit or _commit_of(settings, request)
    code = GitHubCode(client_for(settings, request))
    return _snapshots(_cache_folder(settings), settings.code_limits).of_commit(
        sha, lambda: code.download(sha), shared
    )


def _shared(settings: Settings, request: ExploreRequest, log: Log) -> "S3Packs | None":
    """What the workers of a deployment have fetched for each other."""
    repository = request.repository or settings.github_repository
    if not settings.in_cloud or repository is None:
        return None
    from idea_explorer.adapters.snapshots.shared import S3Packs

    bucket = named("BUCKET_NAME", settings.bucket_name)
    return S3Packs(bucket, connect("s3", settings), repository, log)


def _of_folder(settings: Settings) -> Snapshot:
    snapshots = _snapshots(_cache_folder(settings), settings.code_limits)
    return snapshots.of_folder(settings.research_dir)


def _workspace(settings: Settings, opened: Callable[[], Snapshot]) -> "Workspace":
    from idea_explorer.tools.code import Workspace

    return Workspace(opened, _symbols(_cache_folder(settings)), settings.code_limits)


def _cache_folder(settings: Settings) -> Path:
    """What can be fetched or computed again: in the only place where Lambda lets a function write."""
    if settings.in_cloud:
        return Path(tempfile.gettempdir()) / "idea-explorer-code"
    return settings.kept / "code"


@cache
def _snapshots(folder: Path, limits: CodeLimits) -> "Snapshots":
    from idea_explorer.adapters.snapshots.disk import Snapshots

    return Snapshots(folder, limits)


@cache
def _symbols(folder: Path) -> Symbols:
    from idea_explorer.adapters.snapshots.symbols import SqliteSymbols

    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return SqliteSymbols(folder / "symbols.db")
