"""One browser for all tests; each starts signed out."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browser.driver import Browser, browser, missing
from tests.browser.stage import Stage


@pytest.fixture(scope="session")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    reason = missing()
    if reason:
        pytest.skip(reason)
    with browser(tmp_path_factory.mktemp("profile")) as running:
        yield running


@pytest.fixture
def tab(chromium: Browser) -> Browser:
    # a server of the test before may have had the port, and so the address, of the next one
    chromium.run("if (origin !== 'null') { sessionStorage.clear(); localStorage.clear() }")
    chromium.open("about:blank")
    chromium.size(1100)
    chromium.network()
    chromium.prefer(prefers_color_scheme="light")
    chromium.complaints()  # those of the test before
    return chromium


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    with Stage(tmp_path) as there:
        yield there
