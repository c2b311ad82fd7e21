"""The documented workflows for GitHub issues, run as Actions would run them."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.fakes.served import Served

pytestmark = pytest.mark.long

EXAMPLES = Path(__file__).parents[3] / "docs" / "examples"
FILES = sorted(EXAMPLES.glob("*.yml"))
TITLE = 'Tea; rm -rf "$HOME" `id` $(id) ${{ secrets.X }}'
GH = '#!/bin/sh\necho "$@" > gh-called.txt\ncat "$5" > posted.md 2>/dev/null || true\n'


def workflow(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((EXAMPLES / name).read_text("utf-8"))
    return loaded


def steps(name: str) -> dict[str, dict[str, Any]]:
    return {step["name"]: step for step in workflow(name)["jobs"]["explore"]["steps"][1:]}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_nothing_that_people_wrote_becomes_part_of_a_script(file: Path) -> None:
    for step in steps(file.name).values():
        assert "${{" not in step["run"]
    text = file.read_text("utf-8")
    written = re.findall(r"(\w+): \$\{\{ github\.event\.issue\.(?:title|body) \}\}", text)
    assert written == ["TITLE", "BODY"]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_a_job_may_do_only_what_it_needs_to(file: Path) -> None:
    wanted = {"issues": "write"} | ({"contents": "write"} if "explore-" in file.name else {})
    job = workflow(file.name)["jobs"]["explore"]

    assert workflow(file.name)["permissions"] == wanted
    assert "permissions" not in job
    assert job["if"] == "github.event.label.name == 'explore'"
    assert job["timeout-minutes"] <= 60


def run_steps(name: str, folder: Path, variables: dict[str, str]) -> str:
    """Run the scripts with a stand-in for `gh`; gives the comment that was posted."""
    tools = folder / "bin"
    tools.mkdir()
    (tools / "gh").write_text(GH)
    (tools / "idea").write_text(f'#!/bin/sh\nexec {sys.executable} -m idea_explorer "$@"\n')
    for tool in tools.iterdir():
        tool.chmod(0o755)
    known = {name: value for name, value in os.environ.items() if name in {"PATH", "HOME"}}
    env = known | {"PATH": f"{tools}:{known['PATH']}", "TITLE": TITLE, "NUMBER": "7"} | variables
    for step in ("Explore", "Comment"):
        script = steps(name)[step]["run"]
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
            cwd=folder,
            env=env,
            capture_output=True,
            text=True,
            check=False,
            timeout=600,
        )
        assert done.returncode == 0, done.stderr
    assert (folder / "gh-called.txt").read_text().startswith("issue comment 7 --body-file")
    return (folder / "comment.md").read_text()


def test_an_issue_is_explored_in_the_job(tmp_path: Path) -> None:
    variables = {"BODY": "/etc/passwd", "BLOB": "https://github.com/acme/ideas/blob/main"}
    comment = run_steps("explore-issues.yml", tmp_path, variables | {"MAX_COST_USD": "1"})

    assert comment.startswith(
        "**completed**\n\nThe report: https://github.com/acme/ideas/blob/main/"
    )
    outcome = json.loads((tmp_path / "outcome.json").read_text())
    log = (tmp_path / outcome["path"]).with_name("exploration-log.json")
    (entry,) = json.loads(log.read_text())
    assert (entry["idea"], entry["context"]) == (TITLE, "/etc/passwd")


def test_a_long_text_of_an_issue_is_cut_between_characters(tmp_path: Path) -> None:
    variables = {"BODY": "ä" * 40_000, "BLOB": "https://x", "MAX_COST_USD": "1"}
    run_steps("explore-issues.yml", tmp_path, variables)
    assert 40_000 < len((tmp_path / "context.md").read_bytes()) <= 45_000


def test_an_issue_is_sent_to_a_deployment_and_its_end_comes_back(tmp_path: Path) -> None:
    folder = tmp_path / "job"
    folder.mkdir()
    with Served(tmp_path / "deployment") as served:
        variables = {
            "BODY": "Some background.",
            "LABELED_AT": "2026-11-16T09:00:00Z",
            "IDEA_API_URL": served.url,
            "IDEA_API_TOKEN": served.env["IDEA_API_TOKEN"],
        }
        comment = run_steps("submit-issues.yml", folder, variables)
    outcome = json.loads((folder / "outcome.json").read_text())

    assert comment.startswith("**completed**")
    assert f"exploration `{outcome['id']}`" in comment
    assert (outcome["idea"], outcome["context"]) == (TITLE, "Some background.")
