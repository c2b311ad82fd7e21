"""Nothing takes super-linear time in what strangers write. `make growth` measures it; here, nothing hangs,
and every regular expression of the package is known."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import idea_explorer
from tests.performance.growth import MAX_EXPONENT, grow, time_once
from tests.performance.surfaces import SHAPES, SURFACES, Surface

PACKAGE = Path(idea_explorer.__file__).parent
SIZE = 5_000
# In CPU seconds. What takes longer is measured again at two larger sizes, of which the one takes half the
# time of the other if it is linear and a quarter if it is quadratic, on a busy machine as well.
SUSPECT = 0.02
LARGE = 12_000
MAX_RATIO = 3.0


@pytest.mark.long
@pytest.mark.parametrize("surface", SURFACES)
def test_no_shape_of_text_takes_more_than_its_share(surface: str) -> None:
    call = SURFACES[surface]
    suspect = [shape for shape, make in SHAPES.items() if time_once(call, make(SIZE)) > SUSPECT]
    # one measurement may be off; what is slow is slow each time
    assert [shape for shape in suspect if all(_is_slow(call, shape) for _ in range(3))] == []


def _is_slow(call: Surface, shape: str) -> bool:
    large, small = (time_once(call, SHAPES[shape](size)) for size in (LARGE, LARGE // 2))
    return large > MAX_RATIO * small


@pytest.mark.long
def test_what_is_quadratic_is_found() -> None:
    def count(text: str) -> int:
        return len(re.findall("<!--.*?-->", text))

    # one measurement may be off
    curves = (grow(count, "comments", sizes=(5_000, 10_000, 20_000)) for _ in range(3))
    assert any(curve.exponent > MAX_EXPONENT and not curve.passes for curve in curves)


# The patterns by the surface that measures them.
MEASURED = {
    "report on a terminal": "cli.prose.LINK_OR_CODE cli.prose.SOURCE cli.prose.BAR cli.columns.LINE_START",
    "excerpt on a terminal": "cli.prose.HEADING cli.prose.ITEM cli.prose.EMPHASIS_OR_CODE",
    "sentence on a terminal": "cli.columns.PIECE",
    "document": "domain.front_matter._CLOSING domain.front_matter._SIMPLE_LINE",
    "update section": """
        domain.parsed_documents.UPDATE_HEADING domain.documents._HEADING
        domain.markdown._FENCE domain.markdown._ENDS domain.markdown._ENDS_IN_QUOTE
        domain.markdown._ENDS_IN_ITEM domain.markdown._INDENTED domain.markdown._ITEM
    """,
    "citations": """
        domain.citations._MARKS domain.citations._NUMBER domain.links._EVENT domain.links._TICKS
        domain.links.BREAK domain.links._DESTINATION domain.links._NAME domain.links._NUMBERS
        domain.links._ANGLED domain.links._ADDRESS domain.links._TAG domain.links._HREF
        domain.links._DEFINITION domain.links.Link domain.source_lists._PLAIN
        domain.source_lists._NOT_TITLE domain.source_lists._AMBIGUOUS
        domain.report_phrases._TRANSLATED domain.report_phrases._FOUND_IN_ENGLISH
        domain.report_phrases._LINE domain.report_phrases._OWN_LINE
    """,
    "citations of a list": """
        domain.source_entries._OUR_ENTRY domain.source_entries._ANGLED domain.source_entries._PATH
        domain.source_entries._FILE domain.source_entries._CODE_OR_COMMENT
        domain.source_lists._LINE domain.source_lists._MARKER domain.source_lists._LABEL
        domain.sources.NumberedSource
    """,
    "citations of a definition": "domain.links._DEFINED",
    "citations of a link": """
        domain.sources._WEB domain.sources._NO_SOURCE domain.sources._LINES domain.sources._UPWARDS
        domain.sources._TRACKING domain.sources._UNSAFE domain.sources._TAG_LIKE
    """,
    "evidence": "domain.sources._ADDRESS domain.sources._fold_title",
    "verified sentence": """
        domain.verification.rules._QUOTE domain.verification.words._CITATION
        domain.verification.words._LINK domain.verification.words._LINKS_IN_BRACKETS
        domain.verification.words._LINKS_AT_END
        domain.verification.words._ADDRESS
        domain.verification.words._MARKUP domain.verification.words._JOINTS
        domain.verification.substitution._SUBJECT domain.verification.computed._COMPUTES
        domain.verification.computed._REST domain.verification.derivations._OPERATOR
        domain.verification.derivations._BORDER domain.verification.ordinals._IN_DIGITS
        domain.verification.cited_words._CLAUSE domain.verification.cited_words._SPAN
        domain.verification.rivals._WHOLE
    """,
    "verbatim sentence": """
        domain.verification.verbatim._ITEM domain.verification.verbatim._LINE_START
        domain.verification.verbatim._TAKES_BACK
    """,
    "verified passage": """
        domain.verification.words._SENTENCE_END domain.verification.words.TOKEN
        domain.verification.dates._YEAR_BEFORE domain.verification.dates._ISO
        domain.verification.dates._DAY_FIRST domain.verification.dates._MONTH_FIRST
        domain.verification.dates._SLASHED domain.verification.dates._QUARTER
        domain.verification.dates._QUARTER_IN_WORDS domain.verification.dates._SPAN
        domain.verification.dates._HALF
        domain.verification.dates._YEAR domain.verification.numbers._NUMBER
        domain.verification.numbers._JOINED domain.verification.number_words._IN
        domain.verification.number_words._FRACTION
        domain.verification.number_words._POINTS domain.verification.numbers._CURRENCY
        domain.verification.numbers._TABLE_SCALE
        domain.verification.numbers._in_digits domain.verification.dates._DAY_BEFORE
        domain.verification.statements._SENTENCE_END domain.verification.statements._AFTER_NUMBER
        domain.verification.statements._MARKER domain.verification.statements._NEGATION
        domain.verification.statements._JOINS domain.verification.mentions._SEPARATORS
        domain.verification.mentions._EARLIER domain.verification.mentions._FROM
        domain.verification.mentions._TO domain.verification.mentions._RESPECTIVELY
        domain.verification.mentions._LIST_ITEM domain.verification.rivals._PLACE
        domain.verification.rivals._INTERVAL domain.verification.contexts._AGENT
    """,
    "verified report": """
        domain.verification.cited._END domain.verification.cited._VISIBLE
        domain.verification.cited._NUMBERED domain.verification.cited._LAST_WORD
    """,
    "framework": """
        domain.languages._WORD domain.completeness.Framework
        domain.markdown._ATX domain.markdown._SETEXT domain.markdown._BOLD
    """,
    "report": """
        domain.report_text._FIRST_HEADING domain.report_text._TITLE domain.report_text._VERDICT
        domain.report_text._VERDICT_SECTION domain.report_text._VERDICT_LINE
        domain.documents._TITLE_LINE
    """,
    "index": """
        domain.markdown._OPENING domain.terms._WORD domain.terms._CJK
    """,
    "idea": "domain.text.hash_idea",
    "page": """
        tools.readable._MARKUP tools.readable._OPENING tools.readable._BOGUS tools.readable._TAG
        tools.readable._SPACES tools.readable._RAW
    """,
    "page attribute": "tools.readable._HREF tools.readable._Reader",
    "decoding": "tools.decoding._META",
    "file kind": "domain.file_kinds._AFTER_LETTERS",
    "encodings": "domain.encodings._NOT_ASCII domain.encodings._MANY_BYTES",
    "words of an encoding": "domain.encodings._WORD domain.encodings._NEUTRAL",
    "search query": "domain.search_words._WORD",
    "uploads": "tools.fulltext._BREAK",
    "calculator": "tools.calculator._TOKEN",
    "console": """
        console.markdown._COSTLY console.markdown._UNSHOWABLE console.markdown._NUMBERED
        console.markdown._OWN_ANCHOR console.markdown._CLAIM
    """,
    "text": """
        domain.text._SIGNS domain.text._MARKUP domain.text.unescape_markdown
        domain.text._ESCAPED_OR_CODE domain.text._NOT_ASCII
        domain.text._SUSPECT
    """,
    "paths": """
        domain.paths._CONTROL domain.paths._ALLOWED domain.paths._UNPRINTABLE
    """,
    "repository path": """
        domain.paths._INVISIBLE domain.paths._DRIVE
    """,
    "diff taken back": "domain.diffs._HEADER",
    "plan": "domain.plan._MARKER",
    "related document": """
        domain.related_research._SENTENCE_END domain.related_research._ITEM
    """,
    "lines of a response": """
        adapters.http.response._STATUS_LINE adapters.http.response._HEADER_LINE
        adapters.http.response._CHUNK_LINE
    """,
    "address": "domain.addresses._HOST_NAME domain.addresses._NUMBER",
    "retry-after": "domain.retry._SECONDS",
    "music": """
        domain.music._SENTENCE_END domain.music._NOT_A_LETTER domain.music._WORD
        domain.music.build_matcher
    """,
    "music meaning": "adapters.music.embedders._WORD",
    "events of an API": """
        cli.targets.deployment.retry_seconds cli.targets.deployment.last_comment
    """,
    "first message": "domain.private_text._ASKED",
    "addresses of a page": "domain.private_text._LINK_TARGET",
    "links of a request": """
        domain.private_text._WITH_SCHEME domain.private_text._BARE_ADDRESS domain.report_links._MAIL
    """,
    "links of a report": """
        domain.report_links._LINKED domain.report_links._ADDRESS domain.report_links._END
        domain.report_links._LABEL_END domain.report_links._RUN
        domain.report_links._HARMLESS
    """,
    "markup of a report": """
        domain.report_markup._MARKED domain.report_markup._TICKS
        domain.report_markup._IMAGE domain.report_markup._IMAGE_IN_CODE domain.report_markup._TAG
        domain.report_markup._ATTRIBUTES domain.report_markup._ACTIVE domain.report_markup._SPACE
        domain.report_markup._ANGLED_TARGET
        domain.report_markup._IMAGE_OUTSIDE_RUST domain.report_markup._ADDRESSED
        domain.report_markup._HREF domain.report_markup._ALT domain.report_markup._BARE
        domain.report_markup._DESTINATION domain.report_markup._DEFINITION
        domain.report_markup._SPECIAL domain.report_markup._SCHEME domain.report_markup._QUERY
    """,
    "pull request": """
        domain.commit_text._MENTION domain.commit_text._DIRECTIVE domain.commit_text._TRAILER
        domain.commit_text._MARKUP domain.commit_text._FENCE domain.commit_text._CLOSING_FENCE
    """,
    "branch": "domain.names._REF_RULES",
    "repository": "domain.names._OWNER domain.names._REPOSITORY",
    "danger of a path": "domain.dangerous_paths._compile",
    "keys in a text": """
        domain.redaction._MASK domain.redaction._token domain.redaction._IN_ADDRESS
        domain.redaction._QUOTED domain.redaction._BARE domain.redaction._BASE64
        domain.redaction._IN_HOOK domain.redaction._IN_QUERY
    """,
    "rules of what to ignore": "adapters.snapshots.ignore_rules._PIECE",
    "imports of code": """
        tools.code.parsing.modules._ENDINGS tools.code.parsing.modules._FOLDER_FILE
        tools.code.parsing.modules._RUST_MODULE tools.code.parsing.modules._UPWARDS
    """,
    "pattern for code": """
        tools.code.patterns._TOKEN tools.code.pattern_size._TOKEN
        tools.code.pattern_size._IGNORES_CASE tools.code.pattern_size._IN_SET
        tools.code.word_classes._IN_SET tools.code.word_classes._WORD_TOKEN
        tools.code.word_classes._FLAGS
    """,
    "component of code": """
        tools.code.parsing.components._SCRIPT tools.code.parsing.components._END
        tools.code.parsing.components._LANGUAGE tools.code.parsing.components._NOT_LINE
    """,
    "settings of code": "tools.code.resolving.packages._JSONC",
    "files of code": "tools.code.patterns._GLOB_TOKEN",
    "offline research": "adapters.offline.research._MARKUP",
    "offline findings": "adapters.offline.research._FINDING",
    "offline answer": """
        adapters.offline.conversation._WORD adapters.offline.scripts._URL
        adapters.offline.scripts._SUM adapters.offline.scripts._ACRONYM
        adapters.offline.scripts._THOUSANDS adapters.offline.scripts._to_expression
    """,
    "offline code": """
        adapters.offline.scripts._NAME adapters.offline.changes._REPLACE
        adapters.offline.changes._CREATE
    """,
}
OURS = "reads only what this package wrote"
FIXED = "reads a fixed number of characters from each place"
SHORT = "its text was checked to be short"
NOT_MEASURED = {
    "adapters.aws.queue.UNSENDABLE": FIXED,
    "adapters.claude.lazy_sdk._ALL": "reads the source of an installed library",
    "adapters.claude.lazy_sdk._IMPORT": "reads the source of an installed library",
    "adapters.claude.lazy_sdk._REST": "reads the source of an installed library",
    "adapters.checks.commands._COLOURS": "reads the last 64 KB, and each of its bytes once",
    "adapters.dynamodb.table.Table": OURS,
    "adapters.github.revert._REVERTS": FIXED,
    "adapters.offline.changes._replace_everywhere": FIXED,
    "adapters.http.public._CHARSET": "a header, which the HTTP client bounds",
    "adapters.http.response.HEADER_VALUE": "reads a header of ours, and each of its bytes once",
    "adapters.http.response.TOKEN": "reads a header of ours, and each of its bytes once",
    "adapters.http.response._LENGTH": FIXED,
    "adapters.music.embedders._CONCEPT": OURS,
    "adapters.records._TIME": FIXED,
    "adapters.snapshots.cache._SHA": FIXED,
    "agent.prompts._FRONT_MATTER": OURS,
    "agent.prompts._PLACEHOLDER": OURS,
    "api.events._NUMBER": FIXED,
    "api.heads._AMBIGUOUS": FIXED,
    "api.hosts._HOST": "a header, which the server bounds",
    "cli.arguments.SUFFIX": FIXED,
    "console.assets._NAME": SHORT,
    "adapters.music.tidal_documents._DURATION": SHORT,
    "domain.approvals._ADDRESS": SHORT,
    "domain.front_matter._DATE": FIXED,
    "domain.front_matter._PLAIN": FIXED,
    "domain.ids._FILE_ID": FIXED,
    "domain.ids._FILE_NAME": SHORT,
    "domain.ids._SHAPE": FIXED,
    "domain.music._ISRC": FIXED,
    "domain.music._TIDAL_ADDRESS": SHORT,
    "domain.publication.ResearchFolder": FIXED,
    "domain.publication._DAY": FIXED,
    "domain.publication._NUMBER": FIXED,
    "domain.publication._SURROGATE": FIXED,
    "domain.document_fields._DATED": "a path, whose length the file system bounds",
    "domain.tokens._HASH": FIXED,
    "domain.tokens._OWNER": FIXED,
    "observability.spans._TRACE_HEADER": FIXED,
    "tools.code.parsing.treesitter._MODIFIERS": FIXED,
    "tools.code.symbol_search._SEPARATOR": FIXED,
    "tools.decoding._KNOWN": SHORT,
}


COMPILERS = {"domain.patterns", "startup.code_cache"}  # of patterns that others have written


def find_patterns() -> Iterator[str]:
    """Every statement of a module that uses `re` or `lazy_pattern`, by its name."""
    for file in sorted(PACKAGE.rglob("*.py")):
        module = ".".join(file.relative_to(PACKAGE).with_suffix("").parts)
        text = file.read_text("utf-8")
        if not re.search(r"\b(re|lazy_pattern)\b", text):
            continue  # before a walk through all its nodes
        for statement in ast.parse(text).body:
            if module not in COMPILERS and any(_uses_re(n) for n in ast.walk(statement)):
                yield f"{module.removesuffix('.__init__')}.{_name(statement)}"


def _uses_re(node: ast.AST) -> bool:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return node.func.id == "lazy_pattern"
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    module = node.func.value
    return isinstance(module, ast.Name) and module.id == "re" and node.func.attr != "escape"


def test_only_patterns_that_are_written_in_our_code_are_kept() -> None:
    """What people search for would fill the file of compiled code, and is nobody else's business."""
    within_functions = {
        f"{'.'.join(file.relative_to(PACKAGE).with_suffix('').parts)}.{getattr(function, 'name', '')}"
        for file in PACKAGE.rglob("*.py")
        if "lazy_pattern" in (text := file.read_text("utf-8"))
        for function in ast.walk(ast.parse(text))
        if isinstance(function, ast.FunctionDef | ast.Lambda)
        for node in ast.walk(function)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "lazy_pattern"
    }

    # called with patterns of its module while that is loaded
    assert within_functions == {"domain.redaction._token"}


def _name(statement: ast.stmt) -> str:
    if isinstance(statement, ast.Assign):
        (target,) = statement.targets
        assert isinstance(target, ast.Name)
        return target.id
    assert isinstance(statement, ast.FunctionDef | ast.ClassDef), ast.unparse(statement)
    return statement.name


def test_every_pattern_is_measured_or_cannot_be_slow() -> None:
    measured = [name for names in MEASURED.values() for name in names.split()]

    assert MEASURED.keys() <= SURFACES.keys()
    assert len(measured) == len(set(measured))
    found, known = set(find_patterns()), {*measured, *NOT_MEASURED}
    assert found - known == set()
    assert known - found == set()
