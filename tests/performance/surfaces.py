"""Everything of ours that reads text which strangers wrote, each as a function of one text; and shapes of
text that such functions are slow with.

`make growth` measures how their time grows. tests/unit/project/test_growth.py runs each once, and holds every
regular expression of the package to be named here.
"""

import json
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from functools import partial

from idea_explorer.adapters.documents.process import ChildProcessReader
from idea_explorer.adapters.http import response
from idea_explorer.adapters.music.embedders import LexiconEmbedder
from idea_explorer.adapters.offline.conversation import Conversation
from idea_explorer.adapters.offline.research import research
from idea_explorer.adapters.offline.scripts import answer_question, explain_code
from idea_explorer.adapters.snapshots.ignore_rules import MAX_RULES_BYTES, IgnoreRules
from idea_explorer.agent.prompts import framework
from idea_explorer.cli.columns import wrap
from idea_explorer.cli.prose import lay_out, strip_markup
from idea_explorer.cli.targets.deployment import last_comment, retry_seconds
from idea_explorer.console.markdown import render_report
from idea_explorer.domain import limits
from idea_explorer.domain.addresses import check_webhook_address
from idea_explorer.domain.citations import check_citations
from idea_explorer.domain.commit_text import clean_body, clean_subject
from idea_explorer.domain.dangerous_paths import find_danger
from idea_explorer.domain.diffs import revert_diff, select_hunks, unified_diff
from idea_explorer.domain.documents import add_section, fingerprint, remove_section, render_update
from idea_explorer.domain.encodings import guess_codec
from idea_explorer.domain.errors import ExplorerError
from idea_explorer.domain.file_kinds import FileSample, detect_kind
from idea_explorer.domain.ids import new_id
from idea_explorer.domain.json import JsonObject, document_block, sanitize
from idea_explorer.domain.music import album_key, build_matcher, extract_words, shorten
from idea_explorer.domain.names import check_ref, check_repository_name
from idea_explorer.domain.parsed_documents import parse_document
from idea_explorer.domain.paths import (
    MAX_REPOSITORY_PATH,
    check_repository_path,
    check_research_path,
    encode_name,
)
from idea_explorer.domain.plan import MAX_PLAN_CHARS, parse_plan
from idea_explorer.domain.playlist import add_playlist, parse_playlist, playlist_of
from idea_explorer.domain.private_text import NamedAddresses, find_request_texts
from idea_explorer.domain.publication import find_folders, parse_log
from idea_explorer.domain.redaction import mask_secrets, restore_secrets
from idea_explorer.domain.related_research import describe_document
from idea_explorer.domain.replacements import Replacement, keep_line_ends, replace_in
from idea_explorer.domain.report_links import KnownLinks, remove_unknown_links
from idea_explorer.domain.report_markup import clean_markup
from idea_explorer.domain.report_phrases import translate_phrases
from idea_explorer.domain.report_text import cut_report, find_title, find_verdict, strip_preamble
from idea_explorer.domain.repository_settings import parse_repository_settings
from idea_explorer.domain.retry import parse_retry_after
from idea_explorer.domain.similar_research import Similar, index_document, rank_similar
from idea_explorer.domain.text import (
    escape_markdown,
    fold,
    hash_idea,
    make_printable,
    one_line,
    slug,
    spell_out_signs,
    unescape_markdown,
    unescape_prose,
)
from idea_explorer.domain.tools import Passage, make_passage
from idea_explorer.domain.transcript import Opening
from idea_explorer.domain.verification.batch import cut_excerpt
from idea_explorer.domain.verification.cited import find_cited_sentences
from idea_explorer.domain.verification.evidence import Evidence
from idea_explorer.domain.verification.rules import find_unsupported
from idea_explorer.domain.verification.verbatim import states_sentence
from idea_explorer.ports import ModelRequest, UploadedFile
from idea_explorer.tools.assistant import MAX_EXPRESSION
from idea_explorer.tools.calculator import calculate
from idea_explorer.tools.code.parsing.components import extract_scripts
from idea_explorer.tools.code.parsing.modules import module_segments, path_module, rust_uses
from idea_explorer.tools.code.patterns import MAX_TEXT, glob, line_pattern
from idea_explorer.tools.code.resolving.packages import MAX_JSON_BYTES, strip_comments
from idea_explorer.tools.decoding import decode
from idea_explorer.tools.fulltext import FullText, UploadIndex
from idea_explorer.tools.readable import readable

