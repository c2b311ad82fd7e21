"""Every file that the documentation names exists, and every link between its pages leads somewhere."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PACKAGE = ROOT / "layers" / "core" / "idea_explorer"
PAGES = ["README.md", "CONTRIBUTING.md", "SECURITY.md", "examples/README.md", *(
    f"docs/{page.name}" for page in sorted((ROOT / "docs").glob("*.md"))
)]  # fmt: skip
# a path in backticks: with a folder and a known ending, or a folder with a slash at its end
_PATH = re.compile(r"`((?:[\w.-]+/)+(?:[\w.-]+\.(?:py|md|yaml|yml|json|js|html|toml|sh))?)`")
_LINK = re.compile(r"\]\(([^)#:\s]+)(?:#[\w-]+)?\)")
# what a run writes, and what belongs to another repository
WRITTEN = (
    "artifacts/",
    "ideas/",
    "demo/",
    "explorations/",
    "snapshots/",
    ".github/",
    ".venv/",
    "market/",
)
# what a reader of docs/adding-*.md creates
ADDED = {
    "tools/word_count.py",
    "tools/shop.py",
    "agent/prompts/shop.md",
    "adapters/zip_research.py",
}


def paths_of(page: str) -> list[str]:
    found = _PATH.findall((ROOT / page).read_text("utf-8"))
    return [path for path in found if not path.startswith(WRITTEN) and path not in ADDED]


@pytest.mark.parametrize("page", PAGES)
def test_every_path_on_a_page_exists(page: str) -> None:
    """Relative to the repository, to the package or to the page."""
    roots = (ROOT, PACKAGE, (ROOT / page).parent)
    missing = [path for path in paths_of(page) if not any((r / path).exists() for r in roots)]
    assert missing == []


@pytest.mark.parametrize("page", PAGES)
def test_every_link_on_a_page_leads_to_a_file(page: str) -> None:
    source = ROOT / page
    links = _LINK.findall(source.read_text("utf-8"))
    assert [link for link in links if not (source.parent / link).exists()] == []


def test_the_pages_name_paths() -> None:
    assert len([path for page in PAGES for path in paths_of(page)]) > 20
