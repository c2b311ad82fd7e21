"""The repository's own checks in the console: allowed by a person, and shown beside the next change."""

import subprocess
from pathlib import Path

import pytest

from idea_explorer.adapters.checks.sandbox import can_isolate
from tests.browser.driver import Browser
from tests.browser.test_journeys import service, submit
from tests.fakes.anthropic_scripts import Entry
from tests.fakes.anthropic_turns import answer, text, tool_use
from tests.fakes.served import TOKEN

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not can_isolate(), reason="no user namespaces here"),
]

HOSTILE = "<img src=x onerror=alert(1)></pre>"
EDIT = {"path": "tea.txt", "content": "green\n", "description": "Another tea"}
SCRIPT: list[Entry] = [
    answer(tool_use("run_checks", {})),
    answer(tool_use("run_checks", {"check": "test"})),
    answer(text("It is black."), tool_use("edit_file", EDIT)),
    answer(text("# Green tea\n\nNow it is green.")),
]


def git(root: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=A", "-c", "user.email=a@example.com"]
    subprocess.run(["git", "-C", str(root), *identity, *arguments], check=True, capture_output=True)


def test_checks_are_allowed_and_shown_beside_the_next_change(tab: Browser, tmp_path: Path) -> None:
    (tmp_path / "tea.txt").write_text("black\n")
    (tmp_path / ".idea-explorer.toml").write_text(
        f"[checks]\ntest = '''echo \"{HOSTILE} no green tea\"; grep -q green tea.txt'''\n"
    )
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", "tea.txt", ".idea-explorer.toml")
    git(tmp_path, "commit", "--quiet", "--message", "Tea")
    with service(tmp_path, SCRIPT) as served:
        tab.sign_in(served.url, TOKEN)
        submit(tab, "Another tea", toolset="Code")
        tab.sees("The repository’s checks need your approval")
        tab.sees("grep -q green tea.txt", ".change pre")
        tab.sees("names commands that run on people's machines", ".change")
        assert not [b for b in tab.all(".change button") if b.text == "Edit"]
        tab.shot("checks-commands")
        tab.click(tab.find(".change p.danger input"))
        tab.press("Approve", ".change")

        tab.sees("1 change needs your approval")
        tab.sees("no green tea", ".change .checks pre")
        tab.sees(HOSTILE, ".change .checks pre")
        assert not tab.all(".change img")
        tab.shot("checks-beside-change")
        tab.press("Approve", ".change")
        tab.find('.badge[data-status="completed"]')
        assert not tab.complaints()
    assert (tmp_path / "tea.txt").read_text() == "green\n"
