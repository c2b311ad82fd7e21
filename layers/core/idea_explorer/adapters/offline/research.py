"""The offline script for research: list and search, read the best three, write the framework."""

from collections import Counter
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass
from urllib.parse import quote, unquote

from idea_explorer.adapters.offline.conversation import NOTICE, Conversation, ToolUse, Turn
from idea_explorer.domain.json import JsonObject, text_of
from idea_explorer.domain.parsed_documents import parse_document
from idea_explorer.domain.patterns import lazy_pattern
from idea_explorer.domain.plan import REJECTED, WRITE_PLAN
from idea_explorer.domain.report_text import FINDINGS, find_title, find_verdict
from idea_explorer.domain.text import escape_markdown, one_line, pluralize, unescape_markdown
from idea_explorer.domain.verification.cited import find_sentences

DOCUMENTS_READ = 3
PLANNED = 4  # questions, as many as a deep exploration has branches
UNKNOWN = "a common angle; nothing was read that speaks for or against it"
FINDINGS_PER_SECTION = 3
FINDINGS_PER_QUESTION = 12  # as the prompt of a branch asks for
BEGINNING = f"# {FINDINGS}"  # with which that prompt has a branch begin
QUESTION = "Question"  # the title of its question, and with a number, of the findings on it
NOTHING = "Nothing in the material read is about this; it has to be researched."
MAX_SUBJECT = 60  # characters of the idea in a heading
MIN_SENTENCE, MAX_SENTENCE = 30, 400  # characters, so that `_MARKUP` sees only short texts
ENDS = (".", "!", "?", "…")
_FINDING = lazy_pattern(r"- (.{1,400}) \(\[(.{1,300})\]\(\.\./([^()\s]{1,600})\)\)")
_MARKUP = lazy_pattern(r"^(?:[#>*\-|\s]|\d+[.)]\s)+|[*_`]+|\[([^\]]*)\]\([^)]*\)")

# Sections that say how a report was made, and what to do next.
ABOUT_ITSELF = frozenset({"Evidence", "Sources", "First steps", "Verdict"})
# Each section of the framework, and the words that assign earlier findings to it.
BUSINESS = {
    "Problem": "problem need pain struggle hard lack cost waste lose difficult",
    "Market": "market customers segment price revenue million share growth TAM SAM SOM spend",
    "Use cases and personas": "persona user beginner household team buyer uses member subscriber",
    "Feasibility": "cost margin supplier build logistics risk capacity licence season shipping",
}
EXPLORATION = {
    "First principles": "because principle essential fundamentally always people need",
    "Unexpected connections": "similar like shared community also connect together",
    "Questions worth answering": "unknown question whether open assume unclear test",
}


@dataclass(frozen=True, slots=True)
class Source:
    path: str
    title: str
    findings: tuple[str, ...]
    verdict: str | None

    @property
    def link(self) -> str:
        return f"[{escape_markdown(self.title)}](../{quote(self.path)})"


def research(conversation: Conversation) -> Turn:
    if WRITE_PLAN in conversation.tools and not conversation.answered(WRITE_PLAN):
        return Turn("First, the plan.", (ToolUse(WRITE_PLAN, _plan(conversation)),))
    calls = [
        ToolUse("list_research", {}),
        ToolUse(
            "search_research", {"query": " ".join(conversation.words) or conversation.idea[:200]}
        ),
    ]
    wanted = [call for call in calls if call.name in conversation.tools]
    if wanted and not any(result.name != WRITE_PLAN for result in conversation.results):
        return Turn("First, what the team already knows.", tuple(wanted))
    unread = _unread(conversation) if "read_research" in conversation.tools else []
    if unread:
        reads = tuple(ToolUse("read_research", {"path": path}) for path in unread)
        return Turn("Reading the closest earlier research.", reads)
    return Turn(_report(conversation))


def _plan(conversation: Conversation) -> JsonObject:
    """One question per section of the framework, and one for each reason that a person rejected it for."""
    subject = one_line(conversation.idea, 200)
    tool = "search_research" if "search_research" in conversation.tools else "web_search"
    sections = BUSINESS if "## Verdict" in conversation.system else EXPLORATION
    failed = [text_of(result.payload.get("message")) for result in conversation.failed()]
    reasons = [message.partition(f"{REJECTED}: ")[2] for message in failed]
    asked = [*(one_line(reason, 300) for reason in reasons if reason), *sections][:PLANNED]
    return {
        "must_know": [f"What is known about: {subject}"],
        "sub_questions": [
            {"question": f"{about}: what does earlier research say?", "tool": tool, "why": about}
            for about in asked
        ],
        "known": [],
        "would_turn": ["Earlier research of the team that came to another verdict"],
    }


