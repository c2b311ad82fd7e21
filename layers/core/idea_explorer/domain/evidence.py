"""What was read or found, so that every citation can be checked against it."""

import hashlib
from collections.abc import Iterable, Iterator

from pydantic import BaseModel, ConfigDict

from idea_explorer.domain.json import Block, text_of


class Passage(BaseModel):
    """One piece of evidence. `text` is empty where the source keeps it encrypted, as web_search does."""

    model_config = ConfigDict(frozen=True)

    source: str
    title: str = ""
    sha256: str
    text: str = ""
    age: str = ""


def make_passage(source: str, text: str, *, title: str = "") -> Passage:
    sha256 = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return Passage(source=source, title=title, sha256=sha256, text=text)


def parse_search_results(content: Iterable[Block]) -> Iterator[Passage]:
    """The web pages that Anthropic's search found within an answer."""
    for block in content:
        found = block.get("content")
        if block.get("type") != "web_search_tool_result" or not isinstance(found, list):
            continue
        for result in found:
            if isinstance(result, dict) and (url := text_of(result.get("url"))):
                sealed = text_of(result.get("encrypted_content"))
                yield Passage(
                    source=url,
                    title=text_of(result.get("title")),
                    sha256=hashlib.sha256(sealed.encode()).hexdigest(),
                    age=text_of(result.get("page_age")),
                )
