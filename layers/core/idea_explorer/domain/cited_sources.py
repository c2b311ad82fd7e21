"""Where the citations of an answer lead.

Citations of web_search name an address, and those of `search_result` blocks the source that we gave. Those of
documents, which are attached or fetched by web_fetch, only number the documents of the conversation.
"""

from collections.abc import Iterator, Sequence

from idea_explorer.domain.dataclass import dataclass
from idea_explorer.domain.json import Block, JsonObject, citations_of, document_text, text_of
from idea_explorer.domain.tools import parse_search_results

IN_SEARCH_RESULT = "search_result_location"


@dataclass(frozen=True, slots=True)
class CitedDocument:
    """A document that can be cited. `source` is empty where it has no address and no path."""

    source: str
    title: str
    text: str


def list_documents(blocks: Sequence[Block], paths: set[str]) -> Iterator[CitedDocument]:
    """The documents among some blocks. `paths` are those of the documents that were attached."""
    for block in blocks:
        if block.get("type") == "document":
            title = text_of(block.get("title"))
            source = next((path for path in paths if path.endswith(f"/{title}")), "")
            yield CitedDocument(source, title, document_text(block))
        for page in parse_search_results([block]) if _is_page(block) else ():
            yield CitedDocument(page.source, page.title, page.text)


def _is_page(block: Block) -> bool:
    return block.get("type") == "web_fetch_tool_result"


def find_target(citation: JsonObject, documents: Sequence[CitedDocument] = ()) -> str:
    """The address or path that a citation leads to; "" if there is none. A document that does not have
    the cited text is not the one that is meant, whatever its number says."""
    if url := text_of(citation.get("url")):
        return url if url.startswith(("https://", "http://")) else ""
    if citation.get("type") == IN_SEARCH_RESULT:
        return text_of(citation.get("source"))
    number, words = citation.get("document_index"), text_of(citation.get("cited_text"))
    if not isinstance(number, int):
        return ""
    numbered = [documents[number]] if 0 <= number < len(documents) else []
    for document in [*numbered, *documents]:
        if words and words in document.text:
            return document.source
    # the text of a PDF is not known
    return numbered[0].source if numbered and not numbered[0].text else ""


def read_citations(
    block: Block, documents: Sequence[CitedDocument] = ()
) -> Iterator[tuple[str, str]]:
    """The target and the cited text of each citation that leads somewhere."""
    for citation in citations_of(block):
        if target := find_target(citation, documents):
            yield target, text_of(citation.get("cited_text"))
