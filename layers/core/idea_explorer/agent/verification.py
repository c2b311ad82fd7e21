"""Verify a report: numbers, dates, names and quotations by rule, the rest by one call of a cheap model.

What fails here never costs the report: sentences without a verdict are counted as unchecked.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from idea_explorer.agent.budget import BYTES_PER_TOKEN, VERIFICATION_USD, estimate_tokens
from idea_explorer.agent.prompts import prompt
from idea_explorer.agent.state import State
from idea_explorer.agent.stream_watcher import Interrupted, StreamWatcher
from idea_explorer.domain import limits
from idea_explorer.domain.citations import CheckedReport, check_citations, collect_quotes
from idea_explorer.domain.claims import Claim
from idea_explorer.domain.deadline import WRITE_MARGIN_SECONDS, Deadline
from idea_explorer.domain.errors import ExternalError
from idea_explorer.domain.events import EventUsage, ReportVerified, RunEvent
from idea_explorer.domain.json import Block, document_block, dump_canonical, text_of
from idea_explorer.domain.models import ModelProfile
from idea_explorer.domain.private_text import find_request_texts, has_private_text
from idea_explorer.domain.report import choose_unverified
from idea_explorer.domain.report_links import KnownLinks, remove_unknown_links
from idea_explorer.domain.report_markup import clean_markup
from idea_explorer.domain.report_phrases import remove_own_evidence
from idea_explorer.domain.report_text import cut_report, strip_preamble
from idea_explorer.domain.transcript import VerificationFinished, VerificationStarted
from idea_explorer.domain.turns import find_documents
from idea_explorer.domain.usage import Price, Usage
from idea_explorer.domain.verification.batch import (
    SCHEMA,
    Answer,
    Question,
    build_batch,
    cut_excerpt,
    parse_verdicts,
)
from idea_explorer.domain.verification.report import (
    MAX_SAID,
    Passages,
    check_by_rule,
    keep_verdicts,
)
from idea_explorer.domain.verification.words import plain_text
from idea_explorer.ports import EventSink, Model, ModelAnswer, ModelRequest, Transcript

MAX_SECONDS = 30.0
MAX_RULE_SECONDS = 20.0  # for the rules; sentences that are left stay unchecked
MIN_SECONDS = 5.0  # in less no model answers
TOKENS_PER_VERDICT = 60  # its number, its word and fifteen words of reason
TOKENS_PER_QUOTE = 100  # a sentence of a passage
TITLE = "Sentences"  # of the document, which the prompt names
_NO_SOURCE = VerificationStarted | VerificationFinished  # they say nothing that a report could cite


@dataclass(frozen=True, slots=True)
class Judge:
    """The model that judges what rules cannot; its price is known."""

    model_id: str
    price: Price
    profile: ModelProfile | None = None


class ReportReader:
    """Reads the reports of one run, whose transcript only grows. The report that is verified is mostly the
    one that is stored, so the last one that was read is not read again. `page` is the web address of the
    team's repository."""

    def __init__(self, page: str | None = None) -> None:
        self._page = page
        self._last: tuple[str, int] | None = None
        self._found: tuple[CheckedReport, Passages]

    def read(self, written: str, state: State) -> tuple[CheckedReport, Passages]:
        """The report as it is stored, except for marks, and what its sources say."""
        verdicts = sum(isinstance(entry, _NO_SOURCE) for entry in state.entries)
        asked = written, len(state.entries) - verdicts
        if asked != self._last:
            self._found = _read_report(written, state, self._page)
            self._last = asked
        return self._found


