"""What a query captured, as text. How much of what a stranger wrote is looked at for one symbol is bounded: a
file may be a single line of a megabyte."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node

Captures = dict[str, list["Node"]]
MAX_NAME = 400
MAX_LINE = 1_600  # four times what is shown, in bytes


def first_text(captures: Captures, name: str, source: bytes, most: int = MAX_NAME) -> str:
    nodes = captures.get(name)
    return text_of(nodes[0], source, most) if nodes else ""


def text_of(node: "Node", source: bytes, most: int = MAX_NAME) -> str:
    """The beginning of a node's text: nodes of nested code would repeat all that is inside."""
    end = min(node.end_byte, node.start_byte + most)
    return source[node.start_byte : end].decode("utf-8", "replace")


def line_start(source: bytes, at: int, most: int) -> int | None:
    """Where the line begins; None if that is more than `most` bytes before."""
    first = max(at - most - 1, 0)
    found = source.rfind(b"\n", first, at)
    return None if found < 0 and first else found + 1


def line_end(source: bytes, start: int) -> int:
    """Where the line ends, or its part that is looked at."""
    found = source.find(b"\n", start, start + MAX_LINE)
    return found if found >= 0 else start + MAX_LINE
