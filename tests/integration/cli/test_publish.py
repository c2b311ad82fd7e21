"""The command line and the repository: GitHub where it is set up, git on request, questions to people."""

import json
import os
import pty
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.fakes import command
from tests.fakes.github_repository import Repository
from tests.fakes.github_server import FakeGitHub

IDEA = "A subscription box for urban beekeepers"
SLUG = "a-subscription-box-for-urban-beekeepers"
EXAMPLES = Path(__file__).parents[3] / "examples"


def variables_of(root: Path) -> dict[str, str]:
    return {"IDEA_RESEARCH_DIR": str(root), "TMPDIR": str(root)}


def idea(root: Path, *arguments: str, **variables: str) -> command.Done:
    return command.idea(*arguments, env=variables_of(root) | variables, folder=root)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "team"
    folder.mkdir()
    return folder


@pytest.fixture
def repo(github: FakeGitHub) -> Repository:
    return github.create_repository("acme/ideas", EXAMPLES)


def test_with_github_set_up_research_is_read_from_it_and_published_to_it(
    github: FakeGitHub, repo: Repository, root: Path
) -> None:
    variables = {
        "GITHUB_TOKEN": "t0ken",
        "GITHUB_REPOSITORY": "acme/ideas",
        "GITHUB_API_URL": github.url,
    }
    first = idea(root, "explore", IDEA, **variables)
    updated = idea(root, "explore", IDEA, "--update", "--json", "--quiet", **variables)
    reused = idea(root, "explore", IDEA, "--if-exists", "reuse", "--json", **variables)

    document = first.stdout.splitlines()[0]
    assert (first.returncode, updated.returncode, reused.returncode) == (0, 0, 0), first.stderr
    assert document.startswith("ideas/")
    assert document.endswith(f"-{SLUG}/research.md")
    text = repo.read_text(document)
    assert "Built on earlier research of the team" in text
    assert "\n## Update - " in text
    subjects = [commit.message.splitlines()[0] for commit in repo.log()[:2]]
    assert subjects == [f"idea: {SLUG} - research updated", f"idea: {SLUG} - research complete"]
    assert json.loads(updated.stdout)["path"] == document
    answer = json.loads(reused.stdout)
    assert (answer["path"], answer["stats"]["steps"]) == (document, 0)
    assert answer["content"].startswith(f"# {IDEA}\n")  # as of any run, without front matter
    assert text.rstrip().endswith(answer["content"])
    assert not (root / "ideas").exists()


def test_a_repository_that_refuses_leaves_the_report_readable(
    github: FakeGitHub, repo: Repository, root: Path
) -> None:
    repo.protect("main")
    ran = idea(
        root,
        "explore",
        IDEA,
        "--json",
        GITHUB_TOKEN="t0ken",
        GITHUB_REPOSITORY="acme/ideas",
        GITHUB_API_URL=github.url,
    )

    answer = json.loads(ran.stdout)
    assert (ran.returncode, answer["status"]) == (1, "failed")
    assert answer["content"].startswith(f"# {IDEA}")
    assert "protected" in answer["error"]["message"].lower()


def test_a_file_in_place_of_the_research_folder_is_refused_before_anything_is_run(
    root: Path,
) -> None:
    (root / "ideas").write_text("a file")

    ran = idea(root, "explore", IDEA, "--quiet")

    assert (ran.returncode, ran.stdout) == (2, "")
    assert "ideas is not a folder" in ran.stderr


def test_commit_commits_where_the_folder_is_a_git_repository(root: Path) -> None:
    def git(*arguments: str) -> str:
        done = subprocess.run(
            ["git", "-C", str(root), *arguments], capture_output=True, text=True, check=True
        )
        return done.stdout

    git("init", "--quiet")
    git("config", "user.name", "Somebody")
    git("config", "user.email", "somebody@example.com")
    ran = idea(root, "explore", IDEA, "--commit", "--quiet")

    assert ran.returncode == 0, ran.stderr
    assert git("log", "--format=%s").strip() == f"idea: {SLUG} - research complete"
    assert git("status", "--short") == ""


def test_commit_without_git_writes_the_files_and_says_so(root: Path) -> None:
    ran = idea(root, "explore", IDEA, "--commit")

    assert ran.returncode == 0
    assert Path(ran.stdout.splitlines()[0]).exists()
    assert "not a git repository" in ran.stderr


def test_a_script_is_shown_similar_research_and_never_asked(root: Path) -> None:
    shutil.copytree(EXAMPLES / "ideas", root / "ideas")
    loud = idea(root, "explore", IDEA)
    quiet = idea(root, "explore", IDEA, "--quiet")

    assert (loud.returncode, quiet.returncode) == (0, 0)
    assert "Similar research already exists" in loud.stderr
    assert "keeping-subscribers-in-seasonal-hobby-boxes/research.md" in loud.stderr
    assert quiet.stderr == ""


def at_a_terminal(root: Path, answer: str) -> tuple[int, str, list[str]]:
    """Exit code, stdout, and the names of new documents after a person typed an answer."""
    before = set((root / "ideas").iterdir())
    person, terminal = pty.openpty()
    output = root.parent / "stdout"
    with output.open("w") as stdout:
        streams = [terminal, stdout.fileno(), terminal]
        env = {**variables_of(root), "TERM": "dumb"}
        process = command.start(["explore", IDEA], streams, env=env, folder=root)
    os.close(terminal)
    os.write(person, answer.encode())
    shown = b""
    try:
        while chunk := os.read(person, 65_536):
            shown += chunk
    except OSError:
        pass  # the other end of the terminal is closed
    code = process.wait()
    os.close(person)
    assert b"Similar research already exists" in shown
    new = set((root / "ideas").iterdir()) - before
    return code, output.read_text(), sorted(path.name for path in new)


@pytest.fixture
def known(root: Path) -> Path:
    """A folder where the idea was researched before."""
    assert idea(root, "explore", IDEA, "--quiet").returncode == 0
    return root


def test_a_person_may_quit_before_anything_is_run(known: Path) -> None:
    assert at_a_terminal(known, "q\n") == (0, "", [])


def test_a_person_may_read_what_is_there_instead(known: Path) -> None:
    code, stdout, new = at_a_terminal(known, "r\n")
    assert (code, new) == (0, [])
    assert Path(stdout.strip()).name == "research.md"


def test_a_person_may_update_or_follow_up_or_run_all_the_same(known: Path) -> None:
    updated = at_a_terminal(known, "what?\nu\n")
    followed = at_a_terminal(known, "f\n")
    again = at_a_terminal(known, "\n")

    assert (updated[0], updated[2]) == (0, [])
    assert [(code, len(new)) for code, _, new in (followed, again)] == [(0, 1), (0, 1)]
    text = (known / "ideas" / followed[2][0] / "research.md").read_text()
    assert "Follows up on" in text or "continue_from" in text
