"""The folder where this machine stores explorations: closed to others, and its secrets encrypted."""

import os
import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import pytest

from idea_explorer.adapters.local_secrets import LocalSecrets
from idea_explorer.adapters.sqlite.explorations import SqliteStore
from idea_explorer.adapters.sqlite.secrets import ENCRYPTED
from idea_explorer.domain.exploration import Delivery, Exploration
from idea_explorer.domain.ids import ExplorationId, new_file_id
from idea_explorer.domain.request import UNREADABLE_SECRET, ExploreRequest
from idea_explorer.observability.logging import SilentLog
from idea_explorer.settings import Settings
from idea_explorer.usecases.notify import notify
from idea_explorer.wiring.deps import local_deps
from idea_explorer.wiring.local import local_store, process_lock
from tests.fakes.explorations import an_exploration

STORED = ExplorationId("0191f7c0-0000-7000-8000-00000000cafe")
SECRET = "hush-nobody-may-read-this"
HOOKED = ExploreRequest(idea="Bees", webhook_url="https://a.example", callback_secret=SECRET)


@pytest.fixture(autouse=True)
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user without a keyring, whose settings are here."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.fail.Keyring")
    return tmp_path / "config" / "idea-explorer"


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    (tmp_path / "research").mkdir()
    return Settings(research_dir=tmp_path / "research")


def open_to_others(folder: Path) -> list[str]:
    paths = [folder, *folder.rglob("*")]
    return [str(path) for path in paths if stat.S_IMODE(path.lstat().st_mode) & 0o077]


