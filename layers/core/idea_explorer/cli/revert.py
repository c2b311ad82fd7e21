"""`idea revert`: undo what an exploration wrote, on GitHub by a pull request.

It is opened with the settings of this machine, also for an exploration of a deployment: whoever undoes
something needs a token of their own for it. What `idea serve` wrote to a folder is undone in that folder.
"""

import argparse
import json
import os

from idea_explorer.cli.environment import settings_for
from idea_explorer.cli.remote.client import Remote
from idea_explorer.cli.remote.shown import details_in
from idea_explorer.domain.errors import ConfigurationError, MissingError
from idea_explorer.domain.ids import ExplorationId, decode_time, is_id
from idea_explorer.domain.json import JsonObject
from idea_explorer.domain.request import ExploreRequest
from idea_explorer.domain.text import strip_control_characters
from idea_explorer.ports import Undone
from idea_explorer.settings import Settings
from idea_explorer.usecases.find import find
from idea_explorer.usecases.revert import revert, revert_published
from idea_explorer.wiring import publishing
from idea_explorer.wiring.deps import local_deps
from idea_explorer.wiring.local import cli_log

OWNER = "local"


def run(arguments: argparse.Namespace) -> int:
    settings = settings_for(arguments.research)
    if os.environ.get("IDEA_API_URL") and not _is_kept_here(arguments.id, settings):
        undone = _of_deployment(arguments.id, settings)
    else:
        undone = _of_this_machine(arguments.id, settings)
    if arguments.json:
        print(json.dumps(_as_json(arguments.id, undone), ensure_ascii=False))
    elif arguments.quiet:
        print(undone.url or "\n".join(undone.files))
    else:
        print(strip_control_characters(_in_words(undone)))
    return 0


def _is_kept_here(exploration_id: str, settings: Settings) -> bool:
    if not settings.store.is_file():
        return False
    try:
        find(exploration_id, OWNER, local_deps(settings, cli_log(None)))
    except MissingError:
        return False
    return True


def _of_this_machine(exploration_id: str, settings: Settings) -> Undone:
    deps = local_deps(settings, cli_log(None))
    try:
        exploration = find(exploration_id, OWNER, deps)
    except MissingError:
        if not (settings.uses_github and is_id(exploration_id)):
            raise
        # it ran elsewhere; the commits that carry its id are enough
        known = ExplorationId(exploration_id)
        reverter = publishing.reverter(settings, ExploreRequest(idea=exploration_id))
        return reverter.propose_revert(known, since=decode_time(known))
    return revert(exploration, deps)


def _of_deployment(exploration_id: str, settings: Settings) -> Undone:
    with Remote.from_environment() as remote:
        details = details_in(remote.exploration(exploration_id))
    if details.path and details.links.published is None and not settings.uses_github:
        raise ConfigurationError(
            f"Exploration {details.id} wrote to a folder.",
            hint=f"Undo it there: idea revert {details.id} --research DIR.",
        )
    wrote = ExploreRequest(
        idea=details.idea, toolset="code", repository=details.repository, ref=details.ref
    )
    reverter = publishing.reverter(settings, wrote)
    return revert_published(
        ExplorationId(details.id), details.status, reverter, since=details.created_at
    )


def _as_json(exploration_id: str, undone: Undone) -> JsonObject:
    return {
        "id": exploration_id,
        "new": undone.is_new,
        "url": undone.url,
        "commit": undone.commit,
        "files": list(undone.files),
    }


def _in_words(undone: Undone) -> str:
    files = ", ".join(undone.files)
    if undone.url:
        opened = "Opened a pull request that undoes" if undone.is_new else "Proposed before to undo"
        return f"{undone.url}\n{opened}: {files}"
    return f"{'Undone' if undone.is_new else 'Undone before'}: {files}"
