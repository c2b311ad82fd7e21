"""The index of a deployment, in a bucket that several publishers and readers share."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from idea_explorer.adapters.aws.client import client
from idea_explorer.adapters.aws.s3 import Bucket
from idea_explorer.adapters.folder.publisher import FolderPublisher
from idea_explorer.adapters.folder.research import Folder
from idea_explorer.adapters.research_index import bucket as bucket_index
from idea_explorer.adapters.research_index.bucket import KEY, BucketIndex
from idea_explorer.adapters.sqlite.explorations import SqliteStore
from idea_explorer.domain.similar_research import index_document
from idea_explorer.settings import Settings
from tests.fakes.clock import ManualClock
from tests.fakes.desk import DOCUMENT, IDEA, Desk
from tests.fakes.research import Documents

NOW = datetime(2026, 11, 17, 12, tzinfo=UTC)
TEA = "# Tea rooms in town number {}"


@dataclass
class Deployment:
    """Its bucket, and the documents that are published so far."""

    bucket: str
    documents: Documents = field(default_factory=Documents)

    def open(self, *, publishes: bool = True) -> BucketIndex:
        source = self.documents if publishes else None
        return BucketIndex(Bucket(self.bucket, lambda: client("s3")), lambda: source)

    def publish(self, number: int, now: datetime = NOW) -> bool:
        name = f"2026-01-01-tea-{number}/research.md"
        self.documents.texts[name] = TEA.format(number)
        return self.open().add(f"ideas/{name}", TEA.format(number), now)

    def objects(self) -> set[str]:
        listed = client("s3").list_objects_v2(Bucket=self.bucket, Prefix="research/")
        return {each["Key"] for each in listed.get("Contents", [])}

    def put(self, key: str, body: bytes) -> None:
        client("s3").put_object(Bucket=self.bucket, Key=key, Body=body)

    def manifest(self) -> Any:
        return json.loads(client("s3").get_object(Bucket=self.bucket, Key=KEY)["Body"].read())


@pytest.fixture
def deployment(aws: Settings) -> Deployment:
    return Deployment(str(aws.bucket_name))


def similar(index: BucketIndex) -> set[str]:
    found = index.find_similar("Tea rooms in a town")
    return {each.path.split("/")[1].removeprefix("2026-01-01-tea-") for each in found}


def test_an_index_that_is_not_there_is_empty(deployment: Deployment) -> None:
    index = deployment.open()
    assert similar(index) == set()
    assert index.find_exploration("x") is None
    assert index.describe_problems() == {}


def test_what_is_published_is_found_by_everyone(deployment: Deployment) -> None:
    reader = deployment.open(publishes=False)
    similar(reader)
    deployment.publish(1)
    first = similar(reader)
    deployment.publish(2)

    assert first == {"1"}
    assert similar(reader) == {"1", "2"}


def test_one_publication_writes_the_list_alone(deployment: Deployment) -> None:
    assert deployment.publish(1)  # there was no file yet
    before = deployment.objects()
    assert not deployment.publish(2)
    assert deployment.objects() == before
    assert len(before) == 2


def test_a_publisher_that_is_overtaken_loses_nothing(deployment: Deployment) -> None:
    overtakes = [2]

    class Overtaken(Documents):
        def find_changes(self, state: str, versions: Callable[[], Any]) -> Any:
            if overtakes:
                deployment.publish(overtakes.pop())
            return deployment.documents.find_changes(state, versions)

    name = "2026-01-01-tea-1/research.md"
    deployment.documents.texts[name] = TEA.format(1)
    index = BucketIndex(Bucket(deployment.bucket, lambda: client("s3")), Overtaken)
    index.add(f"ideas/{name}", TEA.format(1), NOW)

    assert similar(deployment.open(publishes=False)) == {"1", "2"}
    assert len(deployment.objects()) == 2  # the file that lost is removed


def test_a_day_later_a_new_file_has_what_people_changed(deployment: Deployment) -> None:
    deployment.publish(1)
    deployment.publish(2)
    deployment.documents.read.clear()
    deployment.documents.texts["notes.md"] = "# Tea rooms in town by hand"
    del deployment.documents.texts["2026-01-01-tea-1/research.md"]
    reader = deployment.open(publishes=False)
    same_day = similar(reader)
    assert deployment.publish(3, NOW + timedelta(days=1))

    assert same_day == {"1", "2"}
    assert similar(reader) == {"2", "3", "notes.md"}
    assert len(deployment.objects()) == 2
    assert len(deployment.manifest()["entries"]) == 1


def test_a_long_list_becomes_a_file(
    deployment: Deployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bucket_index, "MAX_RECENT", 2)
    rebuilt = [deployment.publish(number) for number in range(1, 6)]
    assert rebuilt == [True, False, True, False, True]
    assert similar(deployment.open(publishes=False)) == {"1", "2", "3", "4", "5"}


@pytest.mark.parametrize("damage", [b"{", b"", b'{"entries": 1}'])
def test_a_list_that_cannot_be_read_is_written_again(deployment: Deployment, damage: bytes) -> None:
    deployment.publish(1)
    deployment.put(KEY, damage)
    assert similar(deployment.open(publishes=False)) == set()
    deployment.publish(2)
    assert similar(deployment.open(publishes=False)) == {"1", "2"}


@pytest.mark.parametrize("damage", [b"", b"not a database", None])
def test_a_file_that_is_damaged_or_lost_is_written_again(
    deployment: Deployment, damage: bytes | None
) -> None:
    deployment.publish(1)
    deployment.publish(2, NOW + timedelta(days=1))
    (file,) = deployment.objects() - {KEY}
    if damage is None:
        client("s3").delete_object(Bucket=deployment.bucket, Key=file)
    else:
        deployment.put(file, damage)
    assert similar(deployment.open(publishes=False)) == {"2"}  # the list is still there
    assert deployment.publish(3, NOW + timedelta(days=1))
    assert similar(deployment.open(publishes=False)) == {"1", "2", "3"}


def test_the_list_of_an_earlier_version_holds_all_documents(deployment: Deployment) -> None:
    texts = {f"2026-01-01-tea-{number}/research.md": TEA.format(number) for number in range(3)}
    entries = [index_document(f"ideas/{name}", text) for name, text in texts.items()]
    dumped = [entry.model_dump(mode="json", exclude_defaults=True) for entry in entries]
    old = {"entries": dumped, "rebuilt_at": NOW.isoformat()}
    deployment.put(KEY, json.dumps(old).encode())

    assert similar(deployment.open(publishes=False)) == {"0", "1", "2"}
    deployment.documents.texts |= texts
    deployment.publish(3, NOW + timedelta(days=1))
    assert similar(deployment.open(publishes=False)) == {"0", "1", "2", "3"}


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def desk(tmp_path: Path, clock: ManualClock, deployment: Deployment) -> Desk:
    root = tmp_path / "team"
    (root / "ideas" / "market").mkdir(parents=True)
    (root / "ideas" / "market" / "notes.md").write_text("# Bees in Bern\n\nThey fly.")
    folder = Folder(root)
    index = BucketIndex(Bucket(deployment.bucket, lambda: client("s3")), lambda: folder)
    store = SqliteStore(tmp_path / "explorations.db")
    publisher = FolderPublisher(root, tmp_path / "lock")
    return Desk(store, publisher, clock, index=index, research=folder)


def test_publishing_keeps_the_index(desk: Desk, deployment: Deployment) -> None:
    desk.publish(desk.finished())

    index = deployment.open(publishes=False)
    (best, *_) = index.find_similar(IDEA)
    assert (best.path, best.verdict, best.score) == (DOCUMENT, "PIVOT", 1.0)
    assert index.find_document("ideas/market/notes.md") is not None


def test_what_people_removed_is_forgotten_a_day_later(
    desk: Desk, deployment: Deployment, tmp_path: Path, clock: ManualClock
) -> None:
    index = deployment.open(publishes=False)
    desk.publish(desk.finished())
    (tmp_path / "team" / DOCUMENT).unlink()
    desk.publish(desk.finished(idea="Another one"))
    same_day = index.find_document(DOCUMENT)
    clock.pass_time(timedelta(days=1).total_seconds())
    desk.publish(desk.finished(idea="A third one"))

    assert same_day is not None
    assert index.find_document(DOCUMENT) is None
    assert index.find_document("ideas/market/notes.md") is not None


def test_research_is_published_whatever_becomes_of_the_index(desk: Desk) -> None:
    def fail() -> Any:
        raise ZeroDivisionError

    desk.index = BucketIndex(Bucket("no-such-bucket", fail))
    assert desk.publish(desk.finished()).status == "completed"
