"""`idea doctor` asks what can be asked, and each line that is not well has its fix."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from idea_explorer.cli.checks import CheckResult
from idea_explorer.cli.doctor import run_checks
from tests.fakes.anthropic_faults import refusing_url
from tests.fakes.anthropic_server import FakeAnthropic
from tests.fakes.command import idea
from tests.fakes.github_server import FakeGitHub
from tests.fakes.served import TOKEN, Served
from tests.fakes.tidal_server import FakeTidal

EXAMPLES = Path(__file__).parents[3] / "examples"


def found(folder: Path, **environment: str) -> dict[str, CheckResult]:
    """By subject; of each the last."""
    variables = {"IDEA_RESEARCH_DIR": str(folder), **environment}
    return {finding.subject: finding for finding in run_checks(variables)}


@pytest.fixture(scope="module")
def github(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FakeGitHub]:
    with FakeGitHub(tmp_path_factory.mktemp("github"), token="t0ken") as server:
        server.create_repository("acme/ideas", {"ideas/a.md": "# A\n", "ideas/b/c.md": "# C\n"})
        yield server


def test_on_github_its_research_is_counted_and_not_the_folders(
    tmp_path: Path, github: FakeGitHub
) -> None:
    (tmp_path / "ideas").mkdir()
    well = {"GITHUB_TOKEN": "t0ken", "GITHUB_REPOSITORY": "acme/ideas"}
    findings = found(tmp_path, GITHUB_API_URL=github.url, **well)

    assert findings["repository"].state == "ok"
    assert findings["research"].text == "2 documents in acme/ideas"


@pytest.mark.parametrize(
    "changed",
    [{"GITHUB_TOKEN": "wrong"}, {"GITHUB_TOKEN": "reader"}, {"GITHUB_REPOSITORY": "acme/nothing"}],
)
def test_a_github_that_refuses_is_a_problem(
    tmp_path: Path, github: FakeGitHub, changed: dict[str, str]
) -> None:
    github.grant("reader", "acme/ideas", "read")
    well = {"GITHUB_TOKEN": "t0ken", "GITHUB_REPOSITORY": "acme/ideas"}
    findings = found(tmp_path, GITHUB_API_URL=github.url, **(well | changed))

    assert findings["repository"].state == "problem"
    assert findings["repository"].fix
    assert "research" not in findings
    assert list(tmp_path.iterdir()) == []  # it only looks


def test_a_wrong_variable_is_a_finding_among_others(tmp_path: Path) -> None:
    findings = found(tmp_path, GITHUB_REPOSITORY="garbage")

    assert findings["settings"].text == "GITHUB_REPOSITORY must look like owner/name"
    assert findings["settings"].fix == "export GITHUB_REPOSITORY=…"
    assert findings["repository"].state == "ok"


def test_a_folder_that_is_not_there_is_one_problem(tmp_path: Path) -> None:
    findings = list(run_checks({"IDEA_RESEARCH_DIR": str(tmp_path / "nope")}))

    about = [finding for finding in findings if "nope" in finding.text]
    assert [(finding.state, finding.subject) for finding in about] == [("problem", "repository")]
    assert about[0].fix == f"mkdir -p {tmp_path / 'nope' / 'ideas'}"


def test_a_file_in_place_of_the_research_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "ideas").write_text("not a folder")

    assert found(tmp_path)["repository"].state == "problem"


def test_a_key_that_is_not_known_is_a_problem(tmp_path: Path) -> None:
    with FakeAnthropic([], expected_key="sk-right") as server:
        at = {"ANTHROPIC_BASE_URL": server.url}
        right = found(tmp_path, ANTHROPIC_API_KEY="sk-right", **at)["model"]
        wrong = found(tmp_path, ANTHROPIC_API_KEY="sk-wrong", **at)["model"]
    with refusing_url() as nowhere:
        lost = found(tmp_path, ANTHROPIC_API_KEY="sk-right", ANTHROPIC_BASE_URL=nowhere)["model"]

    assert right.state == "ok"
    assert (wrong.state, wrong.fix) == ("problem", "export ANTHROPIC_API_KEY=…")
    assert (lost.state, "could not be reached" in lost.text) == ("problem", True)


def test_a_deployment_is_asked_and_none_has_its_fix(tmp_path: Path) -> None:
    with Served(tmp_path) as served:
        right = found(tmp_path, IDEA_API_URL=served.url, IDEA_API_TOKEN=TOKEN)["deployment"]
        wrong = found(tmp_path, IDEA_API_URL=served.url, IDEA_API_TOKEN="wrong")["deployment"]
    half = found(tmp_path, IDEA_API_TOKEN="t")["deployment"]
    none = found(tmp_path)["deployment"]

    assert (right.state, right.text) == ("ok", served.url)
    assert (wrong.state, wrong.fix) == ("problem", "Check IDEA_API_TOKEN.")
    assert (half.state, half.text) == ("problem", "IDEA_API_URL is not set.")
    assert (none.state, "idea serve" in none.fix) == ("note", True)


def test_the_music_index_and_tidal_are_looked_at(tmp_path: Path) -> None:
    assert found(tmp_path)["music"].fix == "idea index examples/music/tracks.jsonl"
    assert found(tmp_path)["tidal"].state == "note"
    assert not (tmp_path / ".idea-explorer").exists()

    done = idea("index", str(EXAMPLES / "music/tracks.jsonl"), env={}, folder=tmp_path)
    with FakeTidal() as tidal:
        at = {"TIDAL_API_URL": tidal.api_url, "TIDAL_AUTH_URL": tidal.auth_url}
        keys = {"TIDAL_CLIENT_ID": "id", "TIDAL_CLIENT_SECRET": "secret"}
        right = found(tmp_path, **at, **keys)
        wrong = found(tmp_path, **at, **(keys | {"TIDAL_CLIENT_SECRET": "wrong"}))
    half = found(tmp_path, TIDAL_CLIENT_ID="id")

    assert done.returncode == 0
    assert (right["music"].state, right["tidal"].state) == ("ok", "ok")
    assert (wrong["tidal"].state, half["tidal"].state) == ("problem", "problem")


def test_it_prints_a_line_for_each_and_fails_where_there_is_a_problem(tmp_path: Path) -> None:
    well = idea("doctor", env={}, folder=tmp_path)
    unwell = idea("doctor", "--json", env={"GITHUB_API_URL": "notaurl"}, folder=tmp_path)

    assert well.returncode == 0
    assert "– deployment" in well.stdout
    assert unwell.returncode == 1
    states = [finding["state"] for finding in json.loads(unwell.stdout)["checks"]]
    assert states.count("problem") == 1


@pytest.mark.parametrize(
    ("limits", "fix"),
    [
        ({"IDEA_MODELS": '{"opus": "new"}', "IDEA_MAX_TOTAL_TOKENS": "9000"}, "300000"),
        ({"IDEA_MAX_COST_USD": "0.05"}, "0.3"),
        ({"IDEA_MAX_COST_USD": "0.5"}, None),
        ({}, None),
        ({"IDEA_MODELS": '{"opus": "new"}'}, None),
    ],
)
def test_a_limit_that_pays_for_no_research_is_told(
    tmp_path: Path, limits: dict[str, str], fix: str | None
) -> None:
    with refusing_url() as url:
        findings = found(tmp_path, ANTHROPIC_API_KEY="k", ANTHROPIC_BASE_URL=url, **limits)
    budget = findings["budget"]
    if fix:
        assert budget.text.endswith("is too low for any research with opus")
        assert fix in budget.fix
    else:
        usd = float(limits.get("IDEA_MAX_COST_USD", "2"))
        assert (budget.state, f"may cost ${usd:.2f}" in budget.text) == ("ok", True)


def test_what_a_provider_lacks_is_told_once_and_the_rest_is_looked_at() -> None:
    findings = list(run_checks({"IDEA_MODEL_PROVIDER": "aws"}))
    told = [finding.text for finding in findings if finding.subject == "settings"]
    assert [text.split()[0] for text in told] == ["ANTHROPIC_AWS_WORKSPACE_ID", "AWS_REGION"]
    assert any(finding.subject == "repository" for finding in findings)
