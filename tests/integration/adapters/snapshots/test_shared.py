"""Snapshots that the workers of a deployment share in S3."""

import io
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from idea_explorer.adapters.aws.client import client
from idea_explorer.adapters.aws.s3 import Bucket
from idea_explorer.adapters.snapshots.cache import S3Packs, Snapshots
from idea_explorer.settings import Settings
from tests.fakes.code_repository import SHA, tarball
from tests.fakes.engine import RecordedLog

FILES = {"README.md": "# Tea\n", "src/app.py": "print('tea')\n"}
OTHER = "a" * 40


class Worker:
    """A function with a disk of its own."""

    def __init__(self, folder: Path, bucket: str) -> None:
        self._snapshots = Snapshots(folder)
        self._bucket = bucket
        self.log = RecordedLog()
        self.downloads = 0

    def _download(self) -> BinaryIO:
        self.downloads += 1
        return io.BytesIO(tarball(FILES))

    def open(self, repository: str = "acme/tea", sha: str = SHA) -> list[str]:
        shared = S3Packs(Bucket(self._bucket, partial(client, "s3")), repository, self.log)
        pack = self._snapshots.of_commit(repository, sha, self._download, shared)
        shared.finish()
        assert bytes(pack.text) == "".join(FILES.values()).encode()
        return [entry.path for entry in pack.entries]


@pytest.fixture
def bucket(aws: Settings) -> str:
    assert aws.bucket_name is not None
    return aws.bucket_name


def keys(bucket: str) -> list[str]:
    listed = client("s3").list_objects_v2(Bucket=bucket)
    return [item["Key"] for item in listed.get("Contents", [])]


def test_what_one_worker_fetched_the_next_one_finds(bucket: str, tmp_path: Path) -> None:
    first, second = (Worker(tmp_path / name, bucket) for name in ("one", "two"))

    seen = [first.open(), first.open(), second.open(), second.open()]

    assert seen == [list(FILES)] * 4
    assert (first.downloads, second.downloads) == (1, 0)
    assert first.log.lines == second.log.lines == []


def test_it_stands_under_its_repository_and_commit(bucket: str, tmp_path: Path) -> None:
    Worker(tmp_path / "one", bucket).open("Acme/Tea")
    Worker(tmp_path / "two", bucket).open("acme/coffee")
    third = Worker(tmp_path / "three", bucket)
    third.open("acme/tea", OTHER)

    assert keys(bucket) == [
        f"snapshots/acme/coffee/{SHA}-1048576.pack.gz",
        f"snapshots/acme/tea/{SHA}-1048576.pack.gz",
        f"snapshots/acme/tea/{OTHER}-1048576.pack.gz",
    ]
    assert third.downloads == 1


@pytest.mark.parametrize(
    "damage", [lambda b: b[: len(b) // 2], lambda b: b"nonsense", lambda b: b""]
)
def test_a_damaged_one_is_fetched_anew(
    bucket: str, tmp_path: Path, damage: Callable[[bytes], bytes]
) -> None:
    Worker(tmp_path / "one", bucket).open()
    (key,) = keys(bucket)
    whole = client("s3").get_object(Bucket=bucket, Key=key)["Body"].read()
    client("s3").put_object(Bucket=bucket, Key=key, Body=damage(whole))
    second = Worker(tmp_path / "two", bucket)

    second.open()

    assert second.downloads == 1
    assert client("s3").get_object(Bucket=bucket, Key=key)["Body"].read() == whole
    assert not list((tmp_path / "two").glob("*.part"))


def test_a_bucket_that_fails_is_no_reason_for_a_run_to_fail(bucket: str, tmp_path: Path) -> None:
    del bucket
    worker = Worker(tmp_path / "one", "no-such-bucket")

    assert worker.open() == list(FILES)

    assert worker.downloads == 1
    assert len(worker.log.of("snapshot_not_fetched")) == 1
    assert len(worker.log.of("snapshot_not_kept")) == 1


def test_what_is_being_kept_is_waited_for_at_the_end(bucket: str, tmp_path: Path) -> None:
    asked = threading.Event()

    def connect() -> Any:
        assert asked.wait(5)
        return client("s3")

    (tmp_path / "a.pack").write_bytes(b"tea")
    packs = S3Packs(Bucket(bucket, connect), "acme/tea")
    packs.keep("a.pack", (tmp_path / "a.pack").open("rb"))
    before = keys(bucket)
    asked.set()

    packs.finish()

    assert (before, keys(bucket)) == ([], ["snapshots/acme/tea/a.pack.gz"])
