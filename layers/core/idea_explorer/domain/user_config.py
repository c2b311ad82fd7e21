"""What a user has configured on this machine: settings by the names of their variables, and profiles."""

from typing import Annotated

from pydantic import ConfigDict, Field

from idea_explorer.domain.base import DomainModel

# Never in the file itself: they are stored encrypted.
KEYS = frozenset(
    {
        "ANTHROPIC_API_KEY",
        "GITHUB_TOKEN",
        "IDEA_WEBHOOK_SECRET",
        "QDRANT_API_KEY",
        "TIDAL_CLIENT_SECRET",
    }
)
LOCAL = "local"  # instead of the name of a profile: this machine
ProfileName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,39}$")]


class Profile(DomainModel):
    """A deployment, or `idea serve` on another machine."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    url: str


class UserConfig(DomainModel):
    """`profile` is the one in use; without it, commands are about this machine."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    profile: ProfileName | None = None
    settings: dict[str, str | bool | int | float] = Field(default_factory=dict)
    profiles: dict[ProfileName, Profile] = Field(default_factory=dict)

    @property
    def variables(self) -> dict[str, str]:
        """The settings as an environment holds them."""
        return {
            name: str(value).lower() if isinstance(value, bool) else str(value)
            for name, value in self.settings.items()
        }


def token_name(profile: str) -> str:
    """Under which the token of a profile is stored among the keys."""
    return f"profile {profile}"
