"""The settings file of a user, and beside it the keys that they stored, encrypted with the user's own key."""

import base64
import binascii
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError

from idea_explorer.adapters.local_secrets import LocalSecrets
from idea_explorer.adapters.safe_files import (
    PRIVATE_FILE,
    FileTooLargeError,
    make_private_folder,
    read_given,
    write_file,
)
from idea_explorer.domain.errors import ConfigurationError
from idea_explorer.domain.user_config import UserConfig
from idea_explorer.domain.validation_errors import describe_errors

if TYPE_CHECKING:
    from idea_explorer.adapters.toml_lines import Tables, Values

FILE, KEYS_FILE = "config.toml", "keys.json"
MAX_BYTES = 1_048_576  # a thousand times what a person sets
CORRECT = "Correct the file, or delete it and set your settings again."
HEAD = "# Settings of Idea Explorer. Variables of the environment win over them.\n"


class UserConfigStore:
    """Raises ConfigurationError, which names the file."""

    def __init__(self, folder: Path, secrets: LocalSecrets) -> None:
        self._folder = folder
        self._secrets = secrets

    @property
    def path(self) -> Path:
        return self._folder / FILE

    def load(self) -> UserConfig:
        text = self._read(FILE)
        if not text:
            return UserConfig.model_construct()  # there is nothing to build a validator for
        import tomllib

        try:
            return UserConfig.model_validate(tomllib.loads(text))
        except tomllib.TOMLDecodeError as error:
            raise ConfigurationError(f"{self.path} is not TOML: {error}.", hint=CORRECT) from error
        except ValidationError as error:
            field, rule = next(iter(describe_errors(error).items()))
            raise ConfigurationError(f"{self.path}: {field} {rule}.", hint=CORRECT) from None

    def save(self, config: UserConfig) -> bool:
        """Whether comments in the file stay: they do, unless only a whole new file can follow its layout."""
        import tomllib

        from idea_explorer.adapters.toml_lines import edit_toml

        tables = _tables(config)
        before = self._read(FILE) or HEAD
        text = edit_toml(before, tables)
        try:
            is_same = UserConfig.model_validate(tomllib.loads(text)) == config
        except (tomllib.TOMLDecodeError, ValidationError):
            is_same = False
        self._write(FILE, text if is_same else edit_toml(HEAD, tables))
        return is_same or "#" not in before.removeprefix(HEAD)

    def key_names(self) -> list[str]:
        return [*self._keys()]

    def load_key(self, name: str) -> str | None:
        """None where it is not stored, or where the key that it was encrypted with is not at hand."""
        try:
            encrypted = base64.b64decode(self._keys().get(name, ""), validate=True)
        except binascii.Error:
            return None
        return self._secrets.decrypt(encrypted, name) if encrypted else None

    def save_key(self, name: str, value: str) -> None:
        encrypted = base64.b64encode(self._secrets.encrypt(value, name)).decode()
        self._write_keys({**self._keys(), name: encrypted})

    def remove_key(self, name: str) -> None:
        self._write_keys({key: value for key, value in self._keys().items() if key != name})

    def _keys(self) -> Mapping[str, str]:
        try:
            keys = json.loads(self._read(KEYS_FILE) or "{}")
        except (ValueError, RecursionError):
            keys = None
        if not isinstance(keys, dict) or not all(isinstance(key, str) for key in keys.values()):
            path = self._folder / KEYS_FILE
            raise ConfigurationError(
                f"{path} is damaged.", hint="Delete it and store your keys again."
            )
        return keys

    def _write_keys(self, keys: Mapping[str, str]) -> None:
        self._write(KEYS_FILE, json.dumps(keys, indent=1) + "\n")

    def _read(self, name: str) -> str:
        try:
            return read_given(self._folder / name, MAX_BYTES).decode("utf-8")
        except FileNotFoundError:
            return ""
        except (OSError, UnicodeDecodeError) as error:
            too_large = isinstance(error, FileTooLargeError)
            reason = "too large" if too_large else getattr(error, "strerror", "") or "not UTF-8"
            raise ConfigurationError(f"{self._folder / name} cannot be read: {reason}.") from error

    def _write(self, name: str, text: str) -> None:
        try:
            make_private_folder(self._folder)
            write_file(self._folder, name, text.encode("utf-8"), mode=PRIVATE_FILE)
        except OSError as error:
            reason = error.strerror or error
            raise ConfigurationError(
                f"{self._folder / name} cannot be written: {reason}."
            ) from error


def _tables(config: UserConfig) -> "Tables":
    """The tables of the file, with their values."""
    tables: dict[tuple[str, ...], Values] = {
        (): {"profile": config.profile} if config.profile else {}
    }
    if config.settings:
        tables[("settings",)] = config.settings
    for name, profile in config.profiles.items():
        tables[("profiles", name)] = {"url": profile.url}
    return tables