@dataclass(frozen=True)
class Verifier:
    """`budget_usd` is what the run may cost."""

    model: Model
    judge: Judge | None
    budget_usd: float | None
    reader: ReportReader

    def verify(
        self,
        transcript: Transcript,
        spent_usd: float | None,
        deadline: Deadline,
        cancelled: Callable[[], bool],
        sink: EventSink,
    ) -> None:
        """Append the verdicts on the report; before a call, what it can cost. `spent_usd` is what the run has
        cost so far; where that is not known, no model is called."""
        state = State(transcript.entries)
        report, passages = self.reader.read(choose_unverified(state.entries), state)
        by_rule = Deadline.after(deadline.clock, seconds=MAX_RULE_SECONDS)

        def out_of_time() -> bool:
            return by_rule.passed or deadline.left < WRITE_MARGIN_SECONDS

        claims = _recall(report.text, check_by_rule(report.text, passages, out_of_time), state)
        asked = [n for n, claim in enumerate(claims) if _is_open(claim, passages)]
        questions = [_question(claims[n], passages) for n in asked]
        request, count = self._request(questions, state, spent_usd)
        time_left = Deadline(deadline.clock, deadline.at - WRITE_MARGIN_SECONDS, 0.0).left
        if request is None or self.judge is None or time_left < MIN_SECONDS:
            transcript.add(VerificationFinished(claims=tuple(claims)))
            return
        reserved = _reserve(request)
        transcript.append(VerificationStarted(model_id=request.model_id, reserved=reserved))
        until = Deadline.after(deadline.clock, seconds=min(time_left, MAX_SECONDS))
        answer, usage, error = self._ask(request, reserved, until, cancelled)
        for place, given in parse_verdicts(_text(answer), count).items():
            number = asked[place - 1]
            claims[number] = _decide(claims[number], questions[place - 1], given)
        transcript.append(
            VerificationFinished(
                model_id=request.model_id, usage=usage, error=error, claims=tuple(claims)
            )
        )
        with suppress(ExternalError):
            sink.emit(ReportVerified(usage=EventUsage.of(usage), cost=self.judge.price.cost(usage)))

    def _request(
        self, questions: Sequence[Question], state: State, spent_usd: float | None
    ) -> tuple[ModelRequest | None, int]:
        """As many of the questions as the slice pays for, and how many; None if it pays for none."""
        if self.judge is None or spent_usd is None:
            return None, 0
        used = [
            call.usage for call in state.billed_elsewhere if call.model_id == self.judge.model_id
        ]
        left = VERIFICATION_USD - self.judge.price.total(used)
        if self.budget_usd is not None:
            left = min(left, self.budget_usd - spent_usd)
        while questions:
            request, count = _build_request(questions, self.judge)
            if self.judge.price.cost(_reserve(request)) <= left:
                return request, count
            questions = questions[: len(questions) // 2]
        return None, 0

    def _ask(
        self,
        request: ModelRequest,
        reserved: Usage,
        deadline: Deadline,
        cancelled: Callable[[], bool],
    ) -> tuple[ModelAnswer | None, Usage, str]:
        watcher = StreamWatcher(
            _NoSink(), deadline, cancelled, step=0, gathering=False, search_tokens=0
        )
        try:
            answer = self.model.answer(request, watcher, deadline)
        except (ExternalError, Interrupted) as error:
            return None, watcher.billed(error, reserved), str(error)
        return answer, answer.usage, ""


def _is_open(claim: Claim, passages: Passages) -> bool:
    """Whether a model can be asked: about what no rule decides, and about what a rule may be mistaken in."""
    return not claim.is_final and claim.judge != "model" and bool(passages.find(claim.sources))


def _question(claim: Claim, passages: Passages) -> Question:
    return Question(plain_text(claim.text), passages.find(claim.sources), claim.reason)


def _decide(claim: Claim, question: Question, given: Answer) -> Claim:
    """The verdict of the model; but a rule's objection stands unless the model quotes the words of a passage
    that answer it."""
    if question.objection and not given.refutes(question):
        agrees = given.verdict == "unsupported"
        return replace(claim, judge="model") if agrees else claim
    passage = ""
    if given.verdict == "unsupported":
        passage = cut_excerpt("\n".join(question.passages), question.sentence, MAX_SAID)
    return replace(
        claim, verdict=given.verdict, judge="model", reason=given.reason, passage=passage
    )


def _recall(report: str, claims: list[Claim], state: State) -> list[Claim]:
    """Sentences that a correction left as they were keep the verdict that a model has given, whether or not a
    rule objects again, and any verdict of `unsupported` if they only lost their link."""
    before = state.before_correction
    earlier = before.verification.claims if before and before.verification else ()
    known = {claim.text: claim for claim in earlier if claim.judge == "model"}
    recalled = [claim if claim.is_final else known.get(claim.text, claim) for claim in claims]
    return keep_verdicts(report, recalled, earlier)


def _build_request(questions: Sequence[Question], judge: Judge) -> tuple[ModelRequest, int]:
    batch = build_batch(questions)
    profile = judge.profile or ModelProfile()
    listed: list[Block] = [document_block(TITLE, dump_canonical([*batch]))]
    ask: Block = {"type": "text", "text": f"Give a verdict on each of the {len(batch)} sentences."}
    request = ModelRequest(
        model_id=judge.model_id,
        system=[{"type": "text", "text": prompt("verify")}],
        tools=[],
        messages=[{"role": "user", "content": [*listed, ask]}],
        max_tokens=limits.THINKING_TOKENS
        + TOKENS_PER_VERDICT * len(batch)
        + TOKENS_PER_QUOTE * sum("objection" in entry for entry in batch),
        writing=True,
        thinking=profile.thinking,
        effort=None if profile.gathering is None else "low",
        schema=SCHEMA,
    )
    return request, len(batch)


def _reserve(request: ModelRequest) -> Usage:
    schema = int(len(dump_canonical(SCHEMA)) / BYTES_PER_TOKEN)
    return Usage(
        cache_write_tokens=estimate_tokens(request) + schema, output_tokens=request.max_tokens
    )


def _text(answer: ModelAnswer | None) -> str:
    blocks = answer.content if answer else []
    return "".join(text_of(block.get("text")) for block in blocks if block.get("type") == "text")


class _NoSink:
    """The verdicts are no part of the report, so nobody watches them arrive."""

    def emit(self, event: RunEvent) -> None:
        pass


def _read_report(written: str, state: State, page: str | None) -> tuple[CheckedReport, Passages]:
    given = find_request_texts(state.opening)
    text = remove_own_evidence(clean_markup(cut_report(strip_preamble(written))))
    removed = 0
    if has_private_text(state.entries):
        # whatever the run did not find might carry private text to its server
        text, removed = remove_unknown_links(text, KnownLinks(state.evidence, given, page))
    content = [block for answer in state.answers for block in answer.content]
    documents = find_documents(state.entries)
    quotes = collect_quotes(content, documents)
    checked = check_citations(text, state.evidence, quotes, page=page, given=given)
    counted = CheckedReport(
        checked.text, checked.citations + removed, checked.unmatched + removed, checked.numbers
    )
    return counted, Passages(state.evidence, content, page, documents)
