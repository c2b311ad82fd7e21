"""Where the budget is checked: the most that a call can cost is reserved before it is made."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import field, replace

from idea_explorer.domain import limits
from idea_explorer.domain.dataclass import dataclass
from idea_explorer.domain.json import json_size
from idea_explorer.domain.turns import measure_fixed
from idea_explorer.domain.usage import ModelUsage, Price, Usage, compute_cost
from idea_explorer.ports import ModelRequest

BYTES_PER_TOKEN = 2.5  # fewer than any model has for text or JSON, so counts are upper bounds
# Output reserved for the report while gathering: its text, and the thinking before it.
WRITE_TOKENS = 4_096 + limits.THINKING_TOKENS
RESULT_TOKENS = int(limits.MAX_DOCUMENT_BYTES / BYTES_PER_TOKEN)  # one whole document
MIN_EVIDENCE_TOKENS = 2_000  # a few passages; a report from less would mislead
VERIFICATION_USD = 0.02  # of a run's budget, at most, for all verifications of its report
OUR_WORDS_TOKENS = 1_000  # our instructions to continue and to write, read twice
FINDINGS_BYTES = 24_000  # of one branch, as the run that writes the report reads them
FINDINGS_TOKENS = int(FINDINGS_BYTES / BYTES_PER_TOKEN)
FIELDS_SIZE = len('{"messages":[],"system":,"tools":}')  # around the parts of a request
TOKENS_PER_WORD = 2.5  # of a report: two for the word, and a fifth of all tokens for thinking


@dataclass(frozen=True, slots=True)
class Allowance:
    """What the next call may use; without `fits`, not even a minimal answer is affordable."""

    max_tokens: int
    fits: bool
    reserved: Usage


@dataclass(frozen=True, slots=True)
class Budget:
    """A limit in dollars, or in tokens if the model's price is not known; None is no limit."""

    price: Price | None = None
    max_cost_usd: float | None = None
    max_total_tokens: int | None = None
    search_tokens: int = 10_000
    prices: Mapping[str, Price] = field(default_factory=dict)  # of other models that the run calls

    def without(self, elsewhere: Sequence[ModelUsage]) -> "Budget":
        """What other models have left of this budget."""
        if not elsewhere:
            return self
        usd, tokens = self.max_cost_usd, self.max_total_tokens
        spent = compute_cost(elsewhere, self.prices) or 0.0
        used = Usage.total(call.usage for call in elsewhere).total_tokens
        return replace(
            self,
            max_cost_usd=None if usd is None else max(0.0, usd - spent),
            max_total_tokens=None if tokens is None else tokens - used,
        )

    def hold(self, usd: float) -> "Budget":
        """What is left of this budget beside what is held back for something else."""
        if self.max_cost_usd is None:
            return self
        return replace(self, max_cost_usd=max(0.0, self.max_cost_usd - usd))

    def allow(
        self,
        request: ModelRequest,
        spent: Sequence[Usage],
        *,
        searches: int,
        page_tokens: int = 0,
        first: bool = False,
    ) -> Allowance:
        """Lower `max_tokens` until the worst case of the call fits what is left. `page_tokens` are those of
        all pages that Anthropic may open during the call.

        `spent` is what each call so far was billed. A call that gathers has to leave enough for a report
        from the whole conversation and one tool result of ordinary size; if the results are larger, the
        report is written from as much of them as `input_room` allows. The call that writes may use
        everything. The first call only has to leave enough for a short report from little evidence:
        otherwise a small budget could not search at all. Its answer is then no longer than a report, so
        that, if the call is lost, what is left pays for another with fewer searches.
        """
        found = self._found(searches, page_tokens)
        allowance = self._allow(request, spent, found, lean=False)
        if allowance.fits or request.writing or not first:
            return allowance
        return self._allow(request, spent, found, lean=True)

    def _allow(
        self, request: ModelRequest, spent: Sequence[Usage], found: Usage, *, lean: bool
    ) -> Allowance:
        worst, after = self._worst(request, found, lean=lean)
        read_again = not (request.writing or lean)
        room = self._output_room([*spent, worst, after], read_again=read_again)
        most = min(request.max_tokens, WRITE_TOKENS) if lean else request.max_tokens
        max_tokens = most if room is None else min(most, room)
        reserved = worst + Usage(output_tokens=max(max_tokens, 0))
        floor = min(limits.MIN_OUTPUT_TOKENS, request.max_tokens)
        return Allowance(max_tokens=max_tokens, fits=max_tokens >= floor, reserved=reserved)

    def minimum_usage(
        self, request: ModelRequest, *, searches: int, page_tokens: int = 0, first: bool = False
    ) -> tuple[Usage, Usage]:
        """The least that `allow` has to find left: for the call, and for the report after it."""
        lean = first and not request.writing
        found = self._found(searches, page_tokens)
        worst, after = self._worst(request, found, lean=lean)
        if not (request.writing or lean):
            after += Usage(cache_write_tokens=limits.MIN_OUTPUT_TOKENS)
        return worst + Usage(output_tokens=limits.MIN_OUTPUT_TOKENS), after

    def minimum_usd(
        self, request: ModelRequest, *, searches: int, page_tokens: int = 0, first: bool = False
    ) -> float | None:
        """The price of `minimum_usage`; None if the price is not known."""
        least = self.minimum_usage(request, searches=searches, page_tokens=page_tokens, first=first)
        return self.price.total(least) if self.price else None

    def _worst(self, request: ModelRequest, found: Usage, *, lean: bool) -> tuple[Usage, Usage]:
        """The most that a call can use besides its output, and what is reserved for the report. `found` is
        what searches and pages come to."""
        history = estimate_tokens(request)
        worst = found + Usage(cache_write_tokens=history)
        if request.writing:
            return worst, Usage()
        if lean:
            read = history + OUR_WORDS_TOKENS + MIN_EVIDENCE_TOKENS
            output = limits.MIN_OUTPUT_TOKENS
            # so little is left that larger search results than usual would use it up
            again = found.input_tokens
            return worst, Usage(cache_write_tokens=read, input_tokens=again, output_tokens=output)
        grown = history + found.input_tokens + RESULT_TOKENS
        return worst, Usage(cache_write_tokens=grown, output_tokens=WRITE_TOKENS)

    def _found(self, searches: int, page_tokens: int) -> Usage:
        """What searches and pages come to at worst."""
        tokens = searches * self.search_tokens + page_tokens
        return Usage(input_tokens=tokens, searches=searches)

    def input_room(self, spent: Sequence[Usage], output: int = WRITE_TOKENS) -> int | None:
        """How many tokens a call that writes a report may read; None is no limit."""
        committed = [*spent, Usage(output_tokens=output)]
        if self.price is None:
            return self._tokens_left(committed)
        room = self._affordable(committed, self.price.cache_write)
        if room is None or self.price.factor(room) == 1.0:
            return room
        # a long prompt has a higher price, and so has the output after it
        dear = Usage(output_tokens=int(output * self.price.long_prompt_factor))
        each = self.price.cache_write * self.price.long_prompt_factor
        wide = self._affordable([*spent, dear], each) or 0
        return max(wide, self.price.long_prompt_tokens or 0)

    def _output_room(self, committed: Sequence[Usage], *, read_again: bool) -> int | None:
        """How many tokens an answer may have. While gathering, the call that writes will read them too."""
        if self.price is None:
            left = self._tokens_left(committed)
            return left // 2 if left is not None and read_again else left
        factor = self.price.factor(max(usage.all_input_tokens for usage in committed[-2:]))
        each = factor * (self.price.output + (self.price.cache_write if read_again else 0.0))
        return self._affordable(committed, each)

    def _affordable(self, committed: Sequence[Usage], each: float) -> int | None:
        """How many tokens at `each` dollars a million the rest of the budget pays for."""
        if self.price is None or self.max_cost_usd is None:
            return None
        left = self.max_cost_usd - self.price.total(committed)
        if not each:
            return None if left >= 0 else 0
        return int(left * 1_000_000 / each)

    def _tokens_left(self, committed: Sequence[Usage]) -> int | None:
        if self.max_total_tokens is None:
            return None
        return self.max_total_tokens - Usage.total(committed).total_tokens


def estimate_tokens(request: ModelRequest) -> int:
    """An upper bound for the input tokens of a request."""
    messages, fixed = request.messages_size, request.fixed_size
    if messages is None:
        messages = sum(map(json_size, request.messages))
    if fixed is None:
        fixed = measure_fixed(request.system, request.tools)
    separators = max(len(request.messages) - 1, 0)
    return int((FIELDS_SIZE + fixed + messages + separators) / BYTES_PER_TOKEN)


def report_tokens(words: int) -> int:
    """The output to reserve for a report of so many words."""
    return max(WRITE_TOKENS, math.ceil(words * TOKENS_PER_WORD))
