"""The calls of a run as the table of depths suggests them: of a short one and of a long one.

What a real run does differs; the two are the ends of a range, not its bounds.
"""

from typing import Literal

from idea_explorer.domain.dataclass import dataclass
from idea_explorer.domain.request import ExploreRequest
from idea_explorer.domain.usage import Usage

Size = Literal[0, 1]
SHORT: Size = 0
LONG: Size = 1

# Each of these for a short run and for a long one.
STEPS = (0.6, 1.0)  # share of the steps that are allowed
BRANCHES = (0.75, 1.0)  # share of the branches that the depth allows: a plan may ask less
BRANCH_STEPS = (
    0.5,
    1.0,
)  # share of their steps, of which the money of a branch rarely pays for all
SEARCHES = (0.4, 0.6)  # share of the searches that an answer is allowed
SEARCH_TOKENS = (2_500, 5_500)  # what one search returns
RESULT_TOKENS = (300, 2_000)  # what other tools return in a step
PAGE_TOKENS = (0, 2_500)  # of each page that the depth allows
DOCUMENT_TOKENS = (1_000, 10_000)  # of the document that a follow-up or an update starts from
THINKING_TOKENS = (350, 1_200)  # of each answer, with its calls
REPORTS = (1, 2)  # with corrections
BYTES_PER_TOKEN = (4.5, 3.2)
TOKENS_PER_WORD = (1.35, 1.7)
TOKENS_PER_SECOND = (90.0, 50.0)
SECONDS_PER_CALL = (1.0, 4.0)  # before its first token, and for its tools
SECONDS_PER_SEARCH = (0.8, 3.0)
VERIFICATION = (
    Usage(input_tokens=2_000, output_tokens=300),
    Usage(input_tokens=25_000, output_tokens=3_000),
)
VERIFICATION_SECONDS = (2.0, 15.0)
ANSWER_WORDS = (200, 1_200)  # of a toolset without depths
FINDINGS_WORDS = (250, 700)  # of a branch

PLAN_WORDS = 300
OTHER_RESULTS = 3  # times as much come from the tools of a toolset that does not search the web


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

    def __init__(self, size: Size, prompt_tokens: int) -> None:
        self.calls: list[Usage] = []
        self._size = size
        self._old = 0
        self._new = prompt_tokens

    def call(self, *, words: int = 0, searches: int = 0, results: int = 0) -> None:
        size = self._size
        found = searches * SEARCH_TOKENS[size]
        output = THINKING_TOKENS[size] + int(words * TOKENS_PER_WORD[size])
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
        depth, spec, size = request.depth_limits, request.spec, self._size
        count = max(1, round(steps) - 1)
        searches = round(SEARCHES[size] * request.searches) if spec.searches_web else 0
        results = RESULT_TOKENS[size] * (1 if spec.searches_web else OTHER_RESULTS)
        results += PAGE_TOKENS[size] * depth.pages // count if depth else 0
        for _ in range(count):
            self.call(searches=searches, results=results)

    def read(self, tokens: int) -> None:
        self._new += tokens

    @property
    def seconds(self) -> float:
        size = self._size
        return sum(
            call.output_tokens / TOKENS_PER_SECOND[size]
            + call.searches * SECONDS_PER_SEARCH[size]
            + SECONDS_PER_CALL[size]
            for call in self.calls
        )


def describe_run(request: ExploreRequest, prompt_bytes: int, size: Size) -> TypicalRun:
    """A run of the request of this size. `prompt_bytes` is what its first call reads."""
    depth = request.depth_limits
    prompt_tokens = int(prompt_bytes / BYTES_PER_TOKEN[size])
    run, branch = _Conversation(size, prompt_tokens), _Conversation(size, prompt_tokens)
    if request.update or request.continue_from:
        run.read(DOCUMENT_TOKENS[size])
    if depth and depth.plans:
        run.call(words=PLAN_WORDS)
    branches = round(BRANCHES[size] * depth.branches) if depth else 0
    if depth and branches:
        branch.gather(request, BRANCH_STEPS[size] * depth.branch_steps)
        branch.call(words=FINDINGS_WORDS[size])
        run.read(branches * int(FINDINGS_WORDS[size] * TOKENS_PER_WORD[size]))
    else:
        run.gather(request, STEPS[size] * (request.steps - (1 if depth and depth.plans else 0)))
    for _ in range(REPORTS[size]):
        run.call(words=(depth.words if depth else ANSWER_WORDS)[size])
    verifies = request.spec.publishes_documents
    return TypicalRun(
        calls=(*run.calls, *branch.calls * branches),
        verification=VERIFICATION[size] if verifies else Usage(),
        # branches run side by side
        seconds=run.seconds + branch.seconds + (VERIFICATION_SECONDS[size] if verifies else 0.0),
    )
