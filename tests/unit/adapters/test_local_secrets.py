"""Secrets that are stored on this machine."""

from pathlib import Path

import keyring
import keyring.errors
import pytest

from idea_explorer.adapters.local_secrets import (
    KeyFile,
    Keyring,
    KeyStore,
    KeyUnavailableError,
    LocalSecrets,
    key_folder,
)
from idea_explorer.domain.errors import ConfigurationError

SECRET = "whsec_geheim 🐝"


class MemoryKeyring:
    """A keyring, locked while `locked`."""

    def __init__(self) -> None:
        self.key: bytes | None = None
        self.locked = False

    def read(self) -> bytes | None:
        if self.locked:
            raise KeyUnavailableError
        return self.key

    def write(self, key: bytes) -> bool:
        if not self.locked:
            self.key = key
        return not self.locked


class StubBackend:
    """The keyring of a desktop, whose next call of the function that `fails` names fails."""

    def __init__(self) -> None:
        self.password: str | None = None
        self.fails = ""

    def get_password(self, service: str, user: str) -> str | None:
        self._fail("get_password")
        return self.password

    def set_password(self, service: str, user: str, password: str) -> None:
        self._fail("set_password")
        self.password = password

    def _fail(self, function: str) -> None:
        if self.fails == function:
            self.fails = ""
            raise keyring.errors.KeyringError("the bus is gone")


class FullStore:
    def read(self) -> bytes | None:
        return None

    def write(self, key: bytes) -> bool:
        return False


def local_secrets(folder: Path, keyring: KeyStore) -> LocalSecrets:
    return LocalSecrets(folder, (keyring, KeyFile(folder)))


def test_a_secret_is_read_by_the_next_process_and_by_nobody_without_the_key(tmp_path: Path) -> None:
    encrypted = LocalSecrets(tmp_path / "k", (KeyFile(tmp_path / "k"),)).encrypt(SECRET, "e1")

    assert b"geheim" not in encrypted
    again = LocalSecrets(tmp_path / "k", (KeyFile(tmp_path / "k"),))
    assert again.decrypt(encrypted, "e1") == SECRET
    other = LocalSecrets(tmp_path / "other", (KeyFile(tmp_path / "other"),))
    other.encrypt("x", "e1")
    assert other.decrypt(encrypted, "e1") is None


@pytest.mark.parametrize("damage", [b"", b"\x01", b"\x02" * 60])
def test_what_was_not_encrypted_here_is_not_read(tmp_path: Path, damage: bytes) -> None:
    secrets = LocalSecrets(tmp_path, (KeyFile(tmp_path),))
    encrypted = secrets.encrypt(SECRET, "e1")
    assert secrets.decrypt(encrypted, "e2") is None
    assert secrets.decrypt(encrypted[:-1] + bytes([encrypted[-1] ^ 1]), "e1") is None
    assert secrets.decrypt(damage, "e1") is None


def test_the_keyring_comes_first_and_the_file_is_for_machines_without_one(tmp_path: Path) -> None:
    keyring = MemoryKeyring()
    by_keyring = local_secrets(tmp_path, keyring).encrypt(SECRET, "e1")
    assert not (tmp_path / "key").exists()

    keyring.locked = True
    by_file = local_secrets(tmp_path, keyring).encrypt(SECRET, "e2")
    assert (tmp_path / "key").stat().st_mode & 0o777 == 0o600
    assert local_secrets(tmp_path, keyring).decrypt(by_keyring, "e1") is None

    keyring.locked = False
    both = local_secrets(tmp_path, keyring)
    assert both.decrypt(by_keyring, "e1") == both.decrypt(by_file, "e2") == SECRET


@pytest.mark.parametrize("fails", ["get_password", "set_password"])
def test_a_keyring_that_fails_once_keeps_its_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails: str
) -> None:
    backend = StubBackend()
    for function in ("get_password", "set_password"):
        monkeypatch.setattr(keyring, function, getattr(backend, function))
    before = local_secrets(tmp_path, Keyring()).encrypt(SECRET, "e1")

    backend.fails = fails
    meanwhile = local_secrets(tmp_path, Keyring()).encrypt(SECRET, "e2")

    again = local_secrets(tmp_path, Keyring())
    assert again.decrypt(before, "e1") == again.decrypt(meanwhile, "e2") == SECRET


def test_a_key_file_that_cannot_be_read_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "key").write_bytes(b"x" * 2_000)
    with pytest.raises(ConfigurationError, match="no place for the key"):
        LocalSecrets(tmp_path, (KeyFile(tmp_path),)).encrypt(SECRET, "e1")
    assert (tmp_path / "key").read_bytes() == b"x" * 2_000


def test_without_a_place_for_the_key_nothing_is_encrypted(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="no place for the key"):
        LocalSecrets(tmp_path, (FullStore(),)).encrypt(SECRET, "e1")


def test_the_key_is_among_the_users_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ada")
    assert key_folder({}) == Path("/home/ada/.config/idea-explorer")
    assert key_folder({"XDG_CONFIG_HOME": "/x"}) == Path("/x/idea-explorer")
    assert key_folder({"XDG_CONFIG_HOME": "x"}) == Path("/home/ada/.config/idea-explorer")
