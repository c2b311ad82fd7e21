"""Puts the parts together. The only module that sees everything; imports what a path needs, when it does."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, TextIO

from idea_explorer.agent.toolset import Toolset
from idea_explorer.domain.errors import ConfigurationError
from idea_explorer.domain.exploration import Exploration
from idea_explorer.ports import Clock, EventSink, Log, Model, Publisher, ResearchRepository
from idea_explorer.settings import Settings

if TYPE_CHECKING:
    from idea_explorer.adapters.sqlite import SqliteStore
    from idea_explorer.usecases.explore import Engine

TOOLSETS = ("research",)
OFFLINE_MODELS = {"sonnet": "offline", "opus": "offline"}


def model(settings: Settings) -> Model:
    """Claude where there is a key, the offline model otherwise."""
    if settings.anthropic_api_key is None:
        from idea_explorer.adapters.offline import OfflineModel

        return OfflineModel()
    from idea_explorer.adapters.claude import Claude

    return Claude(settings.anthropic_api_key.get_secret_value(), settings.anthropic_base_url)


def research_repository(settings: Settings) -> ResearchRepository | None:
    """GitHub where it is set up; else the folder, if it holds research; else nothing to read from."""
    if settings.uses_github:
        from idea_explorer.adapters.github import GitHub

        assert settings.github_token is not None
        assert settings.github_repository is not None
        return GitHub(
            repository=settings.github_repository,
            token=settings.github_token.get_secret_value,
            branch=settings.github_branch,
            api_url=settings.github_api_url,
        )
    from idea_explorer.adapters.folder import Folder

    folder = Folder(settings.research_dir)
    return folder if folder.has_research else None


def check_folder(settings: Settings) -> None:
    """Raises ConfigurationError where there is no folder to work in."""
    from idea_explorer.adapters.folder import Folder

    Folder(settings.research_dir)


def publisher(settings: Settings) -> Publisher:
    from idea_explorer.adapters.folder import FolderPublisher

    return FolderPublisher(settings.research_dir)


def toolset(settings: Settings, name: str) -> Toolset:
    match name:
        case "research":
            from idea_explorer.tools.research import research_tools

            return research_tools(research_repository(settings), settings.web_search_version)
        case _:
            raise ConfigurationError(f"The toolset '{name}' is not available here.")


def system_clock() -> Clock:
    from idea_explorer.adapters.clock import SystemClock

    return SystemClock()


def cli_log(stream: TextIO | None) -> Log:
    """Structured lines on a stream, or none at all."""
    from idea_explorer.observability import SilentLog, stream_log

    return stream_log(stream) if stream else SilentLog()


def local_store(settings: Settings) -> "SqliteStore":
    from idea_explorer.adapters.sqlite import SqliteStore

    return SqliteStore(settings.store)


def local_engine(settings: Settings, log: Log, sinks: Sequence[EventSink]) -> "Engine":
    """The engine on this machine: SQLite and files."""
    from idea_explorer.observability import LogSink
    from idea_explorer.usecases.explore import Engine

    store = local_store(settings)

    def toolset_for(exploration: Exploration) -> Toolset:
        return toolset(settings, exploration.request.toolset)

    return Engine(
        explorations=store,
        journals=store,
        events=store,
        reports=store,
        model=model(settings),
        toolset_for=toolset_for,
        sinks_for=lambda exploration: [LogSink(log, exploration), *sinks],
        clock=system_clock(),
        log=log,
        model_ids=settings.models if settings.anthropic_api_key else OFFLINE_MODELS,
        prices=settings.prices,
        default_max_cost_usd=settings.max_cost_usd,
        max_total_tokens=settings.max_total_tokens,
    )
