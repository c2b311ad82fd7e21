"""The parts of the discover toolset: track index, the listener's library, and catalogue."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from idea_explorer.agent.toolset import Toolset
from idea_explorer.domain.errors import ConfigurationError
from idea_explorer.ports import Clock
from idea_explorer.ports.music import Catalogue, Embedder, Library, TrackIndex
from idea_explorer.settings import Settings
from idea_explorer.wiring.cloud import cloud_secrets
from idea_explorer.wiring.local import system_clock
from idea_explorer.wiring.toolsets import ToolsetContext, missing_settings

if TYPE_CHECKING:
    from idea_explorer.adapters.music.tidal_sign_in import SignIn

MUSIC = "music.db"
_SIGN_INS: "dict[tuple[object, ...], SignIn]" = {}


def discover(context: ToolsetContext) -> Toolset:
    from idea_explorer.tools.discover import discover_tools

    settings, clock = context.settings, system_clock()
    return discover_tools(
        track_index(settings),
        library(settings, context.owner, clock),
        catalogue(settings, clock),
        clock,
        context.log,
    )


def track_index(settings: Settings) -> TrackIndex:
    """Qdrant if it is configured, else a file on this machine."""
    if settings.qdrant_url:
        from idea_explorer.adapters.music.qdrant import QdrantTrackIndex

        return QdrantTrackIndex(
            settings.qdrant_url,
            settings.qdrant_collection,
            embedder(settings),
            api_key=_qdrant_key(settings),
        )
    if settings.in_cloud:
        hint = missing_settings(settings)["discover"]
        raise ConfigurationError("There is no track index.", hint=hint)
    from idea_explorer.adapters.music.sqlite import SqliteTrackIndex

    return SqliteTrackIndex(music_file(settings), embedder(settings))


def music_file(settings: Settings) -> Path:
    """The file of the embedded index and library."""
    return settings.store.with_name(MUSIC)


def _qdrant_key(settings: Settings) -> str | None:
    if settings.qdrant_secret_id:
        return cloud_secrets(settings).get(settings.qdrant_secret_id, "key")
    return settings.qdrant_api_key.get_secret_value() if settings.qdrant_api_key else None


def embedder(settings: Settings) -> Embedder:
    """Bedrock in a deployment; on this machine a lexicon, which needs no service, and a small model with it
    if that is chosen."""
    if settings.embedding_model:
        from idea_explorer.adapters.aws.client import client
        from idea_explorer.adapters.music.embedders import BedrockEmbedder

        return BedrockEmbedder(
            partial(client, "bedrock-runtime", settings.aws_endpoint_url), settings.embedding_model
        )
    from idea_explorer.adapters.music.embedders import LexiconEmbedder

    if settings.embedder == "wordllama" and not settings.on_lambda:
        from idea_explorer.adapters.music.word_model import LexiconAndModelEmbedder, WordModel

        return LexiconAndModelEmbedder(LexiconEmbedder(), WordModel())
    return LexiconEmbedder()


def library(settings: Settings, owner: str, clock: Clock) -> Library:
    if settings.in_cloud and settings.table_name:
        from idea_explorer.adapters.aws.client import client
        from idea_explorer.adapters.music.dynamodb import DynamoLibrary

        connect = partial(client, "dynamodb", settings.aws_endpoint_url)
        return DynamoLibrary(settings.table_name, connect, clock, owner)
    from idea_explorer.adapters.music.sqlite_library import SqliteLibrary

    return SqliteLibrary(music_file(settings))


def catalogue(settings: Settings, clock: Clock) -> Catalogue | None:
    """Tidal, if there are credentials for it."""
    if not (settings.tidal_client_id and settings.tidal_client_secret) and not (
        settings.tidal_secret_id
    ):
        return None
    from idea_explorer.adapters.music.tidal import API_URL, Tidal

    url = settings.tidal_api_url or API_URL
    return Tidal(
        _tidal_sign_in(settings, clock), clock, country=settings.tidal_country, api_url=url
    )


def _tidal_sign_in(settings: Settings, clock: Clock) -> "SignIn":
    """One for each account in this process: a token serves many explorations."""
    from idea_explorer.adapters.music.tidal_sign_in import AUTH_URL, ClientCredentials, SignIn

    def credentials() -> ClientCredentials:
        if settings.tidal_secret_id:
            secrets = cloud_secrets(settings)
            return ClientCredentials(
                secrets.get(settings.tidal_secret_id, "client_id"),
                secrets.get(settings.tidal_secret_id, "client_secret"),
            )
        assert settings.tidal_client_id is not None
        assert settings.tidal_client_secret is not None
        return ClientCredentials(
            settings.tidal_client_id, settings.tidal_client_secret.get_secret_value()
        )

    url = settings.tidal_auth_url or AUTH_URL
    account = (settings.tidal_secret_id, settings.tidal_client_id, settings.tidal_client_secret)
    return _SIGN_INS.setdefault((url, *account), SignIn(credentials, clock, url))
