"""The branches of a deep run: questions of its plan, each researched by an exploration of its own."""

from dataclasses import dataclass
from datetime import datetime

from idea_explorer.domain.base import DomainModel
from idea_explorer.domain.depths import DEFAULT_DEPTH, DepthName
from idea_explorer.domain.ids import ExplorationId
from idea_explorer.domain.tools import Passage, ToolRecord
from idea_explorer.domain.usage import Usage


class Branch(DomainModel, frozen=True):
    """What makes an exploration a branch of another. `question` was written by a model: data."""

    parent: ExplorationId
    number: int
    question: str
    model_id: str  # the parent's, so that one price counts for both
    until: datetime  # from then on the parent writes, whatever the branch has found
    depth: DepthName = DEFAULT_DEPTH  # the parent's, for the searches and pages of the branch
    private: bool = False  # the parent had read private text when it wrote the question


class BranchRun(DomainModel, frozen=True):
    """A run of a branch that its parent waits for."""

    id: ExplorationId
    run: int
    deadline_seconds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchTask:
    """One question, and what the run that researches it may use. None is no limit."""

    number: int
    id: ExplorationId
    run: int
    question: str
    max_cost_usd: float | None
    max_steps: int
    seconds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchFindings:
    """What a branch ended with, over all of its runs. `text` is empty where it found no answer."""

    number: int
    id: ExplorationId
    question: str
    status: str
    text: str = ""
    error: str = ""
    steps: int = 0
    billed: tuple[Usage, ...] = ()  # what each call was billed, at most
    confirmed: tuple[Usage, ...] = ()  # what complete answers say
    passages: tuple[Passage, ...] = ()
    records: tuple[ToolRecord, ...] = ()
    private_text: bool = False
