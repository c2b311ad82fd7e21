"""Takes the README's pictures of the console, light and dark: a report by the offline model, served by
`idea serve`."""

import shutil
import tempfile
from pathlib import Path

from tests.browser.driver import ROOT, browser
from tests.fakes.served import TOKEN, Served

PICTURES = {"light": "console.png", "dark": "console-dark.png"}
IDEA = "A subscription box for urban beekeepers"
SIZE = (1100, 820)


def take_pictures(folder: Path) -> None:
    shutil.copytree(ROOT / "examples" / "ideas", folder / "ideas")
    with Served(folder, {}) as served, browser(folder / "profile") as tab:
        tab.size(*SIZE)
        tab.sign_in(served.url, TOKEN)
        tab.go("#/new")
        tab.type("#idea", IDEA)
        tab.press("Explore", "form")
        tab.find(".report h2")
        for scheme, name in PICTURES.items():
            tab.prefer(prefers_color_scheme=scheme, prefers_reduced_motion="reduce")
            (ROOT / "docs" / "images" / name).write_bytes(tab.chrome.get_screenshot_as_png())


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        take_pictures(Path(scratch))
