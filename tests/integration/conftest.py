"""What many tests work against: stores (embedded and cloud by the same name), a GitHub, and music."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from idea_explorer.observability.logging import SilentLog
from idea_explorer.settings import Settings
from idea_explorer.usecases.deps import Deps
from idea_explorer.wiring.deps import cloud_deps, local_deps
from tests.fakes.aws import REGION, fake_aws
from tests.fakes.discovering import Music, sample_music, sample_tidal
from tests.fakes.github_server import FakeGitHub
from tests.fakes.tidal_server import FakeTidal


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[Settings]:
    monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
    with fake_aws() as settings:
        yield settings


@pytest.fixture(params=["embedded", "cloud"])
def stores(request: pytest.FixtureRequest, tmp_path: Path) -> Deps:
    if request.param == "cloud":
        return cloud_deps(request.getfixturevalue("aws"), SilentLog())
    return local_deps(Settings(research_dir=tmp_path), SilentLog())


@pytest.fixture
def github(tmp_path: Path) -> Iterator[FakeGitHub]:
    with FakeGitHub(tmp_path / "github", token="t0ken") as server:
        yield server


@pytest.fixture(scope="module")
def music(tmp_path_factory: pytest.TempPathFactory) -> Music:
    return sample_music(tmp_path_factory.mktemp("music"))


@pytest.fixture
def tidal() -> Iterator[FakeTidal]:
    with sample_tidal() as server:
        yield server
