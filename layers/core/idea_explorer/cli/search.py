"""`idea search`: the team's research that has these words."""

import argparse

from idea_explorer.cli.columns import wrap
from idea_explorer.cli.output import print_json, terminal_width
from idea_explorer.cli.streams import warn
from idea_explorer.cli.targets import choose_target
from idea_explorer.domain.errors import InvalidRequestError
from idea_explorer.domain.json import JsonObject, text_of
from idea_explorer.domain.search_words import MAX_CHARACTERS
from idea_explorer.domain.text import one_line, unescape_prose

MAX_RESULTS = 20
EXCERPT = 240


def run(arguments: argparse.Namespace) -> int:
    words = " ".join(arguments.words)
    if not 1 <= arguments.limit <= MAX_RESULTS:
        raise InvalidRequestError(f"--limit must be between 1 and {MAX_RESULTS}.")
    if not words.strip() or len(words) > MAX_CHARACTERS:
        raise InvalidRequestError(f"Search for words, at most {MAX_CHARACTERS} characters of them.")
    found = choose_target(arguments).search(words, arguments.limit)
    if arguments.json:
        print_json(found)
        return 0
    listed = found["results"]
    results = [hit for hit in listed if isinstance(hit, dict)] if isinstance(listed, list) else []
    for hit in results:
        if arguments.quiet:
            print(text_of(hit.get("path")))
        else:
            print("\n".join(_format_hit(hit)))
    total = found.get("totalFound", len(results))
    if not results:
        asked = "every word of" if len(words.split()) > 1 else "the word"
        warn(f"No document has {asked}: {one_line(words, 80)}")
    elif isinstance(total, int) and total > len(results) and not arguments.quiet:
        is_all = len(results) >= MAX_RESULTS
        how = "Add a word to find fewer." if is_all else f"See more with --limit {MAX_RESULTS}."
        warn(f"… and {total - len(results):,} more. {how}")
    return 0


def _format_hit(hit: JsonObject) -> list[str]:
    """A document's words may hold anything; they are wrapped as they will be shown."""
    facts = ", ".join(filter(None, (text_of(hit.get("date")), text_of(hit.get("verdict")))))
    title = unescape_prose(one_line(text_of(hit.get("title")), 100))
    excerpt = unescape_prose(one_line(text_of(hit.get("excerpt")), EXCERPT))
    head = f"{title} ({facts})" if facts else title
    lines = [*wrap(head, terminal_width(), rest="  "), f"    {text_of(hit.get('path'))}"]
    if excerpt:
        lines += wrap(excerpt, terminal_width(), "    ", "    ")
    return lines
