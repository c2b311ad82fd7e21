"""`idea explore`: one exploration on this machine."""

import argparse
import sys

from idea_explorer.cli.arguments import read_files, read_request, read_settings
from idea_explorer.cli.explorations import print_end
from idea_explorer.cli.output import warn
from idea_explorer.cli.run import LocalRunner, path_to_open
from idea_explorer.cli.similar import Choice, ask_at_terminal, is_undecided, offer_similar
from idea_explorer.cli.targets.local import LocalTarget
from idea_explorer.domain.errors import ExplorerError
from idea_explorer.domain.request import ExploreRequest
from idea_explorer.settings import Settings
from idea_explorer.wiring import publishing
from idea_explorer.wiring.engine import request_policy
from idea_explorer.wiring.local import LOCAL_OWNER, cli_log, system_clock
from idea_explorer.wiring.toolsets import check_folder


def run(arguments: argparse.Namespace) -> int:
    request = read_request(arguments)
    settings = read_settings(arguments.research, reads_research=True)
    request_policy(settings).check(request, LOCAL_OWNER, system_clock().now())
    check_folder(settings)
    files = read_files(arguments.file, request.toolset)
    # a script gets the structured log, a person the progress
    as_log = arguments.debug or (arguments.json and not sys.stderr.isatty())
    show_progress = not (arguments.quiet or as_log)
    if show_progress and is_undecided(request, if_exists_given=arguments.if_exists is not None):
        choice = _offer_similar(request, settings)
        if choice.document:
            print(path_to_open(choice.document, settings))
        if choice.request is None:
            return 0
        request = choice.request
    if arguments.commit and not publishing.commits(settings):
        warn(f"{settings.research_dir} is not a git repository, so nothing will be committed.")
    target = LocalTarget(settings, arguments.research)
    runner = LocalRunner(
        settings,
        target,
        show_progress=show_progress,
        log=cli_log(sys.stderr if as_log and not arguments.quiet else None),
        commit=arguments.commit,
    )
    final = runner.reuse(request) or runner.explore(request, files)
    return print_end(target, target.describe(final), arguments)


def _offer_similar(request: ExploreRequest, settings: Settings) -> Choice:
    """A repository that cannot be read now decides nothing."""
    try:
        index = publishing.research_index(settings).load()
    except ExplorerError:
        return Choice(request)
    return offer_similar(
        request, index, show=lambda line: print(line, file=sys.stderr), ask=ask_at_terminal()
    )
