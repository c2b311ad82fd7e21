"""The console where API Gateway serves it: under the name of a stage."""

import pytest

from tests.browser.driver import Browser
from tests.browser.stage import PREFIX, TOKEN, Stage

pytestmark = pytest.mark.slow


def test_every_address_works_under_a_stage(tab: Browser, stage: Stage) -> None:
    whole = stage.ended(report="# Bees\n\nThey fly.", idea="Bees under a stage")

    tab.open(f"{stage.url}{PREFIX}")
    tab.type("#token", TOKEN)
    tab.press("Sign in", "form")
    tab.press("Bees under a stage")
    tab.sees("They fly.", ".report")

    asked = tab.run(
        "return performance.getEntriesByType('resource').map((r) => new URL(r.name).pathname)"
    )
    assert {f"{PREFIX}/console/app.js", f"{PREFIX}/explorations/{whole.id}/report"} <= set(asked)
    assert all(path.startswith(f"{PREFIX}/") for path in asked)