def _unread(conversation: Conversation) -> list[str]:
    if any(result.name == "read_research" for result in conversation.results):
        return []
    found = [
        text_of(hit.get("path"))
        for result in conversation.answered("search_research")
        if isinstance(hits := result.payload.get("results"), list)
        for hit in hits
        if isinstance(hit, dict)
    ]
    return [path for path in dict.fromkeys(found) if path.endswith(".md")][:DOCUMENTS_READ]


def _report(conversation: Conversation) -> str:
    sources = _sources(conversation) or _sources_of_findings(conversation)
    if "### What changed" in conversation.first:
        return _update(conversation, sources)
    if f"`{BEGINNING}`" in conversation.system:
        return _answer_question(conversation, sources)
    business = "## Verdict" in conversation.system
    title = one_line(conversation.idea, 100)
    parts = [f"# {title}", NOTICE, _basis(conversation, sources)]
    said: set[str] = set()
    for name, words in (BUSINESS if business else EXPLORATION).items():
        found = _choose(sources, words.split(), conversation.words, said)[:FINDINGS_PER_SECTION]
        said.update(sentence for sentence, _ in found)
        parts.append(f"## {name}\n\n{_list(found) or NOTHING}")
    if business:
        parts.append(_verdict(sources))
    else:
        parts.insert(4, _directions(sources, conversation.idea))
    return "\n\n".join(parts)


def _answer_question(conversation: Conversation, sources: list[Source]) -> str:
    """What a branch of a deep run writes: findings, in the form in which they are read again below."""
    question = next((text for title, text in conversation.documents if title == QUESTION), "")
    about = {**BUSINESS, **EXPLORATION}.get(question.partition(":")[0], question)
    found = _choose(sources, about.split(), conversation.words, set())[:FINDINGS_PER_QUESTION]
    missing = "Nothing." if found else NOTHING
    return f"{BEGINNING}\n\n{_list(found)}\n\n## Not found\n\n{missing}"


def _sources_of_findings(conversation: Conversation) -> list[Source]:
    """Those that the branches of a deep run cite, with what they say of them."""
    said: dict[tuple[str, str], dict[str, None]] = {}
    for title, text in conversation.documents:
        if title.startswith(f"{QUESTION} "):
            for line in text.splitlines():
                if found := _FINDING.fullmatch(line):
                    said.setdefault((unquote(found[3]), found[2]), {})[found[1]] = None
    return [
        Source(path, unescape_markdown(title), tuple(findings), None)
        for (path, title), findings in said.items()
    ]


def _update(conversation: Conversation, sources: list[Source]) -> str:
    """The section that an update asks for, instead of a report."""
    verdict = find_verdict(conversation.document)
    closing = (
        f"### Verdict\n\n**{verdict}**, as before: no model judged the idea again."
        if verdict
        else "### Next\n\nRun this update again with a model."
    )
    return (
        f"### What changed\n\n{NOTICE}\n\n{_basis(conversation, sources)}\n\n"
        f"### What it means\n\nThe findings above stand as they are.\n\n{closing}"
    )


def _sources(conversation: Conversation) -> list[Source]:
    sources = []
    for result in conversation.answered("read_research"):
        text = text_of(result.payload.get("content"))
        path = text_of(result.input.get("path"))
        body = parse_document(text).body
        findings = tuple(_list_findings(body))
        sources.append(Source(path, find_title(body, path), findings, find_verdict(body)))
    return sources


def _basis(conversation: Conversation, sources: list[Source]) -> str:
    if not sources:
        return (
            "No earlier research on this subject was found, and the offline model cannot search the"
            " web. The sections below are therefore a frame to fill in, not findings."
        )
    failed = len(conversation.failed())
    verb = "was" if failed == 1 else "were"
    note = f"\n\n{pluralize(failed, 'look-up')} failed and {verb} left out." if failed else ""
    listed = "\n".join(f"- {source.link}" for source in sources)
    return f"Built on earlier research of the team:\n\n{listed}{note}"


