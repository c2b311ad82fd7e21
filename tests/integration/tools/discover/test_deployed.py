"""Music discovery as a deployment runs it: the index behind a key, which only Secrets Manager knows."""

from collections.abc import Iterator

import pytest

from idea_explorer.adapters.aws.client import client
from idea_explorer.domain.errors import ConfigurationError
from idea_explorer.domain.music import IndexedTrack, OwnedTrack
from idea_explorer.settings import Settings
from idea_explorer.wiring import local, music
from tests.fakes.qdrant_server import FakeQdrant

KEY = "a-key-of-the-index"
RAIN = IndexedTrack(
    isrc="ZZTST1900001",
    title="Wet Asphalt",
    artist="Harrow Lane",
    album="Wipers on Low",
    description="A man drives home through the storm after the parting.",
)


@pytest.fixture
def deployed(aws: Settings) -> Iterator[Settings]:
    client("secretsmanager").create_secret(Name="ideas-qdrant")
    with FakeQdrant(api_key=KEY) as server:
        yield aws.model_copy(
            update={
                "qdrant_url": server.url,
                "qdrant_secret_id": "ideas-qdrant",
                "secret_max_age_seconds": 0,
            }
        )


def test_the_key_of_the_index_comes_from_its_secret(deployed: Settings) -> None:
    client("secretsmanager").put_secret_value(SecretId="ideas-qdrant", SecretString=KEY)

    music.track_index(deployed).add([RAIN])

    assert music.track_index(deployed).known_isrcs([RAIN.isrc]) == {RAIN.isrc}


def test_a_key_that_was_never_set_says_how_to_set_it(deployed: Settings) -> None:
    with pytest.raises(ConfigurationError, match="idea admin secret set"):
        music.track_index(deployed)


def test_an_owner_finds_the_library_that_was_imported_for_them(deployed: Settings) -> None:
    clock = local.system_clock()
    owned = OwnedTrack(isrc=RAIN.isrc)

    music.library(deployed, "ada", clock).add([owned])

    assert music.library(deployed, "ada", clock).known_isrcs([RAIN.isrc])
    assert not music.library(deployed, "bob", clock).known_isrcs([RAIN.isrc])
