"""What a renderer that lets all HTML through makes of a report."""

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from html.parser import HTMLParser

from markdown_it import MarkdownIt

# what the renderer itself writes
_OWN = {"a": {"href", "title"}, "code": {"class"}, "ol": {"start"}}
_MARKDOWN = MarkdownIt("commonmark", {"html": True})
_OUTWARD = re.compile(r"(?i)[a-z][a-z0-9+-]*:(?!\d{1,6}(?:[-:]\d{1,6})?(?:[?#]|\Z))|[/\\]{2}|www\.")


@dataclass
class Renderer:
    """How long rendering took in all: it is no part of the product."""

    seconds: float = 0.0


renderer = Renderer()


def expect_inert(markdown: str, knows: Callable[[str], bool] | None = None) -> None:
    """Fail at an image, at an attribute that a report must not have, and at a link that `knows` refuses."""
    began = time.process_time()
    rendered = _MARKDOWN.render(markdown)
    renderer.seconds += time.process_time() - began
    reader = _Reader(knows)
    reader.feed(rendered)
    reader.close()


class _Reader(HTMLParser):
    def __init__(self, knows: Callable[[str], bool] | None) -> None:
        super().__init__()
        self._knows = knows

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag not in {"img", "image", "script", "style"}, f"<{tag}> in a report"
        if ":" in tag:
            return  # an address in angle brackets, among HTML
        for name, value in attrs:
            assert name in _OWN.get(tag, ()), f"<{tag} {name}={value!r}> in a report"
            if name == "href" and self._knows and _OUTWARD.match(value or ""):
                assert self._knows(value or ""), f"a link to {value!r}"