def everything_in(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("mask", [0o000, 0o022])
def test_nothing_that_is_stored_is_open_to_others(settings: Settings, mask: int) -> None:
    before = os.umask(mask)
    try:
        deps = local_deps(settings, SilentLog())
        exploration = an_exploration(request=HOOKED)
        deps.explorations.create(exploration)
        deps.queue().send(exploration.id, 1)
        deps.uploads.presign("ada", "a.txt", 10)
        with process_lock(settings).held(exploration.id):
            assert list(settings.data_dir.glob("*-wal"))
            assert open_to_others(settings.data_dir) == []
    finally:
        os.umask(before)


def test_what_an_earlier_version_left_open_is_closed_at_the_next_start(settings: Settings) -> None:
    before = os.umask(0)
    try:
        folder = settings.data_dir / "uploads" / "someone"
        folder.mkdir(parents=True)
        (folder / new_file_id()).touch()
        sqlite3.connect(settings.store).close()
        settings.store.touch()
    finally:
        os.umask(before)
    assert len(open_to_others(settings.data_dir)) == 5

    local_store(settings)

    assert open_to_others(settings.data_dir) == []


def test_a_secret_is_stored_encrypted_and_loaded_as_it_was(settings: Settings) -> None:
    exploration = an_exploration(request=HOOKED)
    local_store(settings).create(exploration)

    assert SECRET.encode() not in everything_in(settings.data_dir)
    store = local_store(settings)
    assert store.load(exploration.id) == exploration
    changed = store.take_over(exploration.id, lambda e: e.replace(title="T"))
    assert SECRET.encode() not in everything_in(settings.data_dir)
    assert store.load(exploration.id) == changed
    assert changed.request == HOOKED


def test_a_secret_that_was_stored_as_plain_text_is_encrypted_at_the_next_start(
    settings: Settings,
) -> None:
    plain = settings.model_copy(update={"sam_local": True})  # stores as earlier versions did
    exploration = an_exploration(request=HOOKED)
    other = an_exploration(id="0191f7c0-0000-7000-8000-00000000beef")
    store = local_store(plain)
    store.create(exploration)
    store.create(other)
    assert SECRET.encode() in everything_in(settings.data_dir)

    store = local_store(settings)

    assert SECRET.encode() not in everything_in(settings.data_dir)
    assert store.load(exploration.id) == exploration
    assert store.load(other.id) == other


@pytest.fixture
def plain_copies(settings: Settings) -> SqliteStore:
    """A store as earlier versions wrote it, whose free pages hold copies of the secret."""
    store = local_store(settings.model_copy(update={"sam_local": True}))
    with closing(sqlite3.connect(settings.store)) as db:
        db.execute("PRAGMA secure_delete = OFF")
        db.execute("CREATE TABLE gone AS SELECT 1 AS text")
        db.executemany("INSERT INTO gone VALUES (?)", [(SECRET * 100,)] * 40)
        db.commit()
        db.execute("DROP TABLE gone")
    store.create(an_exploration(id=STORED, request=HOOKED))
    return store


def version_of(settings: Settings) -> int:
    with closing(sqlite3.connect(settings.store)) as db:
        (version,) = db.execute("PRAGMA user_version").fetchone()
        return int(version)


@pytest.mark.parametrize("version", [0, 1])
def test_no_free_page_holds_what_was_stored_as_plain_text(
    settings: Settings, plain_copies: SqliteStore, version: int
) -> None:
    with closing(sqlite3.connect(settings.store)) as db:
        db.execute(f"PRAGMA user_version = {version}")
    assert everything_in(settings.data_dir).count(SECRET.encode()) > 40

    local_store(settings)

    assert SECRET.encode() not in everything_in(settings.data_dir)
    assert version_of(settings) == ENCRYPTED


def test_what_a_reader_keeps_in_the_file_is_removed_at_the_next_start(
    settings: Settings, plain_copies: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("idea_explorer.adapters.sqlite.database.BUSY_TIMEOUT_SECONDS", 0.1)
    with closing(sqlite3.connect(settings.store, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM explorations").fetchall()
        local_store(settings)
        assert version_of(settings) == 0

    store = local_store(settings)

    assert version_of(settings) == ENCRYPTED
    assert SECRET.encode() not in everything_in(settings.data_dir)
    assert store.load(STORED).request == HOOKED


def test_nobody_waits_for_a_keyring_to_write(settings: Settings, plain_copies: SqliteStore) -> None:
    class WritingKeyStore:
        """Like a slow keyring, during which others write to the store."""

        key: bytes | None = None
        asked = 0

        def read(self) -> bytes | None:
            self.asked += 1
            with closing(sqlite3.connect(settings.store, timeout=0)) as db:
                db.execute("CREATE TABLE IF NOT EXISTS others (number)")
                db.execute("INSERT INTO others VALUES (1)")
                db.commit()
            return self.key

        def write(self, key: bytes) -> bool:
            self.key = key
            return True

    keys = WritingKeyStore()
    SqliteStore(settings.store, LocalSecrets(settings.data_dir, (keys,)))
    store = SqliteStore(settings.store, LocalSecrets(settings.data_dir, (keys,)))
    assert store.take_over(STORED, _retitled).request == HOOKED
    assert keys.asked == 2


def test_without_the_key_everything_is_there_but_the_webhook_which_says_so(
    settings: Settings, config: Path
) -> None:
    deps = local_deps(settings, SilentLog())
    ended = an_exploration(request=HOOKED, status="completed", delivery=Delivery(status="pending"))
    deps.explorations.create(ended)
    (config / "key").unlink()
    deps = local_deps(settings, SilentLog())

    loaded = deps.explorations.load(ended.id)
    assert loaded.request.callback_secret == UNREADABLE_SECRET
    deps.explorations.take_over(ended.id, _retitled)
    told = notify(ended.id, 1, deps)
    assert (told.delivery.status, told.delivery.attempts) == ("failed", 0)
    assert "its key is not at hand" in str(told.delivery.last_error)
    assert UNREADABLE_SECRET.encode() not in everything_in(settings.data_dir)


def _retitled(exploration: Exploration) -> Exploration:
    return exploration.replace(title="T")
