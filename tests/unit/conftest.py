"""What many tests of the API call."""

from pathlib import Path

import pytest

from tests.fakes.api import Api


@pytest.fixture
def api(tmp_path: Path) -> Api:
    return Api(tmp_path)
