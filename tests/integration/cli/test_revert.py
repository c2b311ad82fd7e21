"""`idea revert`, for what ran on this machine, at a deployment, or anywhere at all."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.command import idea
from tests.fakes.github_repository import Repository
from tests.fakes.github_server import FakeGitHub
from tests.fakes.served import TOKEN, Served

IDEA = "A subscription box for urban beekeepers"
NOBODYS = "00000000-0001-7000-8000-000000000000"


@pytest.fixture
def repo(github: FakeGitHub) -> Repository:
    return github.create_repository("acme/ideas", {"README.md": "# Ideas\n"})


@pytest.fixture
def over_github(github: FakeGitHub, repo: Repository, tmp_path: Path) -> dict[str, str]:
    """The settings of a machine that works with a repository on GitHub."""
    return {
        "GITHUB_TOKEN": "t0ken",
        "GITHUB_REPOSITORY": repo.full_name,
        "GITHUB_API_URL": github.url,
        "TMPDIR": str(tmp_path),
    }


def explored(env: dict[str, str], folder: Path, *flags: str) -> dict[str, Any]:
    ran = idea("explore", IDEA, "--json", "--quiet", *flags, env=env, folder=folder)
    assert ran.returncode == 0, ran.stderr
    outcome: dict[str, Any] = json.loads(ran.stdout)
    return outcome


def test_a_published_exploration_of_this_machine(
    over_github: dict[str, str], repo: Repository, tmp_path: Path
) -> None:
    exploration_id = explored(over_github, tmp_path)["id"]

    told = idea("revert", exploration_id, env=over_github, folder=tmp_path)
    again = idea("revert", exploration_id, "--json", env=over_github, folder=tmp_path)
    quiet = idea("revert", exploration_id, "--quiet", env=over_github, folder=tmp_path)

    assert told.returncode == 0, told.stderr
    (pull,) = repo.pulls
    url = f"https://github.com/acme/ideas/pull/{pull.number}"
    assert told.stdout.splitlines()[0] == url
    assert "Opened a pull request that reverts ideas/" in told.stdout
    answer = json.loads(again.stdout)
    assert (answer["id"], answer["new"], answer["url"]) == (exploration_id, False, url)
    assert [file.rpartition("/")[2] for file in answer["files"]] == [
        "exploration-log.json",
        "research.md",
    ]
    assert quiet.stdout == f"{url}\n"


def test_one_that_ran_elsewhere_is_found_by_its_id_alone(
    over_github: dict[str, str], repo: Repository, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    exploration_id = explored(over_github, elsewhere)["id"]

    told = idea("revert", exploration_id, "--json", env=over_github, folder=tmp_path)

    assert told.returncode == 0, told.stderr
    assert json.loads(told.stdout)["new"] is True
    assert len(repo.pulls) == 1


def test_one_of_a_deployment(over_github: dict[str, str], repo: Repository, tmp_path: Path) -> None:
    held = tmp_path / "work"
    held.mkdir()
    with Served(tmp_path / "served", over_github) as served:
        client = {"IDEA_API_URL": served.url, "IDEA_API_TOKEN": TOKEN}
        submitted = idea("submit", IDEA, "--watch", "--quiet", env=client, folder=held)
        listed = idea("list", "--json", env=client, folder=held)
        exploration_id = json.loads(listed.stdout)["explorations"][0]["id"]
        without = idea("revert", exploration_id, env=client, folder=held)
        told = idea("revert", exploration_id, env=client | over_github, folder=held)
        missing = idea("revert", NOBODYS, env=client | over_github, folder=held)

    assert submitted.returncode == 0, submitted.stderr
    assert (without.returncode, without.stdout) == (2, "")
    assert without.stderr == (
        "idea: There is no GitHub repository set up. Set GITHUB_REPOSITORY and GITHUB_TOKEN.\n"
    )
    assert told.returncode == 0, told.stderr
    assert (
        told.stdout.splitlines()[0] == f"https://github.com/acme/ideas/pull/{repo.pulls[0].number}"
    )
    assert missing.returncode == 1
    assert len(missing.stderr.splitlines()) == 1


def test_what_went_to_a_folder_is_undone_there(tmp_path: Path) -> None:
    outcome = explored({}, tmp_path, "--research", ".")
    document = Path(tmp_path, outcome["path"])
    assert document.is_file()

    told = idea("revert", outcome["id"], env={}, folder=tmp_path)
    again = idea("revert", outcome["id"], "--json", env={}, folder=tmp_path)

    assert told.returncode == 0, told.stderr
    assert told.stdout.startswith("Reverted: ideas/")
    assert not document.parent.exists()
    assert json.loads(again.stdout)["new"] is False


def test_what_a_server_wrote_to_a_folder_is_undone_there(tmp_path: Path) -> None:
    home, elsewhere = tmp_path / "served", tmp_path / "elsewhere"
    elsewhere.mkdir()
    with Served(home) as served:
        client = {"IDEA_API_URL": served.url, "IDEA_API_TOKEN": TOKEN}
        idea("submit", IDEA, "--watch", "--quiet", env=client, folder=home)
        [document] = home.glob("ideas/*/research.md")
        log = document.with_name("exploration-log.json").read_text("utf-8")
        exploration_id = json.loads(log)[0]["jobId"]
        far = idea("revert", exploration_id, env=client, folder=elsewhere)
        near = idea("revert", exploration_id, env=client, folder=home)

    assert (far.returncode, far.stderr) == (
        2,
        f"idea: Exploration {exploration_id} wrote to a folder: {document}."
        f" On the machine with that folder, run: idea revert {exploration_id} --research {home}\n",
    )
    assert (near.returncode, near.stderr) == (0, "")
    assert not document.exists()


def test_what_cannot_be_undone_is_one_sentence(
    over_github: dict[str, str], repo: Repository, tmp_path: Path
) -> None:
    outcome = explored(over_github, tmp_path)
    repo.commit({outcome["path"]: "# In our own words\n"})

    changed = idea("revert", outcome["id"], env=over_github, folder=tmp_path)
    unknown = idea("revert", NOBODYS, env={}, folder=tmp_path)
    nonsense = idea("revert", "nonsense", env=over_github, folder=tmp_path)

    assert (changed.returncode, unknown.returncode, nonsense.returncode) == (1, 1, 1)
    assert f"Changed since: {outcome['path']}; nothing was undone." in changed.stderr
    assert len(changed.stderr.splitlines()) == 1
    assert nonsense.stderr.startswith("idea: There is no exploration with this id. `idea list` ")
    assert repo.pulls == []
