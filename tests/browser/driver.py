"""A real Chromium without a window, and what the tests ask of it."""

import base64
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from selenium.common.exceptions import (
    ElementClickInterceptedException,
    JavascriptException,
    NoSuchElementException,
    StaleElementReferenceException,
)
from selenium.webdriver import Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement

ROOT = Path(__file__).resolve().parents[2]
ARTIFACTS = ROOT / "artifacts" / "browser"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = """--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking
--disable-component-update --disable-sync --disable-dev-shm-usage --hide-scrollbars""".split()
WAIT_SECONDS = 60.0  # where other programs use the cores, everything takes longer
MAX_SHOT_PIXELS = 8_000

Found = TypeVar("Found")


def missing() -> str:
    """Why there can be no browser here; empty where there can."""
    if not (os.environ.get("CHROMIUM") or any(shutil.which(name) for name in BROWSERS)):
        return "There is no Chromium here: install the packages chromium and chromium-driver."
    if not shutil.which("chromedriver"):
        return "There is no chromedriver here: install the package chromium-driver."
    return ""


class Browser:
    """One tab. Everything waits until what it looks for is there."""

    def __init__(self, chrome: Chrome) -> None:
        self.chrome = chrome

    def open(self, url: str) -> None:
        self.chrome.get(url)

    def run(self, script: str, *arguments: object) -> Any:
        return self.chrome.execute_script(script, *arguments)

    def size(self, width: int, height: int = 900) -> None:
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.chrome.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)

    def prefer(self, **features: str) -> None:
        """Media features, such as prefers_color_scheme="dark"."""
        named = [{"name": k.replace("_", "-"), "value": v} for k, v in features.items()]
        self.chrome.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": named})

    def network(self, *, offline: bool = False, latency_ms: int = 0) -> None:
        self.chrome.execute_cdp_cmd("Network.enable", {})
        conditions = {"offline": offline, "latency": latency_ms}
        unlimited = {"downloadThroughput": -1, "uploadThroughput": -1}
        self.chrome.execute_cdp_cmd("Network.emulateNetworkConditions", conditions | unlimited)

    def until(self, look: Callable[[], Found], what: str, seconds: float = WAIT_SECONDS) -> Found:
        end = time.monotonic() + seconds
        while True:
            try:
                if found := look():
                    return found
            except (NoSuchElementException, StaleElementReferenceException, JavascriptException):
                pass
            if time.monotonic() > end:
                self.shot("gave-up")
                raise AssertionError(f"never seen: {what}\n{self.text()[:3000]}")
            time.sleep(0.05)

    def find(self, selector: str) -> WebElement:
        """A visible element."""

        def look() -> WebElement | None:
            every = self.chrome.find_elements(By.CSS_SELECTOR, selector)
            return next((element for element in every if element.is_displayed()), None)

        return self.until(look, selector)  # type: ignore[return-value]  # until gives what is there

    def all(self, selector: str) -> list[WebElement]:
        return self.chrome.find_elements(By.CSS_SELECTOR, selector)

    def text(self, selector: str = "main") -> str:
        return str(
            self.run("return document.querySelector(arguments[0])?.innerText ?? ''", selector)
        )

    def sees(self, words: str, selector: str = "main") -> None:
        self.until(lambda: words in self.text(selector), words)

    def press(self, label: str, within: str = "") -> None:
        """Click a button or link by what it says."""

        def press() -> bool:
            every = self.chrome.find_elements(By.CSS_SELECTOR, f"{within} button, {within} a")
            found = next((e for e in every if e.is_displayed() and label in e.text), None)
            if found is not None:
                self.click(found)
            return found is not None

        # what is drawn anew meanwhile is looked for again
        self.until(press, f"button {label}")

    def click(self, element: WebElement) -> None:
        try:
            element.click()
        except ElementClickInterceptedException:  # below a bar that stays in view
            self.run("arguments[0].scrollIntoView({ block: 'center' })", element)
            element.click()

    def type(self, selector: str, words: str) -> None:
        element = self.find(selector)
        element.clear()
        element.send_keys(words)

    def sign_in(self, url: str, token: str) -> None:
        self.open(url)
        self.sign_out()
        self.complaints()  # of a token for another server that had the same port
        self.open(f"{url}/?fresh={time.monotonic()}")
        self.type("#token", token)
        self.press("Sign in", "form")
        self.find("#nav a")

    def sign_out(self) -> None:
        self.run("sessionStorage.clear(); localStorage.clear()")

    def choose(self, name: str, value: str) -> None:
        """Set a field of the form for a new idea: a chip by what it says, or a field below Options."""
        chips = self.all(f"#{name} .chip")
        if chips:
            next(chip for chip in chips if chip.text == value).click()
            return
        self.run("document.querySelector('.options').open = true")
        self.find(f"#{name}").send_keys(value)

    def go(self, view: str) -> None:
        self.run("location.hash = arguments[0]", view)

    def complaints(self) -> list[str]:
        """Errors that the page or the browser reported since the last look."""
        log = self.chrome.get_log("browser")  # type: ignore[no-untyped-call]
        return [entry["message"] for entry in log if entry["level"] == "SEVERE"]

    def shot(self, name: str) -> None:
        """The whole page as a picture. What is far from the window is not drawn: so it is made as high."""
        ARTIFACTS.mkdir(parents=True, exist_ok=True)
        width, height, whole = self.run(
            "return [innerWidth, innerHeight, Math.max(innerHeight, document.documentElement.scrollHeight)]"
        )
        shown = min(whole, MAX_SHOT_PIXELS)
        self.size(width, shown)
        for _ in range(3):
            self.run("return new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")
        picture = self.chrome.execute_cdp_cmd(
            "Page.captureScreenshot",
            {"clip": {"x": 0, "y": 0, "width": width, "height": shown, "scale": 1}},
        )
        (ARTIFACTS / f"{name}.png").write_bytes(base64.b64decode(picture["data"]))
        self.size(width, height)


@contextmanager
def browser(profile: Path) -> Iterator[Browser]:
    options = ChromeOptions()
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    found = next((path for name in BROWSERS if (path := shutil.which(name))), "")
    options.binary_location = os.environ.get("CHROMIUM") or found
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    chrome = Chrome(options=options, service=Service(shutil.which("chromedriver")))
    try:
        yield Browser(chrome)
    finally:
        chrome.quit()
