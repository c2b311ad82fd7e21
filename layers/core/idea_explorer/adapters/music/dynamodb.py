"""The listeners' libraries in the deployment's DynamoDB table: `LIBRARY#owner`, then `ISRC#` or `ALBUM#`."""

import hashlib
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from idea_explorer.adapters.aws.client import aws_errors
from idea_explorer.adapters.dynamodb.schema import PK, SK, Item, decoded, encoded
from idea_explorer.domain.errors import RateLimitedError
from idea_explorer.domain.music import OwnedTrack
from idea_explorer.domain.retry import RetryPolicy
from idea_explorer.ports import Clock

SYSTEM = "DynamoDB"
LIBRARY = "LIBRARY#"
READ_BATCH = 100  # what BatchGetItem takes: one request answers for the longest result
WRITE_BATCH = 25  # what BatchWriteItem takes
ATTEMPTS = 8
RETRY = RetryPolicy(first=0.1, attempts=ATTEMPTS)


class DynamoLibrary:
    """Keeps the promises of Library for one owner; nobody sees another's."""

    def __init__(self, table: str, connect: Callable[[], Any], clock: Clock, owner: str) -> None:
        self._table = table
        self._connect = connect
        self._clock = clock
        self._owner = owner

    def add(self, tracks: Sequence[OwnedTrack]) -> None:
        """In batches. After a failure the same call again completes it."""
        names = dict.fromkeys(_isrc_name(track.isrc) for track in tracks)
        names |= dict.fromkeys(_album_name(track.album_key) for track in tracks if track.album_key)
        keys = [self._key(name) for name in names]
        for start in range(0, len(keys), WRITE_BATCH):
            self._write(
                [{"PutRequest": {"Item": key}} for key in keys[start : start + WRITE_BATCH]]
            )

    def known_isrcs(self, isrcs: Collection[str]) -> frozenset[str]:
        return self._known({_isrc_name(isrc): isrc for isrc in isrcs})

    def known_albums(self, keys: Collection[str]) -> frozenset[str]:
        return self._known({_album_name(key): key for key in keys})

    def _known(self, asked: Mapping[str, str]) -> frozenset[str]:
        """Not the newest state, for half the price: a library changes by the day."""
        found: set[str] = set()
        names = list(asked)
        for start in range(0, len(names), READ_BATCH):
            keys = [self._key(name) for name in names[start : start + READ_BATCH]]
            with aws_errors(SYSTEM):
                answer = self._connect().batch_get_item(
                    RequestItems={self._table: {"Keys": keys, "ProjectionExpression": SK}}
                )
            if answer.get("UnprocessedKeys"):
                raise RateLimitedError(f"AWS {SYSTEM} answered only in part.", hint="Try again.")
            items = answer["Responses"].get(self._table, [])
            found |= {asked[decoded(item)[SK]] for item in items}
        return frozenset(found)

    def _write(self, requests: list[dict[str, Any]]) -> None:
        for failed in range(1, ATTEMPTS + 1):
            with aws_errors(SYSTEM):
                answer = self._connect().batch_write_item(RequestItems={self._table: requests})
            requests = answer.get("UnprocessedItems", {}).get(self._table, [])
            if not requests:
                return
            self._clock.sleep(RETRY.pause(failed))
        raise RateLimitedError(f"AWS {SYSTEM} took only a part.", hint="Import the file again.")

    def _key(self, name: str) -> Item:
        return encoded({PK: f"{LIBRARY}{self._owner}", SK: name})


def _isrc_name(isrc: str) -> str:
    return f"ISRC#{isrc}"


def _album_name(key: str) -> str:
    """Hashed: names may be longer than a sort key."""
    return f"ALBUM#{hashlib.sha256(key.encode()).hexdigest()}"
