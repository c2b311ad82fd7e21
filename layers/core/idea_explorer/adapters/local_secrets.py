"""Secrets that are stored on this machine, encrypted with its user's key. docs/adr/0015 says why.

The key is in the system's keyring, or, where there is none, in a file beside the user's other settings.
What was encrypted names its key, so both kinds can be in one store.
"""

import base64
import fcntl
import hashlib
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Protocol

from idea_explorer.adapters.safe_files import (
    PRIVATE_FILE,
    FileTooLargeError,
    make_private_folder,
    read_file,
    write_file,
)
from idea_explorer.domain.deadline import run_with_time_limit
from idea_explorer.domain.errors import ConfigurationError

KEY_BYTES = 32  # AES-256
KEYRING_SECONDS = 30.0  # a person may be asked to unlock it
VERSION = b"\x01"
_ID_BYTES, _NONCE_BYTES = 8, 12
_SERVICE, _USER = "idea-explorer", "stored-secrets"


class KeyUnavailableError(Exception):
    """Whether there is a key is not known: the store is locked, too slow or broken."""


class KeyDamagedError(KeyUnavailableError):
    """There was a key, of which something else is left. A new one in its place would make every secret that
    it encrypted unreadable, also after a backup is restored."""


class KeyStore(Protocol):
    """Where a key may be stored. `read` raises KeyUnavailableError where None would not be certain; `write`
    is False where none can be stored."""

    def read(self) -> bytes | None: ...
    def write(self, key: bytes) -> bool: ...


class KeyFile:
    """A file that only this user can read."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self) -> bytes | None:
        try:
            return _decode_key(read_file(self._folder, "key", 1_024).decode("ascii", "replace"))
        except FileNotFoundError:
            return None
        except FileTooLargeError as error:
            raise KeyDamagedError from error
        except OSError as error:
            raise KeyUnavailableError from error

    def write(self, key: bytes) -> bool:
        try:
            write_file(self._folder, "key", base64.b64encode(key) + b"\n", mode=PRIVATE_FILE)
        except OSError:
            return False
        return True


class Keyring:
    """macOS's Keychain, the Secret Service of a Linux desktop, or what else the `keyring` package knows."""

    def read(self) -> bytes | None:
        password = self._ask("get_password", _SERVICE, _USER)
        return _decode_key(password) if password else None

    def write(self, key: bytes) -> bool:
        try:
            self._ask("set_password", _SERVICE, _USER, base64.b64encode(key).decode())
            return self.read() == key  # some backends store nothing and say nothing
        except KeyUnavailableError:
            return False

    def _ask(self, function: str, *arguments: str) -> str | None:
        def ask() -> str | None:
            import keyring

            answer: str | None = getattr(keyring, function)(*arguments)
            return answer

        try:
            return run_with_time_limit(ask, KEYRING_SECONDS, name="keyring")
        except Exception as error:  # its backends raise errors of their own
            raise KeyUnavailableError from error


class LocalSecrets:
    """Encrypts with AES-256-GCM. `about` says what a secret belongs to: moved to another place, it is not
    decrypted."""

    def __init__(self, folder: Path, stores: tuple[KeyStore, ...] | None = None) -> None:
        self._folder = folder
        self._stores: tuple[KeyStore, ...] = stores or (Keyring(), KeyFile(folder))
        self._keys: dict[bytes, bytes] = {}

    def encrypt(self, secret: str, about: str) -> bytes:
        """Raises ConfigurationError where no key can be stored."""
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        key = self._own_key()
        nonce = os.urandom(_NONCE_BYTES)
        return (
            VERSION
            + _id_of(key)
            + nonce
            + AESGCM(key).encrypt(nonce, secret.encode("utf-8"), about.encode("utf-8"))
        )

    def decrypt(self, encrypted: bytes, about: str) -> str | None:
        """None where the key is not at hand, or where it was not encrypted for this."""
        from cryptography.exceptions import InvalidTag
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        start = len(VERSION) + _ID_BYTES
        key = self._find_key(encrypted[len(VERSION) : start])
        if key is None or not encrypted.startswith(VERSION):
            return None
        nonce, rest = encrypted[start : start + _NONCE_BYTES], encrypted[start + _NONCE_BYTES :]
        try:
            return AESGCM(key).decrypt(nonce, rest, about.encode("utf-8")).decode("utf-8")
        except (InvalidTag, ValueError):
            return None

    def _own_key(self) -> bytes:
        """The key that is stored, or a new one. A store that cannot be asked may have one, which must not be
        overwritten: the next store is used then."""
        for key in self._keys.values():
            return key
        no_key = _no_key(self._folder)
        try:
            with _locked(self._folder):
                for store in self._stores:
                    try:
                        stored, new = store.read(), os.urandom(KEY_BYTES)
                    except KeyDamagedError:
                        no_key = _damaged_key(self._folder)
                        continue
                    except KeyUnavailableError:
                        continue
                    if stored or store.write(new):
                        return self._remember(stored or new)
        except OSError as error:
            raise no_key from error
        raise no_key

    def _find_key(self, key_id: bytes) -> bytes | None:
        # the file first: the keyring takes longer, and may ask a person
        for store in reversed(self._stores):
            if key_id in self._keys:
                break
            with suppress(KeyUnavailableError):
                if key := store.read():
                    self._remember(key)
        return self._keys.get(key_id)

    def _remember(self, key: bytes) -> bytes:
        self._keys[_id_of(key)] = key
        return key


def key_folder(environment: Mapping[str, str]) -> Path:
    """Where this user's settings are: never in the folder whose secrets the key encrypts."""
    given = environment.get("XDG_CONFIG_HOME", "")
    base = Path(given) if given.startswith("/") else Path.home() / ".config"
    return base / "idea-explorer"


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """One process at a time makes a key."""
    make_private_folder(folder)
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _id_of(key: bytes) -> bytes:
    return hashlib.sha256(b"key id\0" + key).digest()[:_ID_BYTES]


def _decode_key(text: str) -> bytes:
    try:
        key = base64.b64decode(text.strip(), validate=True)
    except ValueError as error:
        raise KeyDamagedError from error
    if len(key) != KEY_BYTES:
        raise KeyDamagedError
    return key


def _damaged_key(folder: Path) -> ConfigurationError:
    return ConfigurationError(
        f"The key that encrypts stored secrets is damaged: {folder / 'key'}.",
        hint="Restore that file from a backup. Without one, delete it: a new key is made, and the secrets of"
        " webhooks that are still to be sent have to be given again.",
    )


def _no_key(folder: Path) -> ConfigurationError:
    return ConfigurationError(
        "There is no place for the key that encrypts stored secrets.",
        hint=f"Unlock the system's keyring, or make {folder} writable.",
    )
