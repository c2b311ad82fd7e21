"""Similar research, shown before money is spent. A person at a terminal is asked, a script never."""

import sys
from collections.abc import Callable
from dataclasses import dataclass

from idea_explorer.domain.publication import hash_idea
from idea_explorer.domain.request import ExploreRequest
from idea_explorer.domain.similar_research import Index, IndexEntry, Similar, find_similar
from idea_explorer.domain.text import one_line, strip_control_characters

SHOWN = 3


@dataclass(frozen=True, slots=True)
class Choice:
    """What a person decided: a request to run, or a document to read instead, or neither."""

    request: ExploreRequest | None = None
    document: str | None = None


def is_open(request: ExploreRequest, *, if_exists_given: bool) -> bool:
    """Whether the request leaves open what to do with research that is there already."""
    decided = request.update or request.continue_from or if_exists_given
    return request.spec.publishes_documents and not decided


def consider(
    request: ExploreRequest,
    index: Index,
    *,
    tell: Callable[[str], None],
    ask: Callable[[str], str] | None,
) -> Choice:
    """Show what is similar; where there is somebody to ask, let them choose."""
    found = find_similar(request.idea, index)[:SHOWN]
    if not found:
        return Choice(request)
    tell("Similar research is there already:")
    for hit in found:
        tell(f"  {_line(hit)}")
    if ask is None:
        return Choice(request)
    nearest = next(entry for entry in index.entries if entry.path == found[0].path)
    options = _options(request, nearest)
    while True:
        answer = ask(_question(options)).strip().lower()[:1] or "y"
        if answer in options:
            return options[answer][1]
        tell(f"Please answer with one of: {', '.join(options)}.")


def ask_at_terminal() -> Callable[[str], str] | None:
    """A way to ask, or None where nobody would answer."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return None

    def ask(question: str) -> str:
        print(question, end="", file=sys.stderr, flush=True)
        line = sys.stdin.readline()
        return line or "q"  # the end of the input is no consent

    return ask


def _options(request: ExploreRequest, nearest: IndexEntry) -> dict[str, tuple[str, Choice]]:
    options = {
        "y": ("run it all the same", Choice(request)),
        "r": ("read the first instead", Choice(document=nearest.path)),
    }
    if nearest.idea_key == hash_idea(request.idea):
        updated = request.model_copy(update={"update": True})
        options["u"] = ("update the first", Choice(updated))
    if nearest.exploration_id:
        followed = request.model_copy(update={"continue_from": nearest.exploration_id})
        options["f"] = ("follow up on the first", Choice(followed))
    return options | {"q": ("quit", Choice())}


def _question(options: dict[str, tuple[str, Choice]]) -> str:
    named = ", ".join(f"[{key}] {name}" for key, (name, _) in options.items())
    return f"{named}? "


def _line(hit: Similar) -> str:
    """One line of a document's own words, which may hold anything, without what steers a terminal."""
    facts = [hit.date or "", hit.verdict or "", f"{hit.score:.0%}"]
    text = f"{one_line(hit.title, 80)} · {' · '.join(fact for fact in facts if fact)} · {hit.path}"
    return strip_control_characters(text)
