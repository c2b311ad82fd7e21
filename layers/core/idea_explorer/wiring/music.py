"""The parts of the discover toolset: what is indexed, what is owned, and the catalogue."""

from functools import partial
from pathlib import Path

from idea_explorer.agent.toolset import Toolset
from idea_explorer.domain.errors import ConfigurationError
from idea_explorer.ports import Clock, Log
from idea_explorer.ports.music import Catalogue, Embedder, Library, TrackIndex
from idea_explorer.settings import Settings

MUSIC = "music.db"


def discover(settings: Settings, owner: str, clock: Clock, log: Log) -> Toolset:
    from idea_explorer.tools.discover import discover_tools

    return discover_tools(
        track_index(settings),
        library(settings, owner, clock),
        catalogue(settings, clock),
        clock,
        log,
    )


def track_index(settings: Settings) -> TrackIndex:
    """Qdrant where it is set up, a file on this machine otherwise."""
    if settings.qdrant_url:
        from idea_explorer.adapters.music.qdrant import QdrantTrackIndex

        return QdrantTrackIndex(
            settings.qdrant_url,
            settings.qdrant_collection,
            embedder(settings),
            api_key=_qdrant_key(settings),
        )
    if missing := missing_for_discover(settings):
        raise ConfigurationError("There is no track index.", hint=missing)
    from idea_explorer.adapters.music.sqlite import SqliteTrackIndex

    return SqliteTrackIndex(music_file(settings), embedder(settings))


def music_file(settings: Settings) -> Path:
    """Where the embedded index and library are."""
    return settings.store.with_name(MUSIC)


def missing_for_discover(settings: Settings) -> str | None:
    """What an operator has to set before the toolset can run; None where nothing is missing."""
    if settings.in_cloud and not settings.qdrant_url:
        return "An operator sets the deployment's parameter QdrantUrl."
    return None


def _qdrant_key(settings: Settings) -> str | None:
    if settings.qdrant_secret_id:
        from idea_explorer.wiring.cloud import cloud_secrets

        return cloud_secrets(settings).get(settings.qdrant_secret_id, "key")
    return settings.qdrant_api_key.get_secret_value() if settings.qdrant_api_key else None


def embedder(settings: Settings) -> Embedder:
    """Bedrock in a deployment; on this machine a lexicon that needs nothing from outside."""
    if settings.embedding_model:
        from idea_explorer.adapters.aws.client import client
        from idea_explorer.adapters.music.bedrock import BedrockEmbedder

        return BedrockEmbedder(
            partial(client, "bedrock-runtime", settings.aws_endpoint_url), settings.embedding_model
        )
    from idea_explorer.adapters.music.lexicon import LexiconEmbedder

    return LexiconEmbedder()


def library(settings: Settings, owner: str, clock: Clock) -> Library:
    if settings.in_cloud and settings.table_name:
        from idea_explorer.adapters.aws.client import client
        from idea_explorer.adapters.music.dynamodb import DynamoLibrary

        connect = partial(client, "dynamodb", settings.aws_endpoint_url)
        return DynamoLibrary(settings.table_name, connect, clock, owner)
    from idea_explorer.adapters.music.sqlite import SqliteLibrary

    return SqliteLibrary(music_file(settings))


def catalogue(settings: Settings, clock: Clock) -> Catalogue | None:
    """Tidal, where there are credentials for it."""
    if not (settings.tidal_client_id and settings.tidal_client_secret) and not (
        settings.tidal_secret_id
    ):
        return None
    from idea_explorer.adapters.music.tidal import ClientCredentials, Tidal

    def credentials() -> ClientCredentials:
        if settings.tidal_secret_id:
            from idea_explorer.wiring.cloud import cloud_secrets

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

    return Tidal(
        credentials,
        clock,
        country=settings.tidal_country,
        **({"api_url": settings.tidal_api_url} if settings.tidal_api_url else {}),
        **({"auth_url": settings.tidal_auth_url} if settings.tidal_auth_url else {}),
    )