def _choose(
    sources: list[Source], section: list[str], idea: list[str], said: Container[str]
) -> list[tuple[str, Source]]:
    """The sentences about a section, the best first, without those that were said in another."""
    best = sorted(_scored(sources, section, idea), key=lambda scored: -scored[0])
    # reports repeat each other; the first that says it is the source
    by_sentence = {sentence: source for _, sentence, source in reversed(best)}
    ranked = dict.fromkeys(sentence for _, sentence, _ in best)
    return [(sentence, by_sentence[sentence]) for sentence in ranked if sentence not in said]


def _list(found: Iterable[tuple[str, Source]]) -> str:
    return "\n".join(f"- {sentence} ({source.link})" for sentence, source in found)


def _scored(
    sources: list[Source], section: list[str], idea: list[str]
) -> Iterable[tuple[int, str, Source]]:
    for source in sources:
        for sentence in source.findings:
            lowered = sentence.lower()
            about = sum(word.lower() in lowered for word in section)
            if about:
                yield 3 * about + 2 * sum(word in lowered for word in idea), sentence, source


def _list_findings(text: str) -> Iterator[str]:
    """The whole sentences that may say something about the subject, without markup and citations."""
    for found in find_sentences(_select_findings(text)):
        said, cites, cited = found.text.rpartition(" ([")
        raw = said if cites and cited.endswith("))") else found.text
        if MIN_SENTENCE <= len(raw) <= MAX_SENTENCE:
            sentence = " ".join(_MARKUP.sub(r"\1", raw).split())
            if sentence.rstrip("\"'”’»)").endswith(ENDS):
                yield sentence


def _select_findings(text: str) -> str:
    """The text without tables, quotations, headings, and what a report says about itself."""
    lines: list[str] = []
    skipped = False
    for line in text.splitlines():
        if line.startswith("#"):
            skipped = line.strip("# ") in ABOUT_ITSELF
        left_out = skipped or line.startswith(("#", ">", "|"))
        lines.append("" if left_out else line)
    return "\n".join(lines)


def _verdict(sources: list[Source]) -> str:
    """The most common verdict on related ideas, labelled as such; none if there is no related research."""
    verdicts = Counter(source.verdict for source in sources if source.verdict)
    if verdicts:
        verdict, count = verdicts.most_common(1)[0]
        line = f"**Verdict: {verdict}**, repeated from earlier research: no model judged this idea."
        why = (
            f"The most common verdict of related research ({count} of {sum(verdicts.values())})."
            " Treat it as a starting point, not as a judgement of this idea."
        )
    else:
        line = (
            "**None.** No model judged this idea, and none of the documents above has a verdict to repeat."
            if sources
            else "**None.** No model judged this idea."
        )
        why = "There are none yet: the idea has still to be researched."
    listed = "\n".join(f"- {source.link}: {source.verdict}" for source in sources if source.verdict)
    reasons = f"{why}\n\n{listed}".rstrip()
    steps = [
        "Run this idea again with a model.",
        *(["Check the figures above against current sources."] if sources else []),
        "Talk to five people who have the problem.",
    ]
    numbered = "\n".join(f"{number}. {step}" for number, step in enumerate(steps, start=1))
    return f"## Verdict\n\n{line}\n\n### Reasons\n\n{reasons}\n\n### First steps\n\n{numbered}"


def _directions(sources: list[Source], idea: str) -> str:
    subject = escape_markdown(one_line(idea, MAX_SUBJECT).rstrip(".!?")) or "The idea"
    angles = ["for beginners", "as a service", "with partners", "for groups", "without hardware"]
    parts = []
    for number, angle in enumerate(angles, start=1):
        source = sources[(number - 1) % len(sources)] if sources else None
        why = f"it carries over what the team learnt in {source.link}" if source else UNKNOWN
        risks = "untested demand" + ("; the earlier figures may not transfer" if source else "")
        parts.append(
            f"### {number}. {subject}, {angle}\n\n"
            f"**Why:** {why}.\n\n**Risks:** {risks}.\n\n"
            "**First step:** describe it on one page and show it to three people."
        )
    return "## Directions\n\n" + "\n\n".join(parts)
