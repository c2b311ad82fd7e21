"""Without IDEA_API_URL, the commands on explorations work on those of this machine."""

import json
import shlex
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from idea_explorer.cli.targets.local import LocalTarget
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.request import ExploreRequest
from idea_explorer.ports import Explorations
from idea_explorer.settings import Settings
from idea_explorer.wiring import local
from tests.fakes.command import Done
from tests.fakes.command import idea as command
from tests.fakes.explorations import RECEIPT
from tests.fakes.in_process import Idea

NOBODYS = "00000000-0001-7000-8000-000000000000"


@pytest.fixture
def idea(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Idea:
    for name in ("IDEA_API_URL", "ANTHROPIC_API_KEY", "GITHUB_TOKEN", "GITHUB_REPOSITORY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    return Idea(capsys)


@pytest.fixture
def done(idea: Idea) -> str:
    """An exploration that has completed."""
    _, out, _ = idea("explore", "Urban bees", "--json", "--quiet")
    return str(json.loads(out)["id"])


def test_an_exploration_is_listed_shown_watched_and_read(idea: Idea, done: str) -> None:
    assert idea("list", "--quiet")[1] == f"{done}\n"
    assert "Urban bees" in idea("list")[1]
    for status in ("failed", "waiting for approval", "timed out", "awaiting_approval"):
        assert idea("list", "--status", status)[2] == "idea: No exploration matches.\n"
    assert idea("list", "--status", "waiting")[0] == 2
    assert "completed after 1 step" in idea("status", done)[1]
    assert json.loads(idea("status", done, "--json")[1])["links"]["self"].endswith(done)
    code, out, err = idea("watch", done)
    assert (code, "step 1: " in err, out.splitlines()[0][:6]) == (0, True, "ideas/")
    events = [json.loads(line) for line in idea("watch", done, "--json")[1].splitlines()]
    assert [event["id"] for event in events] == list(range(1, len(events) + 1))
    assert "# Urban bees" in idea("report", done)[1]


def test_the_list_says_how_many_it_cannot_read(idea: Idea, done: str, tmp_path: Path) -> None:
    store = tmp_path / ".idea-explorer" / "explorations.db"
    with closing(sqlite3.connect(store)) as db, db:
        db.execute("UPDATE explorations SET record = replace(record, '\"research\"', '\"shop\"')")

    code, out, err = idea("list")
    assert (code, out) == (0, "")
    assert err == (
        "idea: 1 exploration is not shown: another version stored it, and this one cannot read it.\n"
    )
    listed = json.loads(idea("list", "--json")[1])
    assert (listed["explorations"], listed["left_out"]) == ([], 1)
    assert done


def test_what_was_spent_is_added_up_without_creating_anything(idea: Idea, tmp_path: Path) -> None:
    assert idea("spend", "--quiet") == (0, "0.0000\n", "")
    assert not [*tmp_path.iterdir()]

    idea("explore", "Urban bees", "--quiet")
    code, out, err = idea("spend", "--days", "1")
    assert (code, err) == (0, "")
    assert out.startswith("$0.00 for 1 exploration since ")


def test_what_has_ended_is_neither_cancelled_nor_resumed(idea: Idea, done: str) -> None:
    for name in ("cancel", "resume"):
        code, out, err = idea(name, done)
        assert (code, out) == (1, "")
        assert err.startswith(f"idea: Exploration {done} is completed;")


def test_looking_for_an_exploration_in_the_wrong_folder_says_how_to_name_another(
    idea: Idea, tmp_path: Path
) -> None:
    for name in ("status", "watch", "report", "cancel", "resume", "replay"):
        code, out, err = idea(name, NOBODYS)
        assert (code, out) == (1, "")
        assert err.startswith(f"idea: There is no exploration {NOBODYS} in {tmp_path}. If it ran")
        assert "--research DIR" in err
    nothing = (
        f"idea: There are no explorations yet. This command looked in {tmp_path};"
        " to look in another folder, add --research DIR.\n"
    )
    assert idea("list") == (0, "", nothing)
    assert idea("status", "last") == idea("report", "-1") == (1, "", nothing)
    assert list(tmp_path.iterdir()) == []  # looking creates nothing


def test_the_end_names_the_command_that_reads_the_report(idea: Idea, tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    _, _, err = idea("explore", "Urban bees", "--research", "notes")

    *_, last = err.splitlines()
    reads = last.removeprefix("idea: Read the report with: idea ").split()
    assert reads[0] == "report"
    assert "# Urban bees" in idea(*reads)[1]


def test_notes_with_any_name_are_listed_read_and_cited(idea: Idea, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "My notes on bees.md").write_text("# Bees\n\nUrban bees make honey in many a town.")
    (notes / "Über Bienen.md").write_text("# Bienen\n\nUrban bees need water for their honey.")

    code, out, _ = idea("explore", "Urban bees honey", "--research", "notes", "--json")

    outcome = json.loads(out)
    assert code == 0
    assert "[Bees](../My%20notes%20on%20bees.md)" in outcome["content"]
    assert "[Bienen](../%C3%9Cber%20Bienen.md)" in outcome["content"]


def test_notes_are_called_by_the_paths_that_open_them(idea: Idea, tmp_path: Path) -> None:
    notes = tmp_path / "notes" / "sub"
    notes.mkdir(parents=True)
    (notes / "varroa.txt").write_text("Varroa mites in urban bee hives are a pest for beekeepers.")

    err = idea("explore", "Varroa mites in urban bee hives", "--research", "notes")[2]
    assert err.startswith("Similar research already exists:\n  1  notes/sub/varroa.txt (")
    assert "notes/sub/varroa.txt" in idea("search", "varroa", "--quiet", "--research", "notes")[1]
    assert "ideas/" not in err
    (report,) = (tmp_path / "notes").glob("*/research.md")
    for said in ("Reverted", "Already reverted"):
        code, out, _ = idea("revert", "last", "--research", "notes")
        assert (code, out.startswith(f"{said}: {report.parent.name}/")) == (0, True)
        assert "ideas/" not in out


def test_the_path_of_a_report_is_the_one_that_opens_it_from_here(
    idea: Idea, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "team").mkdir()
    path = Path(idea("explore", "Urban bees", "--research", "team", "--quiet")[1].splitlines()[0])
    assert path.is_file()
    monkeypatch.chdir(tmp_path / "team")
    assert str(path.relative_to("team")) in idea("status", "last")[1].splitlines()


def test_a_reused_report_is_said_to_be_and_has_one_path(idea: Idea, tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "tea.md").write_text("# Tea\n\nTea grows in the hills.")
    idea("explore", "Urban bees", "--quiet", "--research", "notes")
    (report,) = (tmp_path / "notes").glob("*/research.md")
    path = str(report.relative_to(tmp_path))

    again = idea("explore", "Urban bees", "--if-exists", "reuse", "--research", "notes")
    status = idea("status", "last", "--research", "notes")
    said = "completed · reused existing research; nothing was run\n"
    assert again == (0, f"{path}\n{said}", "")
    assert said in status[1]
    assert path in status[1].splitlines()


def test_a_toolset_without_depths_is_not_told_to_use_one(idea: Idea) -> None:
    code, _, err = idea("explore", "--toolset", "assistant", "--review-plan", "What is 6*7?")
    assert (code, err) == (
        2,
        "idea: --review-plan: only the research toolset plans its research.\n",
    )


def test_the_tool_that_is_suggested_can_be_called(idea: Idea) -> None:
    err = idea("tool")[2]
    suggested = shlex.split(err.partition("or try: idea ")[2].strip().removesuffix("."))
    assert idea(*suggested)[0] == 0


def test_only_a_deployment_takes_submissions(idea: Idea) -> None:
    code, out, err = idea("submit", "Bees")

    assert (code, out) == (2, "")
    assert err.startswith("idea: IDEA_API_URL is not set.")
    assert "idea explore" in err


def leave_killed(folder: Path) -> tuple[Explorations, Exploration]:
    store = local.local_store(Settings(research_dir=folder))
    now = local.system_clock().now()
    killed = Exploration.new(ExploreRequest(idea="Tea"), "local", at=now, by_command=True)
    store.create(killed)
    store.save(killed.started(at=now))
    return store, killed


def test_a_run_that_waits_for_nobody_is_cancelled_at_once(idea: Idea, tmp_path: Path) -> None:
    _, killed = leave_killed(tmp_path)

    watched, shown = idea("watch", killed.id), idea("status", killed.id)
    code, out, _ = idea("cancel", killed.id, "--quiet")

    assert (watched[0], "No process is running it any more." in watched[2]) == (1, True)
    assert f"No process is running it any more. Continue with: idea resume {killed.id}" in shown[1]
    assert (code, out) == (0, "cancelled\n")


def test_of_two_cancels_at_once_none_begins_a_new_run(tmp_path: Path) -> None:
    store, killed = leave_killed(tmp_path)

    def another_is_first(_: Exploration) -> bool:
        now, seen = local.system_clock().now(), store.load(killed.id)
        store.save(seen.finished("cancelled", at=now, receipt=RECEIPT))
        return False

    target = LocalTarget(Settings(research_dir=tmp_path), is_worked_on=another_is_first)

    assert target.cancel(killed.id)["status"] == "cancelled"
    assert store.load(killed.id).run.number == 1


def run(*arguments: str, folder: Path, **variables: str) -> Done:
    return command(*arguments, env=variables, folder=folder)


def test_a_tool_of_another_toolset_is_found(tmp_path: Path) -> None:
    other = run("tool", "calculator", '{"expression": "1"}', folder=tmp_path)
    unknown = run("tool", "summon", folder=tmp_path)

    assert json.loads(other.stdout)["error_type"] == "unknown_tool"
    assert other.stderr == (
        "idea: The research toolset has no tool calculator. Add --toolset assistant.\n"
    )
    assert unknown.stderr.endswith("See them all with: idea tools\n")


def test_a_folder_beside_github_is_said_to_hold_only_the_records(tmp_path: Path) -> None:
    github = {"GITHUB_TOKEN": "t0ken", "GITHUB_REPOSITORY": "acme/ideas"}

    said = run("tools", "--research", ".", "--toolset", "assistant", folder=tmp_path, **github)

    assert said.stderr == (
        "idea: GitHub is configured, so research is in acme/ideas;"
        " . only holds the run's records.\n"
    )


def test_an_estimate_spends_and_stores_nothing(
    idea: Idea, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1")  # nobody listens there
    code, out, err = idea("explore", "--estimate", "--depth", "standard", "Urban bees")
    assert (code, err) == (0, "")
    assert " from the table for standard explorations; at most $2.00" in out
    found = json.loads(idea("explore", "--estimate", "--json", "Urban bees")[1])
    assert found["cost_usd"]["low"] < found["cost_usd"]["high"] <= found["max_cost_usd"] == 2.0
    assert found["summary"].startswith("$0.")
    assert not [*tmp_path.iterdir()]


def test_a_budget_too_small_to_research_is_refused_with_the_least(
    idea: Idea, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    for flags in ([], ["--estimate"]):
        code, out, err = idea("explore", *flags, "--max-cost-usd", "0.05", "Urban bees")
        assert (code, out) == (2, "")
        assert "--max-cost-usd must be at least 0.1" in err
        assert "to look anything up and write a short report" in err
    assert not [*tmp_path.iterdir()]


def test_an_estimate_learns_from_what_ran_here(idea: Idea) -> None:
    for number in range(5):
        idea("explore", f"Urban bees {number}", "--quiet", "--if-exists", "run")
    found = json.loads(idea("explore", "--estimate", "--json", "Urban bees")[1])
    assert (found["runs"], found["cost_usd"]) == (5, {"low": 0.0, "high": 0.0})


def test_a_deep_run_without_a_key_writes_what_its_branches_found(
    idea: Idea, tmp_path: Path
) -> None:
    (tmp_path / "ideas").mkdir()
    note = "Urban bees sell 3 kg of honey at a market. Each hive needs a supplier and a market."
    (tmp_path / "ideas" / "bees.md").write_text(f"# Bees\n\n{note}\n", "utf-8")

    at = ("--research", str(tmp_path), "--json", "--quiet")
    code, out, _ = idea("explore", "Urban bees", "--depth", "deep", *at)

    report = json.loads(out)["content"]
    assert code == 0
    assert report.startswith("# Urban bees")
    assert "- Urban bees sell 3 kg of honey at a market. ([Bees](../bees.md))" in report
    assert report.count("3 kg of honey at a market. ([Bees]") == 1  # not in every section
    assert "unsupported" not in report
