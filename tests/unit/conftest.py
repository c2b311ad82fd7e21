"""What many tests of the API call."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.fakes.api import Api


@pytest.fixture
def api(tmp_path: Path) -> Api:
    from tests.fakes.api import Api  # takes a second, which most tests do not need

    return Api(tmp_path)
