"""The toolsets with what they read from and write to."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pkgutil import resolve_name
from typing import TYPE_CHECKING

from idea_explorer.domain.errors import ConfigurationError
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.toolsets import TOOLSETS
from idea_explorer.settings import Settings
from idea_explorer.wiring.cloud import cloud_secrets
from idea_explorer.wiring.local import (
    LOCAL_OWNER,
    cli_log,
    document_reader,
    files_of,
    given_files,
)

if TYPE_CHECKING:
    from pathlib import Path

    from idea_explorer.adapters.folder.layout import Layout
    from idea_explorer.adapters.folder.research import Folder
    from idea_explorer.adapters.github.client import GitHubClient
    from idea_explorer.adapters.github.research import GitHub
    from idea_explorer.agent.toolset import Toolset
    from idea_explorer.domain.transcript import AnyEntry
    from idea_explorer.ports import ChangeWriter, Log, ResearchRepository, UploadedFiles, Uploads

INDEX_FILE = "research-index.db"
MAX_FOLDERS = 4  # whose index stays open; a process has one, tests have more


@dataclass(frozen=True, slots=True)
class ToolsetContext:
    """What the tools of a toolset are made from; outside of a run there is no exploration."""

    settings: Settings
    log: Log
    files: UploadedFiles
    exploration: Exploration | None = None
    entries: Sequence[AnyEntry] = ()

    @property
    def owner(self) -> str:
        return self.exploration.owner if self.exploration else LOCAL_OWNER


def github_client(settings: Settings, repository: str | None = None) -> GitHubClient:
    """A client for the configured repository, or for another that the same token can access."""
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
    """GitHub if it is configured, else the folder if it contains research, else None."""
    if settings.uses_github:
        return github_research(settings)
    folder = research_folder(settings)
    return folder if folder.has_research else None


def github_research(settings: Settings) -> GitHub:
    from idea_explorer.adapters.github.research import GitHub

    return GitHub(github_client(settings), settings.github_branch, _index_file(settings))


def research_folder(settings: Settings) -> Folder:
    return _folder(settings.research_dir, folder_layout(settings), _index_file(settings))


@lru_cache(maxsize=MAX_FOLDERS)
def _folder(root: Path, layout: Layout, index_file: Path | None) -> Folder:
    from idea_explorer.adapters.folder.research import Folder

    return Folder(root, layout, index_file)


def _index_file(settings: Settings) -> Path | None:
    """In the folder with everything else that this machine stores; on Lambda, where a function may write
    files that stay for the next call."""
    if not settings.in_cloud:
        return settings.data_dir / INDEX_FILE
    from idea_explorer.adapters.files import find_private_folder

    folder = find_private_folder() if settings.on_lambda else None
    return folder / INDEX_FILE if folder else None


def folder_layout(settings: Settings) -> Layout:
    """Where the research folder holds its documents."""
    from idea_explorer.adapters.folder.layout import find_layout

    return find_layout(settings.research_dir, may_be_flat=settings.research_is_named)


def describe_folder(settings: Settings) -> str | None:
    """What a person has to know of a research folder from which nothing, or not everything, is read."""
    from idea_explorer.adapters.folder.layout import MAX_VISITED, find_layout
    from idea_explorer.adapters.folder.research import Folder

    cuts: list[bool] = []
    layout = find_layout(
        settings.research_dir,
        may_be_flat=settings.research_is_named,
        when_cut=lambda: cuts.append(True),
    )
    folder = Folder(settings.research_dir, layout)
    count = folder.count_documents()
    if folder.is_cut or cuts:
        return (
            f"{folder.root} has more than {MAX_VISITED:,} files, and no more are looked at, so some"
            " documents may be missed. Name a folder that holds the research alone."
        )
    if not count:
        return (
            f"{folder.root.resolve()} has no documents that can be read (.md, .markdown or .txt), so there"
            " is no earlier research to build on."
        )
    return None


def check_folder(settings: Settings) -> None:
    """Raises ConfigurationError if the research folder does not exist."""
    from idea_explorer.adapters.folder.research import Folder

    Folder(settings.research_dir)


def toolset(
    settings: Settings, name: str, *, log: Log | None = None, files: UploadedFiles | None = None
) -> Toolset:
    """A toolset outside of any run, to show or to call by hand."""
    if name not in TOOLSETS:
        raise ConfigurationError(
            f"There is no toolset '{name}'.", hint=f"Choose one of: {', '.join(TOOLSETS)}."
        )
    context = ToolsetContext(settings, log or cli_log(None), files or given_files([]))
    return _build(name, context)


def toolset_for(
    settings: Settings,
    log: Log,
    uploads: Uploads,
    exploration: Exploration,
    entries: Sequence[AnyEntry],
) -> Toolset:
    """The tools of a run, which see the changes that were approved in it."""
    files = files_of(exploration, uploads)
    context = ToolsetContext(settings, log, files, exploration, entries)
    return _build(exploration.request.toolset, context)


def _build(name: str, context: ToolsetContext) -> Toolset:
    build: Callable[[ToolsetContext], Toolset] = resolve_name(TOOLSETS[name].tools)
    return build(context)


def research(context: ToolsetContext) -> Toolset:
    from idea_explorer.tools.research import research_tools
    from idea_explorer.wiring.web import fetch_rules, page_reader, search_options

    settings = context.settings
    request = context.exploration.request if context.exploration else None
    depth = context.exploration.depth_limits if context.exploration else None
    plan = None
    if request is None or request.plans:
        from idea_explorer.domain.plan import count_questions
        from idea_explorer.tools.plan import plan_tool

        most = count_questions(depth)
        plan = plan_tool(most=most, is_reviewed=request is not None and request.review_plan)
    repository = research_repository(settings)
    rules = fetch_rules(context, max_pages=depth.pages if depth else None)
    return research_tools(
        repository,
        **search_options(context),
        reads_pages=page_reader(context, rules, has_research=repository is not None),
        plan=plan,
        read_transcript=rules.read if rules else lambda _: None,
    )


def assistant(context: ToolsetContext) -> Toolset:
    from idea_explorer.tools.assistant import assistant_tools
    from idea_explorer.wiring.web import PublicPages, fetch_rules, search_options

    return assistant_tools(
        PublicPages(),
        context.files,
        rules=fetch_rules(context),
        documents=document_reader(),
        **search_options(context),
    )


def missing_settings(settings: Settings) -> Mapping[str, str]:
    """The toolsets that cannot run here, each with what an operator does about it."""
    needs = {
        name: spec.needs for name, spec in TOOLSETS.items() if settings.in_cloud and spec.needs
    }
    return {
        name: f"An operator sets the deployment's parameter {parameter}."
        for name, (setting, parameter) in needs.items()
        if not getattr(settings, setting)
    }


def writer_for(settings: Settings, exploration: Exploration) -> ChangeWriter:
    from idea_explorer.wiring import code

    return code.writer_for(settings, exploration)


def check_repository(settings: Settings, exploration: Exploration) -> None:
    """Raise what keeps a run from the GitHub repository that it reads and writes, if it has one."""
    spec = exploration.request.spec
    if spec.publishes_documents and settings.uses_github:
        from idea_explorer.wiring import publishing

        publishing.publisher(settings).check()
    elif spec.takes("repository"):
        from idea_explorer.wiring import code

        code.check_repository(settings, exploration)


def base_commit_for(settings: Settings, exploration: Exploration) -> str | None:
    """The commit that a run has to read; None where it reads no repository, or a folder."""
    if not exploration.request.spec.takes("repository"):
        return None
    from idea_explorer.wiring import code

    return code.base_commit_for(settings, exploration)
