"""Similar research, shown before money is spent. A person at a terminal is asked, a script never."""

import sys
from collections.abc import Callable
from dataclasses import dataclass

from idea_explorer.cli.columns import columns_of, wrap
from idea_explorer.domain.request import ExploreRequest
from idea_explorer.domain.similar_research import IndexEntry, Similar
from idea_explorer.domain.text import hash_idea, one_line
from idea_explorer.ports import ResearchIndex

MAX_HITS = 3
Ask = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class Choice:
    """A request to run, or a document to read instead, or neither."""

    request: ExploreRequest | None = None
    document: str | None = None


def is_undecided(request: ExploreRequest, *, if_exists_given: bool) -> bool:
    """Whether the request leaves open what to do about existing research."""
    decided = request.update or request.continue_from or if_exists_given
    return request.spec.publishes_documents and not decided


def offer_similar(
    request: ExploreRequest,
    index: ResearchIndex,
    *,
    show: Callable[[str], None],
    ask: Ask | None,
    locate: Callable[[str], str] = str,
) -> Choice:
    """Show similar research; with `ask`, let a person choose what to do about it. `locate` gives the path
    of a document as the person knows it."""
    found = index.find_similar(request.idea)
    hits = found[:MAX_HITS]
    if not hits:
        return Choice(request)
    show("Similar research already exists:")
    for number, hit in enumerate(hits, start=1):
        for line in _format_hit(number, hit, locate(hit.path)):
            show(line)
    if len(found) > len(hits):
        show(f"     … and {len(found) - len(hits)} more")
    if ask is None:
        return Choice(request)
    options = _options(request, hits[0].path, index.find_document(hits[0].path))
    show("What do you want to do?")
    for key, (text, _) in options.items():
        show(f"  {key}  {text}")
    while True:
        answer = ask("Your choice [y]: ").strip().lower()[:1] or "y"
        if answer in options:
            return options[answer][1]
        show(f"Please answer with one of: {', '.join(options)}.")


def ask_at_terminal() -> Ask | None:
    """None where nobody would answer."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return None

    def ask(question: str) -> str:
        print(question, end="", file=sys.stderr, flush=True)
        line = sys.stdin.readline()
        return line or "q"  # the end of the input is not consent

    return ask


def _options(
    request: ExploreRequest, path: str, nearest: IndexEntry | None
) -> dict[str, tuple[str, Choice]]:
    options = {
        "y": ("run a new exploration anyway", Choice(request)),
        "r": ("read 1 instead: print its path and quit", Choice(document=path)),
    }
    if nearest and nearest.idea_key == hash_idea(request.idea):
        updated = request.model_copy(update={"update": True})
        options["u"] = ("update 1: append new findings to it", Choice(updated))
    if nearest and nearest.exploration_id:
        continued = request.model_copy(update={"continue_from": nearest.exploration_id})
        options["f"] = ("follow up on 1 in a new document", Choice(continued))
    return options | {"q": ("quit", Choice())}


def _format_hit(number: int, hit: Similar, path: str) -> list[str]:
    """A document's own words may hold anything; they are wrapped as they will be shown."""
    facts = ", ".join(filter(None, (hit.date, hit.verdict, f"{hit.score:.0%} similar")))
    has_title = hit.title != hit.path
    title = hit.title if has_title else path
    text = f"{one_line(title, 80)} ({one_line(facts, 100)})"
    lines = wrap(text, columns_of(sys.stderr), f"  {number}  ", " " * 5)
    return [*lines, *([f"     {path}"] if has_title else [])]
