"""What many tests work against: stores, the embedded one and the cloud's by the same name, and a GitHub."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from idea_explorer.settings import Settings
from idea_explorer.wiring import Stores, cloud_stores, local_stores
from tests.fakes.aws import REGION, fake_aws
from tests.fakes.github_server import FakeGitHub


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[Settings]:
    monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
    with fake_aws() as settings:
        yield settings


@pytest.fixture(params=["embedded", "cloud"])
def stores(request: pytest.FixtureRequest, tmp_path: Path) -> Stores:
    if request.param == "cloud":
        return cloud_stores(request.getfixturevalue("aws"))
    return local_stores(Settings(research_dir=tmp_path))


@pytest.fixture
def github(tmp_path: Path) -> Iterator[FakeGitHub]:
    with FakeGitHub(tmp_path / "github", token="t0ken") as server:
        yield server