Surface = Callable[[str], object]

OWN = new_id(0)
DAY = date(2026, 11, 17)
NOW = datetime(2026, 11, 17, tzinfo=UTC)
SENTENCE = (
    'In 2024 Ridely, led by Ada Byron, took 18 % of fares, three in four of them "in the big city".'
)
PASSAGE = "Ridely took 19 % in 2023, Hopp 12 % in 2024, led by Bo Chen and 3 others, respectively."
PAGE = "https://example.org/a/b"
SIMILAR = Similar(path="ideas/a.md", title="a", verdict=None, date=None, score=1.0)


def repeat(unit: str, size: int) -> str:
    return unit * (size // len(unit))


# Repeated until the text is long enough.
UNITS = {
    "comments": "<!--",
    "brackets": "[",
    "escaped brackets": "\\[",
    "link openings": "](",
    "images": "![a](",
    "asterisks": "*a **b ",
    "backticks": "`a ``b ",
    "fences": "```a\n",
    "pipes": "|a",
    "quotes": "> ",
    "hashes": "# a\n",
    "lists": "- 1. ",
    "numbers": "1,",
    "citations": "[1] ",
    "definitions": "[1]: a\n",
    "dashes": "-",
    "spaces": " ",
    "lines": "\n",
    "tags": '<b><a href="x">',
    "ampersands": "&a",
    "words": "tea ",
    "updates": "## Update - 2026-11-17\n",
    "urls": "http://a.b/(",
    "folders": "../",
    "braces": "a{b,",
}
SHAPES: dict[str, Callable[[int], str]] = {
    **{name: partial(repeat, unit) for name, unit in UNITS.items()},
    "letters": lambda size: "a" * size,
    "accents": lambda size: "a" + "\u0315" * (size // 4) + "\u0316" * (size // 4),
    "lone opening": lambda size: "[" + "a" * (size - 1),
}


def read_lines(text: str) -> None:
    """Each kind of line of a response, with an end that makes none of it valid."""
    given = text.encode("latin-1", "replace").replace(b"\n", b" ")
    for begin, pattern in {
        b"HTTP/1.1 200 ": response._STATUS_LINE,
        b"name:": response._HEADER_LINE,
        b"1;": response._CHUNK_LINE,
        b"1": response._CHUNK_LINE,
    }.items():
        pattern.fullmatch(begin + given + b"\0\r\n")


def refuse(call: Surface) -> Surface:
    """The same function, for which a refusal is a good answer."""

    def called(text: str) -> object:
        try:
            return call(text)
        except (ExplorerError, ValueError):
            return None

    return called


def open_with(text: str, passages: Sequence[Passage] = ()) -> Opening:
    return Opening(
        model_id="a",
        system=[],
        tools=[],
        content=[{"type": "text", "text": text}],
        passages=[*passages],
    )


def read_addresses(text: str) -> NamedAddresses:
    named = NamedAddresses()
    named.read([open_with("a", [make_passage(PAGE, text)])])
    return named


def read_links(text: str) -> object:
    known = KnownLinks([make_passage(PAGE, text)], [text])
    return known.may_quote("a"), known.spell("mailto:a@b.example")


def ask(*later: tuple[str, JsonObject], idea: str, tools: Sequence[str] = ()) -> Conversation:
    """A conversation with the offline model."""
    asked: JsonObject = {"type": "text", "text": f"<idea>\n{idea[: limits.MAX_IDEA]}\n</idea>"}
    return Conversation(
        ModelRequest(
            model_id="offline",
            system=[],
            tools=[{"name": name} for name in tools],
            messages=[{"role": r, "content": [b]} for r, b in [("user", asked), *later]],
            max_tokens=1,
            writing=True,
        )
    )


def found(text: str) -> Conversation:
    """The offline model has read the text in a document."""
    call: JsonObject = {"type": "tool_use", "id": "1", "name": "read_research", "input": {}}
    content = json.dumps({"ok": True, "content": text})
    result: JsonObject = {"type": "tool_result", "tool_use_id": "1", "content": content}
    return ask(("assistant", call), ("user", result), idea=text)


def attached(title: str, text: str) -> Conversation:
    """The text is a document for the offline model."""
    return ask(("user", document_block(title, text or "a")), idea="a")


def question(text: str) -> Conversation:
    return ask(idea=text, tools=["calculator", "http_fetch", "list_files"])


SURFACES: dict[str, Surface] = {
    "document": parse_document,
    "front matter": lambda text: parse_document(f"---\n{text}\n---\nbody"),
    "front matter value": lambda text: parse_document(f'---\nidea: "{text}"\n---\nbody'),
    "fingerprint": fingerprint,
    "update section": lambda text: render_update(OWN, DAY, text),
    "add a section": lambda text: add_section(text, "## Update", OWN, set()),
    "remove a section": lambda text: remove_section(text, OWN, set()),
    "citations": lambda text: translate_phrases(check_citations(text, []).text),
    "citations of a list": lambda text: check_citations(
        f"# A\n\n[1] [2]\n\n## Sources\n\n1. {text}\n2. b", []
    ),
    "citations of a definition": lambda text: check_citations(f"[1] [1]\n\n[1]: {text}", []),
    "citations of a link": lambda text: check_citations(f"[a]({text})", []),
    "lines of a response": read_lines,
    "verbatim sentence": lambda text: states_sentence("Tea sells.", f"{text}\nTea sells. {text}"),
    "evidence": lambda text: check_citations(
        "See https://a.b/c.", [make_passage(PAGE, text, title=text)]
    ),
    "verified sentence": lambda text: find_unsupported(text, Evidence([PASSAGE])),
    "verified passage": lambda text: find_unsupported(SENTENCE, Evidence([text])),
    "verified report": lambda text: find_cited_sentences(f"{text} [a](https://a.b/c). {text}"),
    "excerpt": lambda text: cut_excerpt(text, SENTENCE, 1_500),
    "framework": lambda text: framework("business").missing(text),
    "report": lambda text: (strip_preamble(text), find_title(text, "a"), find_verdict(text)),
    "index": lambda text: index_document("ideas/a/research.md", text),
    "similarity": lambda text: rank_similar(
        text, [index_document("ideas/a/research.md", "# Tea a\n\ntea a")], 1, {"tea": 1}
    ),
    "idea": lambda text: (hash_idea(text), slug(text), find_folders(text, ["2026-01-01-a"])),
    "log": refuse(parse_log),
    "page": lambda text: readable(
        text[: limits.MAX_PAGE_BYTES], base_url=PAGE, limit=limits.MAX_PAGE_CHARS
    ),
    "page attribute": lambda text: readable(
        f'<a href="{text[: limits.MAX_PAGE_BYTES]}">a</a>', base_url=PAGE, limit=9_999
    ),
    "page title": lambda text: readable(f"<title>{text}", base_url=PAGE, limit=9_999),
    "decoding": lambda text: decode(text.encode("utf-8", "replace"), html=True),
    "file kind": lambda text: detect_kind(
        FileSample.of("a.txt", text.encode("utf-8", "replace").replace(b"\0", b""))
    ),
    "encodings": lambda text: guess_codec(text.encode("utf-8", "replace") + b"\xe4\xfc"),
    "words of an encoding": lambda text: guess_codec(b"\xe4 " + text.encode("cp1251", "replace")),
    "search": lambda text: FullText([("a", "b", text)]).search("tea a 1 b the", 5),
    "search query": lambda text: FullText([("a", "b", "tea a 1")]).search(text, 5),
    "uploads": lambda text: UploadIndex(
        ChildProcessReader(), [UploadedFile("a.html", text.encode())]
    ).search("tea a", 5),
    "calculator": refuse(lambda text: calculate(text[:MAX_EXPRESSION])),
    "console": render_report,
    "report on a terminal": lambda text: [*lay_out(text, 80)],
    "table on a terminal": lambda text: [*lay_out(text.replace(" ", "|").replace("\n", "\n|"), 80)],
    "excerpt on a terminal": strip_markup,
    "sentence on a terminal": lambda text: wrap(text, 80, rest="      "),
    "text": lambda text: (
        escape_markdown(text),
        unescape_markdown(text),
        unescape_prose(text),
        one_line(text, 100),
        make_printable(text),
        spell_out_signs(text),
        fold(text),
    ),
    "paths": refuse(lambda text: (encode_name(text.encode()), check_research_path(text))),
    "repository path": refuse(check_repository_path),
    "keys in a text": lambda text: (
        restore_secrets(mask_secrets(text), text.encode("utf-8", "surrogatepass")),
        mask_secrets("-----BEGIN PRIVATE KEY-----" + text),
        # a part of it, which is as long as the text where that is all spaces
        mask_secrets("password = " + text[: len(text) // 9].replace(" ", " token = ")),
        mask_secrets("?token=" + text[: len(text) // 7].replace(" ", "&token=")),
        mask_secrets("://" + text[: len(text) // 25].replace(" ", "hooks.slack.com/services/")),
    ),
    "rules of what to ignore": refuse(
        lambda text: IgnoreRules(text.encode("utf-8", "surrogatepass")[:MAX_RULES_BYTES])
    ),
    "settings of a repository": refuse(
        lambda text: parse_repository_settings(text.encode("utf-8", "surrogatepass"))
    ),
    "diff": lambda text: unified_diff("a.md", text, f"b{text}b"),
    "diff taken back": refuse(lambda text: revert_diff(text, f"a\nb\n@@ -1 +1 @@\n{text}\n")),
    "hunks chosen": refuse(lambda text: select_hunks(text, unified_diff("a", "", text), {2})),
    "line ends": lambda text: keep_line_ends(f"a\r\n{text}", f"b{text}"),
    "replacement": lambda text: replace_in(f"{text}§", [Replacement("§", text)]),
    "replacement that is not found": refuse(
        lambda text: replace_in(text, [Replacement("§ nowhere §", text)])
    ),
    "related document": lambda text: (
        describe_document(SIMILAR, text),
        describe_document(SIMILAR, f"# Questions\n\n{text} ⚠ unverified"),
    ),
    "plan": refuse(lambda text: parse_plan(text[:MAX_PLAN_CHARS])),
    "address": refuse(check_webhook_address),
    "JSON": lambda text: sanitize({"a": [text]}),
    "retry-after": lambda text: parse_retry_after({"retry-after": text, "date": text}, NOW),
    "music": lambda text: (
        album_key(text, text),
        build_matcher(extract_words(text))(text),
        shorten(text),
    ),
    "playlist": lambda text: parse_playlist(
        add_playlist(text, playlist_of({"title": text, "tracks": [{"title": text}]}))
    ),
    "music meaning": lambda text: LexiconEmbedder().embed([text], "query"),
    "addresses of a page": read_addresses,
    "markup of a report": lambda text: clean_markup(cut_report(text)),
    "links of a report": lambda text: remove_unknown_links(
        cut_report(text), KnownLinks([make_passage(PAGE, "a https://a.b")], ["https://a.b"])
    ),
    "links of a request": read_links,
    "commit": lambda text: clean_subject(text, 100),
    "pull request": lambda text: clean_body(cut_report(text)),
    "branch": refuse(check_ref),
    "repository": refuse(check_repository_name),
    "danger of a path": lambda text: find_danger(text[:MAX_REPOSITORY_PATH]),
    "events of an API": lambda text: (retry_seconds(text), last_comment(text)),
    "first message": lambda text: find_request_texts(open_with(f"Today is a\n\n<idea>\n{text}")),
    "imports of code": lambda text: (module_segments(text), path_module(text), rust_uses(text)),
    "component of code": lambda text: (
        extract_scripts(text.encode("utf-8", "replace")),
        extract_scripts(f"<script {text}><script>{text}".encode("utf-8", "replace")),
    ),
    "settings of code": lambda text: strip_comments(f'{{"a": "{text}'[:MAX_JSON_BYTES]),
    "pattern for code": refuse(lambda text: line_pattern(text[:MAX_TEXT])),
    "files of code": refuse(lambda text: glob(text[:MAX_TEXT])),
    "offline research": lambda text: research(found(text)),
    "offline findings": lambda text: research(attached("Question 1", text)),
    "offline answer": lambda text: answer_question(question(text)),
    "offline code": lambda text: explain_code(question(text)),
}
