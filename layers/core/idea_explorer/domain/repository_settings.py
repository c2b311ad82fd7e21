"""What a repository says of itself in `.idea-explorer.toml`: its checks, and key files that may be read.

Whoever can commit to the repository can write the file, so it is untrusted. The tools never change it.
"""

from collections.abc import Mapping
from typing import Annotated

from pydantic import AfterValidator, ConfigDict, Field, ValidationError

from idea_explorer.domain.base import DomainModel
from idea_explorer.domain.errors import ConfigurationError, ToolError
from idea_explorer.domain.json import digest
from idea_explorer.domain.paths import check_repository_path
from idea_explorer.domain.validation_errors import describe_errors

SETTINGS_FILE = ".idea-explorer.toml"
STATE_FOLDER = ".idea-explorer"  # where requests, transcripts and reports are stored
MAX_SETTINGS_BYTES = 16_384  # a few commands and a few names


def _check_command(command: str) -> str:
    if not command.isprintable() or not command.strip():
        raise ValueError("must be one line of printable text")
    return command


def _check_path(path: str) -> str:
    try:
        plain = check_repository_path(path)
    except ToolError as error:
        raise ValueError(error.message.rstrip(".")) from error
    if not plain:
        raise ValueError("must name a file or folder below the root")
    return plain


Command = Annotated[str, Field(max_length=1_000), AfterValidator(_check_command)]
Paths = Annotated[list[Annotated[str, AfterValidator(_check_path)]], Field(max_length=100)]


class _Section(DomainModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Checks(_Section):
    """The commands, and the folders that they need though git ignores them, such as `.venv`."""

    test: Command | None = None
    lint: Command | None = None
    use: Paths = Field(default_factory=list)

    @property
    def commands(self) -> Mapping[str, str]:
        named = {"test": self.test, "lint": self.lint}
        return {name: command for name, command in named.items() if command}

    def key(self, *, isolated: bool) -> str:
        """Equal for equal checks: a person allows exactly these, and with or without isolation."""
        return digest({"commands": dict(self.commands), "use": [*self.use], "isolated": isolated})


class Files(_Section):
    """Files that look like keys and may be read and changed all the same, each by its path."""

    allow: Paths = Field(default_factory=list)


class RepositorySettings(_Section):
    checks: Checks = Field(default_factory=Checks)
    files: Files = Field(default_factory=Files)


def is_settings_file(path: str) -> bool:
    return _plain(path) == SETTINGS_FILE


def is_state(path: str) -> bool:
    """Whether a path is the folder of this program's own data, or below one."""
    return any(_plain(segment) == STATE_FOLDER for segment in path.split("/"))


def _plain(name: str) -> str:
    """As file systems compare it that ignore case, ends of dots and spaces, and what follows a colon."""
    return name.casefold().partition(":")[0].rstrip(". ")


def parse_repository_settings(content: bytes | None) -> RepositorySettings:
    """Without a file, nothing is set. Raises ConfigurationError, in one sentence that repeats nothing of
    the file, if it cannot be used."""
    if content is None:
        return RepositorySettings()
    if len(content) > MAX_SETTINGS_BYTES:
        raise _unusable(f"it has more than {MAX_SETTINGS_BYTES:,} bytes")
    import tomllib

    try:
        given = tomllib.loads(content.decode("utf-8"))
        return RepositorySettings.model_validate(given)
    except ValidationError as error:
        name, rule = next(iter(describe_errors(error).items()))
        shown = name if name in RepositorySettings.model_fields else "a section"
        raise _unusable(f"{shown}: {rule if shown == name else 'unknown'}") from error
    except (ValueError, RecursionError) as error:
        raise _unusable("it is not TOML") from error


def find_allowed_files(content: bytes | None) -> frozenset[str]:
    """The key files that may be read. Settings that cannot be used allow none."""
    try:
        return frozenset(parse_repository_settings(content).files.allow)
    except ConfigurationError:
        return frozenset()


def _unusable(reason: str) -> ConfigurationError:
    return ConfigurationError(
        f"{SETTINGS_FILE} cannot be used: {reason}.", hint="Correct and commit it."
    )
