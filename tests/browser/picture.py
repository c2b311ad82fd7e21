"""Takes the README's picture of the console: a report by the offline model, served by `idea serve`."""

import shutil
import tempfile
from pathlib import Path

from tests.browser.driver import ROOT, browser
from tests.fakes.served import TOKEN, Served

PICTURE = ROOT / "docs" / "images" / "console.png"
IDEA = "A subscription box for urban beekeepers"
SIZE = (1100, 820)


def take_picture(folder: Path) -> None:
    shutil.copytree(ROOT / "examples" / "ideas", folder / "ideas")
    with Served(folder, {}) as served, browser(folder / "profile") as tab:
        tab.size(*SIZE)
        tab.prefer(prefers_color_scheme="light")
        tab.sign_in(served.url, TOKEN)
        tab.go("#/new")
        tab.type("#idea", IDEA)
        tab.press("Explore", "form")
        tab.find('.badge[data-status="completed"]')
        tab.press("Read the report")
        tab.find(".report h2")
        PICTURE.parent.mkdir(exist_ok=True)
        PICTURE.write_bytes(tab.chrome.get_screenshot_as_png())


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        take_picture(Path(scratch))
