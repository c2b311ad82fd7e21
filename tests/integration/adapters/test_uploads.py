"""Files that owners send, in the cloud and on this machine."""

import base64
import json
import random
from datetime import UTC, datetime
from pathlib import Path

import pytest
import requests

from idea_explorer.adapters.uploads import LocalUploads
from idea_explorer.domain import limits
from idea_explorer.domain.errors import InvalidRequestError, MissingError
from idea_explorer.domain.file_kinds import FileSample, detect_kind
from idea_explorer.domain.ids import new_file_id
from idea_explorer.domain.request import ExploreRequest
from idea_explorer.observability.logging import SilentLog
from idea_explorer.ports import FileInfo, Upload, UploadedFile, Uploads
from idea_explorer.settings import Settings
from idea_explorer.usecases.deps import Deps
from idea_explorer.wiring.deps import cloud_deps
from idea_explorer.wiring.local import files_of, local_uploads
from tests.fakes.aws import REGION
from tests.fakes.documents import make_docx, paragraph
from tests.fakes.explorations import an_exploration

DOCX = make_docx(paragraph("Bees"))
DOCX_WITH_PICTURE = make_docx(
    paragraph("Bees"), extra={"word/media/image1.png": random.Random(1).randbytes(400_000)}
)


def send(uploads: Uploads, owner: str, file_id: str, upload: Upload, content: bytes) -> None:
    """As a client does; on this machine the API hands the body on."""
    if isinstance(uploads, LocalUploads):
        assert upload.method == "PUT"
        uploads.store(owner, file_id, content)
    else:
        answer = requests.post(upload.url, data=upload.fields, files={"file": content}, timeout=5)
        assert answer.status_code == 204, answer.text


def test_a_file_is_read_back_by_its_owner(stores: Deps) -> None:
    file_id, upload = stores.uploads.presign("ada", "Notizen – Grüße 🐝.txt", 100)
    with pytest.raises(MissingError):
        stores.uploads.sample("ada", file_id)

    send(stores.uploads, "ada", file_id, upload, b"\x00bees\xff")

    assert stores.uploads.sample("ada", file_id).head == b"\x00bees\xff"
    assert stores.uploads.read("ada", file_id) == UploadedFile(
        "Notizen – Grüße 🐝.txt", b"\x00bees\xff"
    )


def test_a_file_of_another_owner_is_not_there(stores: Deps) -> None:
    file_id, upload = stores.uploads.presign("ada", "notes.txt", 100)
    send(stores.uploads, "ada", file_id, upload, b"bees")

    with pytest.raises(MissingError):
        stores.uploads.sample("eve", file_id)
    with pytest.raises(MissingError):
        stores.uploads.read("eve", file_id)


@pytest.mark.parametrize(
    "file_id",
    ["", "file-", "../../explorations.db", "file-" + "0" * 32, "file-" + "Z" * 32, "a\x00"],
)
def test_an_id_that_leads_nowhere_is_missing(stores: Deps, file_id: str) -> None:
    with pytest.raises(MissingError):
        stores.uploads.sample("ada", file_id)
    with pytest.raises(MissingError):
        stores.uploads.read("ada", file_id)


def test_a_file_that_was_announced_but_never_sent_is_missing(stores: Deps) -> None:
    file_id, _ = stores.uploads.presign("ada", "notes.txt", 100)

    with pytest.raises(MissingError):
        stores.uploads.about("ada", file_id)
    with pytest.raises(MissingError):
        stores.uploads.read("ada", file_id)


@pytest.mark.parametrize(
    ("name", "size", "field"),
    [
        ("", 1, "name"),
        ("../x", 1, "name"),
        ("a\\b", 1, "name"),
        ("a\nb", 1, "name"),
        ("\ud800", 1, "name"),
        ("x" * 201, 1, "name"),
        ("x", -1, "size"),
        ("x", limits.MAX_UPLOAD_BYTES + 1, "size"),
    ],
)
def test_what_cannot_be_uploaded_is_refused(stores: Deps, name: str, size: int, field: str) -> None:
    with pytest.raises(InvalidRequestError) as refused:
        stores.uploads.presign("ada", name, size)
    assert set(refused.value.fields) == {field}


