"""Explorations as an earlier version stored them, put into this version's stores."""

import json
import shutil
import sqlite3
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from idea_explorer.adapters.aws.client import client
from idea_explorer.api.gateway import build_gateway_event
from idea_explorer.api.server import ApiServer
from idea_explorer.domain.ids import ExplorationId
from idea_explorer.domain.tokens import dump_tokens, make_token_record
from idea_explorer.observability.logging import SilentLog
from idea_explorer.settings import Settings
from idea_explorer.wiring.deps import cloud_deps
from tests.fakes.api import Api
from tests.fakes.functions import Context, handler_of, set_environment
from tests.fakes.served import TOKEN
from tests.fakes.serving import Listening

STORED = Path(__file__).parents[1] / "fixtures" / "stored"
STORE = Path(".idea-explorer") / "explorations.db"  # in a folder of research


def committed(name: str) -> Any:
    return json.loads((STORED / name).read_text("utf-8"))


def restore(path: Path) -> Path:
    """The embedded store in a new file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    db = sqlite3.connect(path)
    db.create_function("zlib", 1, lambda text: zlib.compress(text.encode()))
    db.executescript((STORED / "explorations.sql").read_text("utf-8"))
    db.close()
    return path


def restore_folder(folder: Path) -> Path:
    """A folder of research with its documents and its store."""
    restore(folder / STORE)
    shutil.copytree(STORED / "ideas", folder / "ideas")
    return folder


def rows(query: str, *values: str) -> list[tuple[Any, ...]]:
    """What the dump itself says, read by nothing of ours."""
    return _dump().execute(query, values).fetchall()


@cache
def _dump() -> sqlite3.Connection:
    db = sqlite3.connect(":memory:")
    db.create_function("zlib", 1, lambda text: text)
    db.executescript((STORED / "explorations.sql").read_text("utf-8"))
    return db


def restore_deployment(settings: Settings) -> None:
    """The table's items and the bucket's objects."""
    data = committed("deployment.json")
    for item in data["items"]:
        client("dynamodb").put_item(TableName=settings.table_name, Item=_binary(item))
    for key, found in data["objects"].items():
        body = zlib.compress(found["zlib"].encode()) if "zlib" in found else found.get("text", "")
        client("s3").put_object(
            Bucket=settings.bucket_name,
            Key=key,
            Body=body,
            ContentType=found["type"],
            Metadata=found.get("metadata", {}),
        )


def _binary(item: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: {"B": zlib.compress(value["zlib"].encode())} if "zlib" in value else value
        for name, value in item.items()
    }


def leaves(value: object, name: str = "") -> Iterator[tuple[str, str]]:
    """Every value that says something, with the name it stands under; where it is nested does not count."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, key)
    elif isinstance(value, list):
        for inner in value:
            yield from leaves(inner, name)
    elif value not in (None, "", False, 0):
        yield name, json.dumps(value)


class EmbeddedApi:
    """The API over the embedded store of before."""

    owner = "local"

    def __init__(self, folder: Path) -> None:
        restore(folder / "store.db")
        self.api = Api(folder)
        self.ids: dict[str, str] = committed("explorations.json")
        self.answers = committed("answers-embedded.json")

    def get(self, path: str, *, markdown: bool = False) -> tuple[int, Any]:
        accept = {} if markdown else {"Accept": "application/json"}
        reply = self.api.get(path, owner=self.owner, headers=accept)
        return reply.status, reply.text if markdown else reply.json

    def record(self, exploration_id: str) -> Any:
        return self.api.store.load(ExplorationId(exploration_id)).model_dump(mode="json")

    def stored_record(self, exploration_id: str) -> Any:
        ((text,),) = rows("SELECT record FROM explorations WHERE id = ?", exploration_id)
        return json.loads(text)

    def stored_events(self, exploration_id: str) -> list[Any]:
        found = rows("SELECT number, data FROM events WHERE id = ? ORDER BY number", exploration_id)
        return [{"id": number, "data": json.loads(data)} for number, data in found]

    def stored_report(self, exploration_id: str) -> str | None:
        found = rows("SELECT markdown FROM reports WHERE id = ?", exploration_id)
        return found[0][0] if found else None

    @contextmanager
    def listening(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
        """For the commands that ask a deployment."""
        tokens = dump_tokens([make_token_record(TOKEN, self.owner, now=self.api.clock.now())])
        server = ApiServer(("127.0.0.1", 0), self.api.handle, lambda: tokens)
        monkeypatch.setenv("IDEA_API_TOKEN", TOKEN)
        monkeypatch.setenv("IDEA_API_URL", server.url)
        with Listening(server):
            yield


class DeployedApi:
    """The API function over the table and the bucket of before."""

    def __init__(self, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
        restore_deployment(settings)
        set_environment(settings.model_copy(update={"events_wait_seconds": 0.0}), monkeypatch)
        self._handler = handler_of("api")
        self._stores = cloud_deps(settings, SilentLog())
        self._data = committed("deployment.json")
        self.ids: dict[str, str] = self._data["explorations"]
        self.answers = committed("answers-deployment.json")

    def get(self, path: str, *, markdown: bool = False) -> tuple[int, Any]:
        accept = {} if markdown else {"Accept": "application/json"}
        return self._call("GET", path, accept, b"")

    def post(self, path: str, body: object) -> tuple[int, Any]:
        return self._call("POST", path, {}, json.dumps(body).encode())

    def _call(
        self, method: str, path: str, headers: dict[str, str], body: bytes
    ) -> tuple[int, Any]:
        """As the owner of what the path names."""
        owner = "queue" if self.ids["queue-message"] in path else "ada"
        answer = self._handler(build_gateway_event(method, path, headers, body, owner), Context())
        told = answer["body"]
        is_json = method == "POST" or "Accept" in headers
        return answer["statusCode"], json.loads(told) if is_json else told

    def record(self, exploration_id: str) -> Any:
        found = self._stores.explorations.load(ExplorationId(exploration_id))
        return found.model_dump(mode="json")

    def stored_record(self, exploration_id: str) -> Any:
        (item,) = self._items(exploration_id, "RECORD")
        return json.loads(item["record"]["zlib"])

    def stored_events(self, exploration_id: str) -> list[Any]:
        return [
            {"id": int(item["sk"]["S"][6:]), "data": json.loads(item["data"]["S"])}
            for item in self._items(exploration_id, "EVENT#")
        ]

    def stored_report(self, exploration_id: str) -> str | None:
        (item,) = self._items(exploration_id, "RECORD")
        key = item.get("report", {}).get("S")
        return str(self._data["objects"][key]["text"]) if key else None

    def _items(self, exploration_id: str, kind: str) -> list[Any]:
        return [
            item
            for item in self._data["items"]
            if item["pk"]["S"] == exploration_id and item["sk"]["S"].startswith(kind)
        ]
