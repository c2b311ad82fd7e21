"""The four toolsets with what they read from and write to."""

from collections.abc import Callable, Sequence
from functools import partial

from idea_explorer.agent.toolset import Toolset
from idea_explorer.domain.errors import ConfigurationError
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.transcript import AnyEntry
from idea_explorer.ports import ChangeWriter, Log, ResearchRepository, UploadedFiles, Uploads
from idea_explorer.settings import Settings
from idea_explorer.wiring.cloud import cloud_secrets
from idea_explorer.wiring.keeping import files_of, given_files
from idea_explorer.wiring.parts import LOCAL_OWNER, cli_log, system_clock

TOOLSETS = ("research", "assistant", "code", "discover")


def github_token(settings: Settings) -> Callable[[], str]:
    """Asked for at each call, so that a rotated token is picked up."""
    if settings.github_secret_id:
        return partial(cloud_secrets(settings).get, settings.github_secret_id, "token")
    assert settings.github_token is not None
    return settings.github_token.get_secret_value


def research_repository(settings: Settings) -> ResearchRepository | None:
    """GitHub where it is set up; else the folder, if it holds research; else nothing to read from."""
    if settings.uses_github:
        from idea_explorer.adapters.document_cache import DocumentCache
        from idea_explorer.adapters.github import GitHub

        assert settings.github_repository is not None
        return GitHub(
            repository=settings.github_repository,
            token=github_token(settings),
            branch=settings.github_branch,
            api_url=settings.github_api_url,
            cache=DocumentCache(),
        )
    from idea_explorer.adapters.folder import Folder

    folder = Folder(settings.research_dir)
    return folder if folder.has_research else None


def check_folder(settings: Settings) -> None:
    """Raises ConfigurationError where there is no folder to work in."""
    from idea_explorer.adapters.folder import Folder

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
            from idea_explorer.adapters.http import PublicHttp
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


def base_of(settings: Settings, exploration: Exploration) -> str | None:
    if exploration.request.toolset != "code":
        return None
    from idea_explorer.wiring import code

    return code.base_of(settings, exploration)