def test_the_files_of_an_exploration_are_its_owners(stores: Deps) -> None:
    ids = []
    for name in ("one.txt", "two.txt"):
        file_id, upload = stores.uploads.presign("ada", name, 100)
        send(stores.uploads, "ada", file_id, upload, name.encode())
        ids.append(file_id)
    exploration = an_exploration(request=ExploreRequest(idea="x", files=tuple(ids)))

    found = files_of(exploration, stores.uploads)

    assert [*found.list()] == [FileInfo("one.txt", 7), FileInfo("two.txt", 7)]
    assert [*found.read_all()] == [
        UploadedFile("one.txt", b"one.txt"),
        UploadedFile("two.txt", b"two.txt"),
    ]
    stolen = files_of(exploration.replace(owner="eve"), stores.uploads)
    assert [*stolen.list(), *stolen.read_all()] == []


@pytest.mark.parametrize("content", [b"", b"bees", DOCX, b"x" * 400_000, DOCX_WITH_PICTURE])
def test_a_sample_tells_the_kind_of_a_file_as_all_of_it_does(stores: Deps, content: bytes) -> None:
    file_id, upload = stores.uploads.presign("ada", "a.docx", len(content))
    send(stores.uploads, "ada", file_id, upload, content)

    sample = stores.uploads.sample("ada", file_id)

    assert sample.name == "a.docx"
    assert detect_kind(sample) is detect_kind(FileSample.of("a.docx", content))


def test_a_file_is_sent_to_the_bucket_in_its_own_region(aws: Settings) -> None:
    """The global address answers with a redirect while a bucket elsewhere is new, and forms lose their
    file on the way."""
    _, upload = cloud_deps(aws, SilentLog()).uploads.presign("ada", "notes.txt", 100)

    assert REGION != "us-east-1"
    assert upload.url == f"https://{aws.bucket_name}.s3.{REGION}.amazonaws.com/"


def test_the_signature_allows_this_object_of_this_size_for_a_while(aws: Settings) -> None:
    file_id, upload = cloud_deps(aws, SilentLog()).uploads.presign("ada", "notes.txt", 1_234)

    assert upload.method == "POST"
    policy = json.loads(base64.b64decode(upload.fields["policy"]))
    assert ["content-length-range", 0, 1_234] in policy["conditions"]
    assert {"bucket": aws.bucket_name} in policy["conditions"]
    assert {"Content-Type": "application/octet-stream"} in policy["conditions"]
    assert {"key": upload.fields["key"]} in policy["conditions"]
    assert upload.fields["key"].endswith(f"/{file_id}")
    assert {"x-amz-algorithm": "AWS4-HMAC-SHA256"} in policy["conditions"]
    until = datetime.strptime(policy["expiration"], "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
    assert 0 < (until - datetime.now(UTC)).total_seconds() <= 900


def test_on_this_machine_no_more_is_taken_than_was_announced(tmp_path: Path) -> None:
    uploads = local_uploads(Settings(research_dir=tmp_path), "http://127.0.0.1:8787")
    file_id, upload = uploads.presign("ada", "notes.txt", 3)

    assert upload == Upload("PUT", f"http://127.0.0.1:8787/files/{file_id}", {})
    with pytest.raises(InvalidRequestError):
        uploads.store("ada", file_id, b"1234")
    with pytest.raises(MissingError):
        uploads.store("eve", file_id, b"123")
    with pytest.raises(MissingError):
        uploads.store("ada", new_file_id(), b"123")
    with pytest.raises(MissingError):
        uploads.sample("ada", file_id)


def test_a_file_of_this_machine_needs_no_upload(tmp_path: Path) -> None:
    uploads = local_uploads(Settings(research_dir=tmp_path))

    file_id = uploads.add("ada", "notes.txt", b"bees")

    assert uploads.read("ada", file_id) == UploadedFile("notes.txt", b"bees")
