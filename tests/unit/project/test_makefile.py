"""What the Makefile's targets do to the files of whoever runs them."""

import re
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[3]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


def make(folder: Path, target: str) -> None:
    """Run a target in a copy of the project without an environment; `true` stands for each program."""
    ready = ["--old-file", ".venv/.runtime", f"BIN={folder}/bin"]
    subprocess.run(["make", *ready, target], cwd=folder, check=True, capture_output=True)


def project(folder: Path) -> Path:
    (folder / "bin").mkdir()
    (folder / "bin" / "idea").symlink_to(str(shutil.which("true")))
    shutil.copy(ROOT / "Makefile", folder)
    sample = folder / "examples" / "ideas" / "sample.md"
    sample.parent.mkdir(parents=True)
    sample.write_text("# Sample")
    return folder


def test_the_demo_starts_from_the_sample_research(tmp_path: Path) -> None:
    folder = project(tmp_path)
    make(folder, "demo")
    assert (folder / "demo" / "ideas" / "sample.md").read_text() == "# Sample"


def test_a_second_demo_keeps_what_people_explored_in_its_folder(tmp_path: Path) -> None:
    folder = project(tmp_path)
    make(folder, "demo")
    own = folder / "demo" / "ideas" / "2026-11-16-tea" / "research.md"
    own.parent.mkdir()
    own.write_text("# Tea")
    changed = folder / "demo" / "ideas" / "sample.md"
    changed.write_text("# Sample, with remarks")

    make(folder, "demo")
    make(folder, "clean")

    assert own.read_text() == "# Tea"
    assert changed.read_text() == "# Sample, with remarks"


def test_every_target_is_listed_and_explained() -> None:
    recipe = (ROOT / "Makefile").read_text("utf-8")
    explained = set(re.findall(r"^([a-z0-9-]+):.*## ", recipe, re.MULTILINE))
    shown = subprocess.run(
        ["make", "--no-print-directory", "help"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    text = "".join(page.read_text("utf-8") for page in PAGES)
    # in code, or at the beginning of a line of a script
    named = set(re.findall(r"(?:`|^)(?:[A-Z_]+=\S+ )*make ([a-z0-9-]+)", text, re.MULTILINE))

    assert {line.split()[0] for line in shown.stdout.splitlines()} == explained
    assert named == explained
