"""Evidence: what a run read or found, to check citations against."""

from collections.abc import Iterable, Iterator

from pydantic import BaseModel, ConfigDict

from idea_explorer.domain.json import Block, text_of
from idea_explorer.domain.text import hash_text


class Passage(BaseModel):
    """One piece of evidence. `text` is empty for results of web_search, whose content is encrypted."""

    model_config = ConfigDict(frozen=True)

    source: str
    title: str = ""
    sha256: str
    text: str = ""
    age: str = ""


def make_passage(source: str, text: str, *, title: str = "") -> Passage:
    return Passage(source=source, title=title, sha256=hash_text(text), text=text)


def parse_search_results(content: Iterable[Block]) -> Iterator[Passage]:
    """The web pages that Anthropic's web_search found during an answer."""
    for block in content:
        found = block.get("content")
        if block.get("type") != "web_search_tool_result" or not isinstance(found, list):
            continue
        for result in found:
            if isinstance(result, dict) and (url := text_of(result.get("url"))):
                yield Passage(
                    source=url,
                    title=text_of(result.get("title")),
                    sha256=hash_text(text_of(result.get("encrypted_content"))),
                    age=text_of(result.get("page_age")),
                )
