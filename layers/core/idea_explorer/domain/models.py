"""Thinking and effort for each model and phase, in one table, as Anthropic's documentation describes them.

Effort controls how much a model thinks. Changing the effort of a request invalidates the cached messages;
some models accept a new effort within the conversation instead (a system message), which does not.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal, TypeAlias

from idea_explorer.domain.base import DomainModel
from idea_explorer.domain.dataclass import dataclass
from idea_explorer.domain.errors import InvalidSettingError
from idea_explorer.domain.json import JsonObject

Effort: TypeAlias = Literal["low", "medium", "high", "xhigh", "max"]
RequestEffort: TypeAlias = Literal["low", "medium", "high"]
VERIFIER = "haiku"  # the name of the model that judges what rules cannot verify
NO_MODEL = "This exploration began with a model, and no model is set up here to go on with it."
SET_KEY = "Set ANTHROPIC_API_KEY, then resume it."
EFFORTS: tuple[Effort, ...] = ("low", "medium", "high", "xhigh", "max")

# A summary of the thinking is shown as progress; the API leaves it out by default.
ADAPTIVE: JsonObject = {"type": "adaptive", "display": "summarized"}


class Efforts(DomainModel, frozen=True, extra="forbid"):
    """A deployment's settings for a model."""

    gathering: Effort
    writing: Effort


@dataclass(frozen=True, slots=True)
class ModelProfile:
    """The settings of a model's requests; None is left out."""

    thinking: JsonObject | None = None
    gathering: Effort | None = None
    writing: Effort | None = None
    efforts: tuple[Effort, ...] = EFFORTS  # that the model accepts
    changes_effort: bool = False  # within a conversation, by a system message
    # takes `search_result` blocks and cites them: every active model, but none that is unknown here
    cites_results: bool = False

    def with_effort(self, wanted: RequestEffort | None) -> "ModelProfile":
        """Apply the effort of a request. For writing, only a lower effort than the table's applies where
        the model can change it: thinking counts toward the output limit."""
        if wanted is None or self.gathering is None:
            return self
        writing: Effort = wanted
        if self.changes_effort and self.writing is not None:
            writing = min(writing, self.writing, key=EFFORTS.index)
        return replace(self, gathering=wanted, writing=writing)


class ModelChoice(DomainModel, frozen=True):
    id: str
    profile: ModelProfile | None = None


PROFILES: Mapping[str, ModelProfile] = {
    "claude-sonnet-5-5": ModelProfile(
        thinking=ADAPTIVE,
        gathering="medium",
        writing="low",
        changes_effort=True,
        cites_results=True,
    ),
    "claude-opus-5-5": ModelProfile(
        thinking=ADAPTIVE,
        gathering="medium",
        writing="low",
        changes_effort=True,
        cites_results=True,
    ),
    "claude-haiku-5-5": ModelProfile(
        thinking=ADAPTIVE, gathering="medium", writing="medium", cites_results=True
    ),
    "offline": ModelProfile(),
}


def find_profile(model_id: str, efforts: Mapping[str, Efforts]) -> ModelProfile | None:
    """The profile of a model, or None if there is none."""
    known, own = PROFILES.get(model_id), efforts.get(model_id)
    if own is None:
        return known
    return replace(known or ModelProfile(), gathering=own.gathering, writing=own.writing)


def check_efforts(efforts: Mapping[str, Efforts], variable: str) -> None:
    """Raises InvalidSettingError for an effort that a model does not accept."""
    for model_id, own in efforts.items():
        profile = PROFILES.get(model_id, ModelProfile())
        for effort in (own.gathering, own.writing):
            if effort not in profile.efforts:
                rule = f"gives {model_id} the effort {effort}, which it does not accept"
                raise InvalidSettingError({variable: rule})
        if own.gathering != own.writing and not profile.changes_effort:
            rule = f"must give {model_id} one effort: it cannot change effort within a conversation"
            raise InvalidSettingError({variable: rule})
