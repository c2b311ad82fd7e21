"""How each model is asked to think and work, as its documentation has it. One table, by model and phase.

Effort steers how much a model thinks. A change of the request's effort throws away the cached messages;
some models take a new effort within the conversation instead (a system message), which keeps them.
"""

from collections.abc import Mapping
from typing import Literal, TypeAlias

from pydantic import BaseModel, ConfigDict

from idea_explorer.domain.errors import InvalidSettingError
from idea_explorer.domain.json import JsonObject

Effort: TypeAlias = Literal["low", "medium", "high", "xhigh", "max"]
RequestEffort: TypeAlias = Literal["low", "medium", "high"]
EFFORTS: tuple[Effort, ...] = ("low", "medium", "high", "xhigh", "max")

# Thinking can be read as a summary, which is shown as progress; by default its text is left out.
ADAPTIVE: JsonObject = {"type": "adaptive", "display": "summarized"}


class Efforts(BaseModel):
    """What a deployment may set for a model."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    gathering: Effort
    writing: Effort


class ModelProfile(BaseModel):
    """What is sent to a model beside the conversation; None is left out of the request."""

    model_config = ConfigDict(frozen=True)

    thinking: JsonObject | None = None
    gathering: Effort | None = None
    writing: Effort | None = None
    efforts: tuple[Effort, ...] = EFFORTS  # those that it takes
    changes_effort: bool = False  # within a conversation, by a system message

    def with_effort(self, wanted: RequestEffort | None) -> "ModelProfile":
        """The profile with the effort of a request: for gathering, and for writing where that is less.

        Writing thinks as little as the table says even then: thinking counts toward the output limit.
        """
        if wanted is None or self.gathering is None:
            return self
        writing: Effort = wanted
        if self.changes_effort and self.writing is not None:
            writing = min(writing, self.writing, key=EFFORTS.index)
        return self.model_copy(update={"gathering": wanted, "writing": writing})


class ModelChoice(BaseModel):
    """A model by its id, and how it is asked."""

    model_config = ConfigDict(frozen=True)

    id: str
    profile: ModelProfile | None = None


PROFILES: Mapping[str, ModelProfile] = {
    "claude-sonnet-5-5": ModelProfile(
        thinking=ADAPTIVE, gathering="medium", writing="low", changes_effort=True
    ),
    "claude-opus-5-5": ModelProfile(
        thinking=ADAPTIVE, gathering="medium", writing="low", changes_effort=True
    ),
    "claude-haiku-5-5": ModelProfile(thinking=ADAPTIVE, gathering="medium", writing="medium"),
    "offline": ModelProfile(),
}


def find_profile(model_id: str, efforts: Mapping[str, Efforts]) -> ModelProfile | None:
    """How a model is asked here; None for one of which nothing is known, which is asked plainly."""
    known, own = PROFILES.get(model_id), efforts.get(model_id)
    if own is None:
        return known
    return (known or ModelProfile()).model_copy(
        update={"gathering": own.gathering, "writing": own.writing}
    )


def check_efforts(efforts: Mapping[str, Efforts], variable: str) -> None:
    """Raises InvalidSettingError for an effort that a model does not take."""
    for model_id, own in efforts.items():
        profile = PROFILES.get(model_id, ModelProfile())
        for effort in (own.gathering, own.writing):
            if effort not in profile.efforts:
                rule = f"gives {model_id} the effort {effort}, which it does not take"
                raise InvalidSettingError({variable: rule})
        if own.gathering != own.writing and not profile.changes_effort:
            rule = f"must give {model_id} one effort: it takes no change within a conversation"
            raise InvalidSettingError({variable: rule})
