"""The verdicts on the cited sentences of a report, and their counts."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Literal, TypeAlias

Verdict: TypeAlias = Literal["supported", "partly", "unsupported", "unchecked"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A cited sentence, word for word as the report has it, and the verdict on it."""

    text: str
    sources: tuple[str, ...] = ()  # the targets of its links
    readable: int = 0  # how many of its sources the run has text of
    verdict: Verdict = "unchecked"
    judge: Literal["rule", "model", ""] = ""
    is_final: bool = False  # a rule says so, and no model is asked
    reason: str = ""
    passage: str = ""  # of an unsupported one: what its source says about it


@dataclass(frozen=True, slots=True, kw_only=True)
class Excerpt:
    """What a source says nearest to a claim. Strangers wrote it: data."""

    target: str  # of the claim's link
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedClaim:
    """A claim with what its sources say about it."""

    claim: Claim
    excerpts: tuple[Excerpt, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """How many cited sentences of a report have which verdict."""

    supported: int = 0
    partly: int = 0
    unsupported: int = 0
    unchecked: int = 0

    @classmethod
    def of(cls, claims: Iterable[Claim]) -> "Verification":
        counts = Counter(claim.verdict for claim in claims)
        return cls(**{name: counts[name] for name in counts})

    @property
    def total(self) -> int:
        return self.supported + self.partly + self.unsupported + self.unchecked

    @property
    def judged(self) -> int:
        return self.total - self.unchecked

    def __str__(self) -> str:
        return ", ".join(f"{count} {name}" for name, count in asdict(self).items())
