"""Which files the symbol index does not know. They are named, so that nothing found is not taken for nothing
there."""

from collections import Counter

from idea_explorer.tools.code.parsing import UNPARSED, grammar_of, language_of
from idea_explorer.tools.code.parsing.treesitter import MAX_SOURCE
from idea_explorer.tools.code.repository_tree import RepositoryTree

MAX_EXAMPLES = 5


def has_no_index(path: str) -> bool:
    """Whether a path is one of source code for which there is no parser."""
    return language_of(path.strip()) in UNPARSED


def describe_unindexed(tree: RepositoryTree) -> list[str]:
    """A sentence for each kind of source files without symbols."""
    endings: Counter[str] = Counter()
    large: list[str] = []
    long: list[str] = []
    for entry in tree.entries_below(""):
        if grammar_of(entry.path):
            if entry.content == "large":
                large.append(entry.path)
            elif entry.content == "text" and entry.size > MAX_SOURCE:
                long.append(entry.path)
        elif entry.content == "text" and has_no_index(entry.path):
            endings[f".{entry.name.rpartition('.')[2]}"] += 1
    said = [f"no index for {ending} files ({count})" for ending, count in endings.most_common()]
    if large:
        said.append(f"too large to index: {_examples(large)}")
    if long:
        said.append(f"indexed only in their first {MAX_SOURCE:,} bytes: {_examples(long)}")
    return said


def _examples(paths: list[str]) -> str:
    more = len(paths) - MAX_EXAMPLES
    return ", ".join(paths[:MAX_EXAMPLES]) + (f" and {more} more" if more > 0 else "")
