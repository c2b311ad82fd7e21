"""Listeners' libraries in the deployment's table, under `LIBRARY#owner` and `ISRC#…` or `ALBUM#…`."""

import hashlib
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from idea_explorer.adapters.aws.client import map_aws_errors
from idea_explorer.adapters.dynamodb.schema import PK, SK, Item, decode, encode
from idea_explorer.domain.errors import RateLimitedError
from idea_explorer.domain.music import OwnedTrack
from idea_explorer.domain.retry import RetryPolicy
from idea_explorer.ports import Clock

SYSTEM = "DynamoDB"
LIBRARY = "LIBRARY#"
ISRC = "ISRC#"
READ_BATCH = 100  # the most that BatchGetItem takes, enough for the longest result
WRITE_BATCH = 25  # the most that BatchWriteItem takes
ATTEMPTS = 8
RETRY = RetryPolicy(first=0.1, attempts=ATTEMPTS)


class DynamoLibrary:
    """The library of one owner; nobody sees another's."""

    def __init__(self, table: str, connect: Callable[[], Any], clock: Clock, owner: str) -> None:
        self._table = table
        self._connect = connect
        self._clock = clock
        self._owner = owner

    def add(self, tracks: Sequence[OwnedTrack]) -> None:
        """In batches. After a failure, repeating the call completes it."""
        items = {_isrc_name(track.isrc): _names(track) for track in tracks}
        items |= {_album_name(track.album_key): {} for track in tracks if track.album_key}
        self._write_all(
            [{"PutRequest": {"Item": self._key(name, **more)}} for name, more in items.items()]
        )

    def tracks(self) -> Sequence[OwnedTrack]:
        """Those that were added by an earlier version have no names."""
        found: list[OwnedTrack] = []
        start: dict[str, Any] = {}
        while True:
            with map_aws_errors(SYSTEM):
                page = self._connect().query(
                    TableName=self._table,
                    KeyConditionExpression="#pk = :pk AND begins_with(#sk, :isrc)",
                    ExpressionAttributeNames={"#pk": PK, "#sk": SK},
                    ExpressionAttributeValues=encode(
                        {":pk": f"{LIBRARY}{self._owner}", ":isrc": ISRC}
                    ),
                    **start,
                )
            found += [_track(decode(item)) for item in page["Items"]]
            if "LastEvaluatedKey" not in page:
                return sorted(found, key=lambda t: (t.artist, t.album, t.title, t.isrc))
            start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}

    def remove(self, isrcs: Collection[str]) -> None:
        """Albums of which nothing is left go first: after a failure, repeating the call completes it."""
        owned = self.tracks()
        wanted = {track.isrc: track.album_key for track in owned if track.isrc in isrcs}
        left = {track.album_key for track in owned if track.isrc not in wanted}
        gone = {key for key in wanted.values() if key and key not in left}
        names = [*map(_album_name, gone), *map(_isrc_name, wanted)]
        self._write_all([{"DeleteRequest": {"Key": self._key(name)}} for name in names])

    def known_isrcs(self, isrcs: Collection[str]) -> frozenset[str]:
        return self._known({_isrc_name(isrc): isrc for isrc in isrcs})

    def known_albums(self, keys: Collection[str]) -> frozenset[str]:
        return self._known({_album_name(key): key for key in keys})

    def _known(self, asked: Mapping[str, str]) -> frozenset[str]:
        """Eventually consistent reads cost half as much, and a library changes rarely."""
        found: set[str] = set()
        names = list(asked)
        for start in range(0, len(names), READ_BATCH):
            keys = [self._key(name) for name in names[start : start + READ_BATCH]]
            with map_aws_errors(SYSTEM):
                response = self._connect().batch_get_item(
                    RequestItems={self._table: {"Keys": keys, "ProjectionExpression": SK}}
                )
            if response.get("UnprocessedKeys"):
                raise RateLimitedError(
                    f"AWS {SYSTEM} returned only a part of the items.", hint="Try again."
                )
            items = response["Responses"].get(self._table, [])
            found |= {asked[decode(item)[SK]] for item in items}
        return frozenset(found)

    def _write_all(self, requests: list[dict[str, Any]]) -> None:
        for start in range(0, len(requests), WRITE_BATCH):
            self._write(requests[start : start + WRITE_BATCH])

    def _write(self, requests: list[dict[str, Any]]) -> None:
        for failed in range(1, ATTEMPTS + 1):
            with map_aws_errors(SYSTEM):
                response = self._connect().batch_write_item(RequestItems={self._table: requests})
            requests = response.get("UnprocessedItems", {}).get(self._table, [])
            if not requests:
                return
            self._clock.sleep(RETRY.pause(failed))
        raise RateLimitedError(
            f"AWS {SYSTEM} stored only a part of the items.", hint="Import the file again."
        )

    def _key(self, name: str, **attributes: str) -> Item:
        return encode({PK: f"{LIBRARY}{self._owner}", SK: name, **attributes})


def _isrc_name(isrc: str) -> str:
    return f"{ISRC}{isrc}"


def _names(track: OwnedTrack) -> dict[str, str]:
    named = {"title": track.title, "artist": track.artist, "album": track.album}
    return {name: value for name, value in named.items() if value}


def _track(item: Item) -> OwnedTrack:
    named = {name: str(item.get(name) or "") for name in ("title", "artist", "album")}
    return OwnedTrack(isrc=str(item[SK]).removeprefix(ISRC), **named)


def _album_name(key: str) -> str:
    """Hashed, because names may be longer than a sort key can be."""
    return f"ALBUM#{hashlib.sha256(key.encode()).hexdigest()}"
