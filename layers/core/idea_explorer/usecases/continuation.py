"""What an exploration continues: the document of an update or follow-up, or another's conversation."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from idea_explorer.agent.state import State
from idea_explorer.domain.errors import ConflictError, DocumentError, MissingError
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.ids import ExplorationId
from idea_explorer.domain.json import Block, JsonObject
from idea_explorer.domain.limits import MAX_LOGGED_PATH
from idea_explorer.domain.parsed_documents import ParsedDocument, parse_document
from idea_explorer.domain.paths import RESEARCH_ROOT, ResearchPath
from idea_explorer.domain.private_text import find_request_texts
from idea_explorer.domain.publication import (
    DOCUMENT,
    LOG,
    MAX_REWRITTEN_BYTES,
    ResearchFolder,
    find_folders,
    list_ideas,
    parse_log,
)
from idea_explorer.domain.report_text import find_title
from idea_explorer.domain.text import hash_idea
from idea_explorer.domain.tools import Passage, make_passage
from idea_explorer.domain.transcript import AnyEntry
from idea_explorer.domain.turns import build_prior_turns, without_search_results
from idea_explorer.ports import Log, ResearchIndex, ResearchRepository
from idea_explorer.usecases.deps import Deps
from idea_explorer.usecases.find import find_readable

MAX_EARLIER_BYTES = 1_000_000  # GitHub's limit for one response
SHOWN_HEAD, SHOWN_TAIL = 20_000, 30_000  # about 12k tokens, the most a prompt should pay for it
CUT = "\n\n[… the middle of the document is left out here, because it is long …]\n\n"


@dataclass(frozen=True, slots=True)
class PriorDocument:
    """A document of the team; without `path`, a report that was never published. Untrusted data."""

    path: str | None
    name: str
    text: str

    @property
    def passages(self) -> list[Passage]:
        """The document as evidence: it may be cited without being read again."""
        title = find_title(parse_document(self.text).body, self.name)
        return [make_passage(self.path, self.text, title=title)] if self.path else []

    @property
    def shown(self) -> str:
        """What the prompt shows of it: the beginning, and the newest part at the end."""
        if len(self.text) <= SHOWN_HEAD + SHOWN_TAIL:
            return self.text
        return f"{self.text[:SHOWN_HEAD]}{CUT}{self.text[-SHOWN_TAIL:]}"


@dataclass(frozen=True, slots=True)
class Thread:
    """The transcript of an exploration that has ended. System prompt, tools and turns are reused word for
    word: with any change the cache would not apply, and they would be paid for again."""

    entries: Sequence[AnyEntry]

    @property
    def model_id(self) -> str:
        return State(self.entries).opening.model_id

    @property
    def thinking(self) -> JsonObject | None:
        return State(self.entries).opening.thinking

    @property
    def effort(self) -> str | None:
        return State(self.entries).effort

    @property
    def system(self) -> list[Block]:
        return State(self.entries).opening.system

    @property
    def tools(self) -> list[Block]:
        return State(self.entries).opening.tools

    @property
    def passages(self) -> list[Passage]:
        return State(self.entries).evidence

    @property
    def requests(self) -> list[str]:
        return find_request_texts(State(self.entries).opening)

    def turns(self, model_id: str, *, cites_results: bool) -> list[JsonObject]:
        """`cites_results` says whether the model takes `search_result` blocks."""
        entries = self.entries if cites_results else without_search_results(self.entries)
        return build_prior_turns(entries, same_model=self.model_id == model_id)


Continuation: TypeAlias = PriorDocument | Thread


def find_continuation(exploration: Exploration, deps: Deps) -> Continuation | None:
    """What the request continues; None where it continues nothing, or there is nothing yet."""
    request = exploration.request
    if request.spec.follow_up == "conversation":
        return _thread(exploration, deps) if request.continue_from else None
    if request.continue_from:
        return _followed(exploration, request.continue_from, deps)
    if request.update and (research := deps.research()):
        return _same_idea(request.idea, research, deps.log)
    return None


def _thread(exploration: Exploration, deps: Deps) -> Thread:
    parent = find_readable(exploration.request.continue_from or "", exploration.owner, deps)
    entries = deps.transcripts.open(parent.id, parent.lease).entries
    if not entries:
        raise MissingError(f"Exploration {parent.id} has no transcript to continue.")
    return Thread(entries)


def document_of(
    exploration_id: str, research: ResearchRepository, index: ResearchIndex
) -> tuple[str, str] | None:
    """Path and text of the document that says it was written by an exploration."""
    found = index.find_exploration(exploration_id)
    if found is None:
        return None
    try:
        return found.path, _read(research, _inside(found.path))
    except DocumentError:
        return None  # it was removed since


def _parse(path: str, text: str, log: Log) -> ParsedDocument:
    parsed = parse_document(text)
    if parsed.problem:
        log.warning("front_matter_ignored", path=path[:MAX_LOGGED_PATH], reason=parsed.problem)
    return parsed


def _followed(exploration: Exploration, wanted: str, deps: Deps) -> PriorDocument:
    research = deps.research()
    try:
        parent = deps.explorations.load(ExplorationId(wanted))
    except MissingError:
        found = document_of(wanted, research, deps.index()) if research else None
        if found is None:
            raise
        return PriorDocument(found[0], _inside(found[0]), found[1])
    if parent.owner != exploration.owner:
        raise MissingError(f"There is no exploration {wanted}.")
    if parent.publication.document is None:
        return PriorDocument(None, f"exploration {wanted}", deps.reports.load_report(parent.id))
    try:
        # as it is now, with what people and updates have added since
        text = _read(research, _inside(parent.publication.document)) if research else None
    except DocumentError:
        text = None
    return PriorDocument(
        parent.publication.document,
        _inside(parent.publication.document),
        text or deps.reports.load_report(parent.id),
    )


def _same_idea(idea: str, research: ResearchRepository, log: Log) -> PriorDocument | None:
    """The newest document of the same idea, by what its log or front matter records. One that records
    no idea, as a person may have written it, is of the idea that its folder is named after."""
    paths = {info.path for info in research.list()}
    folders = {path.split("/")[0] for path in paths if path.endswith(f"/{DOCUMENT}")}
    for folder in find_folders(idea, folders):
        path = f"{folder.name}/{DOCUMENT}"
        if path not in paths:
            continue
        text: str | None = None
        ideas = _logged_ideas(folder, research) if f"{folder.name}/{LOG}" in paths else set()
        if not ideas:
            try:
                text = _read(research, path)
            except DocumentError as error:
                log.warning("document_skipped", path=path[:MAX_LOGGED_PATH], reason=error.sentence)
                continue  # nothing says that it is of this idea
            recorded = _parse(path, text, log).matter.get("idea", "")
            ideas = {recorded} if recorded.strip() else set()
        if not ideas or hash_idea(idea) in {hash_idea(known) for known in ideas}:
            return PriorDocument(folder.document, path, text or _read(research, path))
    return None


def _logged_ideas(folder: ResearchFolder, research: ResearchRepository) -> set[str]:
    """Empty where the log cannot be read; publishing reports that error."""
    try:
        path = ResearchPath(f"{folder.name}/{LOG}")
        return list_ideas(parse_log(research.read(path, limit=MAX_REWRITTEN_BYTES).content))
    except (ConflictError, DocumentError):
        return set()


def _read(research: ResearchRepository, path: str) -> str:
    return research.read(ResearchPath(path), limit=MAX_EARLIER_BYTES).content


def _inside(document: str) -> str:
    return document.removeprefix(f"{RESEARCH_ROOT}/")
