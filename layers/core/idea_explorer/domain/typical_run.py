"""The calls of a run as the table of depths suggests them: of a short one and of a long one.

What a real run does differs; the two are the ends of a range, not its bounds.
"""

from dataclasses import dataclass

from idea_explorer.domain.request import ExploreRequest
from idea_explorer.domain.usage import Usage

ANSWER_WORDS = (200, 1_200)  # of a toolset without depths
FINDINGS_WORDS = (250, 700)  # of a branch
PLAN_WORDS = 300
OTHER_RESULTS = 3  # times as much come from the tools of a toolset that does not search the web


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How much a run makes of its limits."""

    longest: bool  # whether the length of the report is the upper end of what is asked for
    steps: float  # share of the steps that are allowed
    branches: float  # share of the branches that the depth allows: a plan may ask less
    branch_steps: float  # share of their steps, of which the money of a branch rarely pays for all
    searches: float  # share of the searches that an answer is allowed
    search_tokens: int  # what one search returns
    result_tokens: int  # what other tools return in a step
    page_tokens: int  # of each page that the depth allows
    document_tokens: int  # of the earlier document that a follow-up or an update starts from
    thinking_tokens: int  # of each answer, with its calls
    reports: int  # with corrections
    bytes_per_token: float
    tokens_per_word: float
    tokens_per_second: float
    seconds_per_call: float  # before its first token, and for its tools
    seconds_per_search: float
    verification: Usage
    verification_seconds: float


SHORT = Pace(
    longest=False,
    steps=0.6,
    branches=0.75,
    branch_steps=0.5,
    searches=0.4,
    search_tokens=2_500,
    result_tokens=300,
    page_tokens=0,
    document_tokens=1_000,
    thinking_tokens=350,
    reports=1,
    bytes_per_token=4.5,
    tokens_per_word=1.35,
    tokens_per_second=90.0,
    seconds_per_call=1.0,
    seconds_per_search=0.8,
    verification=Usage(input_tokens=2_000, output_tokens=300),
    verification_seconds=2.0,
)
LONG = Pace(
    longest=True,
    steps=1.0,
    branches=1.0,
    branch_steps=1.0,
    searches=0.6,
    search_tokens=5_500,
    result_tokens=2_000,
    page_tokens=2_500,
    document_tokens=10_000,
    thinking_tokens=1_200,
    reports=2,
    bytes_per_token=3.2,
    tokens_per_word=1.7,
    tokens_per_second=50.0,
    seconds_per_call=4.0,
    seconds_per_search=3.0,
    verification=Usage(input_tokens=25_000, output_tokens=3_000),
    verification_seconds=15.0,
)


@dataclass(frozen=True, slots=True)
class TypicalRun:
    """What each call uses, the call that verifies apart, because another model makes it."""

    calls: tuple[Usage, ...]
    verification: Usage
    seconds: float

    @property
    def tokens(self) -> int:
        return Usage.total([*self.calls, self.verification]).total_tokens


class _Conversation:
    """Its calls: each reads what came before from the cache, and writes what is new to it."""

    def __init__(self, pace: Pace, prompt_tokens: int) -> None:
        self.calls: list[Usage] = []
        self._pace = pace
        self._old = 0
        self._new = prompt_tokens

    def call(self, *, words: int = 0, searches: int = 0, results: int = 0) -> None:
        pace = self._pace
        found = searches * pace.search_tokens
        output = pace.thinking_tokens + int(words * pace.tokens_per_word)
        self.calls.append(
            Usage(
                cache_read_tokens=self._old,
                cache_write_tokens=self._new,
                input_tokens=found,
                output_tokens=output,
                searches=searches,
            )
        )
        self._old += self._new
        self._new = found + output + results

    def gather(self, request: ExploreRequest, steps: float) -> None:
        """All the steps but the last, which is for writing."""
        depth, spec, pace = request.depth_limits, request.spec, self._pace
        count = max(1, round(steps) - 1)
        searches = round(pace.searches * request.searches) if spec.searches_web else 0
        results = pace.result_tokens if spec.searches_web else OTHER_RESULTS * pace.result_tokens
        results += pace.page_tokens * depth.pages // count if depth else 0
        for _ in range(count):
            self.call(searches=searches, results=results)

    def read(self, tokens: int) -> None:
        self._new += tokens

    @property
    def seconds(self) -> float:
        pace = self._pace
        return sum(
            call.output_tokens / pace.tokens_per_second
            + call.searches * pace.seconds_per_search
            + pace.seconds_per_call
            for call in self.calls
        )


def describe_run(request: ExploreRequest, prompt_bytes: int, pace: Pace) -> TypicalRun:
    """A run of the request at this pace. `prompt_bytes` is what its first call reads."""
    depth = request.depth_limits
    prompt_tokens = int(prompt_bytes / pace.bytes_per_token)
    run, branch = _Conversation(pace, prompt_tokens), _Conversation(pace, prompt_tokens)
    if request.update or request.continue_from:
        run.read(pace.document_tokens)
    if depth and depth.plans:
        run.call(words=PLAN_WORDS)
    branches = round(pace.branches * depth.branches) if depth else 0
    if depth and branches:
        branch.gather(request, pace.branch_steps * depth.branch_steps)
        branch.call(words=FINDINGS_WORDS[pace.longest])
        run.read(branches * int(FINDINGS_WORDS[pace.longest] * pace.tokens_per_word))
    else:
        run.gather(request, pace.steps * (request.steps - (1 if depth and depth.plans else 0)))
    for _ in range(pace.reports):
        run.call(words=(depth.words if depth else ANSWER_WORDS)[pace.longest])
    verifies = request.spec.publishes_documents
    return TypicalRun(
        calls=(*run.calls, *branch.calls * branches),
        verification=pace.verification if verifies else Usage(),
        # branches run side by side
        seconds=run.seconds + branch.seconds + (pace.verification_seconds if verifies else 0.0),
    )
