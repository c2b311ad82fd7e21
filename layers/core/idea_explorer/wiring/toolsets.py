"""The four toolsets with what they read from and write to."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from idea_explorer.agent.toolset import Toolset
from idea_explorer.domain.errors import ConfigurationError
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.transcript import AnyEntry
from idea_explorer.ports import ChangeWriter, Log, ResearchRepository, UploadedFiles, Uploads
from idea_explorer.settings import Settings
from idea_explorer.wiring.cloud import cloud_secrets
from idea_explorer.wiring.local import LOCAL_OWNER, cli_log, files_of, given_files, system_clock

if TYPE_CHECKING:
    from idea_explorer.adapters.github.client import GitHubClient

TOOLSETS = ("research", "assistant", "code", "discover")


def github_client(settings: Settings, repository: str | None = None) -> "GitHubClient":
    """Calls for the configured repository, or for another that the same token reaches."""
    from idea_explorer.adapters.github.client import GitHubClient

    name = repository or settings.github_repository
    assert name is not None
    if settings.github_secret_id is None:
        assert settings.github_token is not None
        token = settings.github_token.get_secret_value
        return GitHubClient(name, token, settings.github_api_url)
    secret = partial(cloud_secrets(settings).get, settings.github_secret_id, "token")
    return GitHubClient(
        name,
        secret,
        settings.github_api_url,
        fresh_token=partial(secret, fresh=True),
        refused_hint="Set another with 'idea admin secret set github'.",
    )


def research_repository(settings: Settings) -> ResearchRepository | None:
    """GitHub where it is set up; else the folder, if it holds research; else nothing to read from."""
    if settings.uses_github:
        from idea_explorer.adapters.github.document_cache import DocumentCache
        from idea_explorer.adapters.github.research import GitHub

        return GitHub(github_client(settings), settings.github_branch, DocumentCache())
    from idea_explorer.adapters.folder.research import Folder

    folder = Folder(settings.research_dir)
    return folder if folder.has_research else None


def check_folder(settings: Settings) -> None:
    """Raises ConfigurationError where there is no folder to work in."""
    from idea_explorer.adapters.folder.research import Folder

    Folder(settings.research_dir)


def toolset(
    settings: Settings,
    name: str,
    exploration: Exploration | None = None,
    log: Log | None = None,
    files: UploadedFiles | None = None,
) -> Toolset:
    """A toolset: of one exploration, or to call by hand."""
    match name:
        case "research":
            from idea_explorer.tools.research import research_tools

            return research_tools(research_repository(settings), settings.web_search_version)
        case "assistant":
            from idea_explorer.adapters.http.public import PublicHttp
            from idea_explorer.tools.assistant import assistant_tools

            pages = PublicHttp(system_clock())
            return assistant_tools(pages, files or given_files([]), settings.web_search_version)
        case "discover":
            from idea_explorer.wiring.music import discover

            owner = exploration.owner if exploration else LOCAL_OWNER
            return discover(settings, owner, system_clock(), log or cli_log(None))
        case "code":
            from idea_explorer.wiring import code

            return code.toolset_by_hand(settings)
        case _:
            raise ConfigurationError(
                f"There is no toolset '{name}'.", hint=f"Choose one of: {', '.join(TOOLSETS)}."
            )


def toolset_for(
    settings: Settings,
    log: Log,
    uploads: Uploads,
    exploration: Exploration,
    entries: Sequence[AnyEntry],
) -> Toolset:
    """The tools of a run, which sees what its own decisions have changed."""
    if exploration.request.toolset != "code":
        files = files_of(exploration, uploads)
        return toolset(settings, exploration.request.toolset, exploration, log, files)
    from idea_explorer.wiring import code

    return code.toolset_of(settings, exploration, entries, log)


def writer_for(settings: Settings, exploration: Exploration) -> ChangeWriter:
    from idea_explorer.wiring import code

    return code.writer_for(settings, exploration)


def check_repository(settings: Settings, exploration: Exploration) -> None:
    """Raise what keeps a run from the repository on GitHub that it reads and writes; elsewhere nothing."""
    match exploration.request.toolset:
        case "research" if settings.uses_github:
            from idea_explorer.wiring import publishing

            publishing.publisher(settings).check()
        case "code":
            from idea_explorer.wiring import code

            code.check_repository(settings, exploration)


def base_of(settings: Settings, exploration: Exploration) -> str | None:
    if exploration.request.toolset != "code":
        return None
    from idea_explorer.wiring import code

    return code.base_of(settings, exploration)
