"""Lighthouse's scores for the main views of `idea serve`, on a phone and on a desktop. Exits with 1 below 95.

Lighthouse is installed into artifacts/ by npm: it is no dependency of this project.
"""

import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx

from tests.browser.driver import BROWSERS, ROOT
from tests.fakes.served import TOKEN, Served

FOLDER = ROOT / "artifacts" / "lighthouse"
PACKAGE = "lighthouse@12.8.2"
SCRIPT = ROOT / "scripts" / "node" / "lighthouse.mjs"
IDEAS = ("A subscription box for urban beekeepers", "Repair cafés inside public libraries")
MIN_SCORE = 95
SECONDS = 120


def install() -> None:
    if (FOLDER / "node_modules" / "lighthouse").exists():
        return
    FOLDER.mkdir(parents=True, exist_ok=True)
    npm = ["npm", "install", "--prefix", str(FOLDER), "--silent", "--no-audit", "--no-fund"]
    subprocess.run([*npm, PACKAGE], check=True)


def explore(client: httpx.Client, idea: str) -> str:
    """The id of an exploration by the offline model that has its report."""
    exploration_id = str(client.post("/explorations", json={"idea": idea}).json()["id"])
    end = time.monotonic() + SECONDS
    while client.get(f"/explorations/{exploration_id}").json()["status"] != "completed":
        if time.monotonic() > end:
            raise TimeoutError(f"{idea} was not explored within {SECONDS} seconds.")
        time.sleep(0.5)
    return exploration_id


def measure(folder: Path) -> list[dict[str, Any]]:
    shutil.copytree(ROOT / "examples" / "ideas", folder / "ideas")
    with Served(folder, {}) as served, served.client() as client:
        last = [explore(client, idea) for idea in IDEAS][-1]
        views = {
            "Home": "#/",
            "Portfolio": "#/ideas",
            "Research": "#/research",
            "Report": f"#/x/{last}/report",
        }
        browser = next(path for name in BROWSERS if (path := shutil.which(name)))
        command = ["node", str(SCRIPT), str(FOLDER), served.url, TOKEN, browser]
        named = [f"{name}={hash_}" for name, hash_ in views.items()]
        ran = subprocess.run([*command, *named], check=True, stdout=subprocess.PIPE, text=True)
    results: list[dict[str, Any]] = json.loads(ran.stdout)
    return results


def main() -> int:
    install()
    with tempfile.TemporaryDirectory() as scratch:
        results = measure(Path(scratch))
    print(
        f"{'View':<11}{'Screen':<9}{'Performance':>12}{'Accessibility':>15}{'Best practices':>16}"
    )
    is_good = True
    for result in results:
        scores = [round(100 * score) for score in result["scores"]]
        columns = "".join(
            f"{score:>{width}}" for score, width in zip(scores, (12, 15, 16), strict=True)
        )
        print(f"{result['view']:<11}{result['screen']:<9}{columns}")
        if min(scores) < MIN_SCORE:
            is_good = False
            print(f"  below {MIN_SCORE}; {'; '.join(result['wrong'])}")
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())
