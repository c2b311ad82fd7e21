"""Sessions of a person at a terminal: a shell in a real pseudo-terminal, and the installed program in it."""

import json
import shutil
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

import pytest

from idea_explorer.adapters.aws.client import client
from idea_explorer.observability.logging import SilentLog
from idea_explorer.wiring.deps import cloud_deps
from tests.fakes.anthropic_faults import hang, http_error
from tests.fakes.anthropic_server import FakeAnthropic
from tests.fakes.anthropic_turns import Usage, answer, text
from tests.fakes.aws import REGION, moto_server
from tests.fakes.shell import PROMPT, Shell

pytestmark = pytest.mark.long

EXAMPLES = Path(__file__).parents[3] / "examples"
IDEA = "A subscription box for urban beekeepers"
CHANGE = """'Replace "colour" with "color" in notes.md'"""
KEYRING = """
import json, os, pathlib
from keyring.backend import KeyringBackend

FILE = pathlib.Path(os.environ["HOME"]) / "keyring.json"


class Keyring(KeyringBackend):
    priority = 1

    def _all(self):
        return json.loads(FILE.read_text()) if FILE.exists() else {}

    def get_password(self, service, name):
        return self._all().get(f"{service} {name}")

    def set_password(self, service, name, password):
        FILE.write_text(json.dumps({**self._all(), f"{service} {name}": password}))
"""
OpenShell = Callable[..., Shell]


@pytest.fixture
def open_shell(tmp_path: Path) -> Iterator[OpenShell]:
    """A shell in a folder with some research."""
    (tmp_path / "ideas" / "market").mkdir(parents=True)
    notes = "# Rooftop honey\n\nUrban beekeepers sell honey in 3 towns.\n"
    (tmp_path / "ideas" / "market" / "rooftops.md").write_text(notes)
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" >> {tmp_path}/opened\n')
    browser.chmod(0o755)
    with ExitStack() as shells:

        def start(columns: int = 80, **variables: str) -> Shell:
            return shells.enter_context(
                Shell(tmp_path, columns, {"BROWSER": str(browser), **variables})
            )

        yield start


def check_width(text: str, columns: int) -> None:
    assert max(map(len, text.splitlines())) <= columns


def has_colour(raw: bytes) -> bool:
    """Whether letters are coloured; bold and dim ones are not."""
    codes = (part.partition(b"m")[0].split(b";") for part in raw.split(b"\x1b[")[1:])
    return any(code[0][:1] in b"349" and len(code[0]) > 1 for code in codes if code[0].isdigit())


def test_what_this_machine_explored_is_found_again(open_shell: OpenShell, tmp_path: Path) -> None:
    """list, status, report, watch, cancel and open without a server, by every kind of name."""
    shell = open_shell()
    nowhere = shell.fail("idea list --research nowhere", 2)
    assert nowhere.startswith("idea: The research folder nowhere does not exist.")
    check_width(shell.run("idea list --research nowhere").text, 80)
    assert "There are no explorations yet." in shell.succeed("idea list")
    assert "There are no explorations yet." in shell.fail("idea status last", 1)
    shell.succeed("idea explore --quiet --toolset assistant 'What is 6 * 7?'")
    shell.run("export IDEA_API_URL=http://127.0.0.1:1 IDEA_API_TOKEN=t")  # nobody listens there
    ended = shell.succeed(f"idea explore '{IDEA}'")
    assert "1 research document (" in ended
    hint = ended.replace("\n", " ").partition("Read the report with: ")[2]
    report = shell.succeed(hint)
    assert report.startswith(f"# {IDEA}")
    check_width(report.partition("## Sources")[0], 80)
    shell.run("unset IDEA_API_URL IDEA_API_TOKEN")

    newest, oldest = shell.succeed("idea list --quiet").split()
    for columns in (120, 80):
        shell.run(f"stty cols {columns}")
        table = shell.succeed("idea list")
        check_width(table, columns)
        assert table.splitlines()[0].split() == ["ID", "STATUS", "STARTED", "COST", "IDEA"]
    short = table.splitlines()[2].split()[0]
    for name in (oldest, short, "-2"):
        assert shell.succeed(f"idea status {name}").startswith("What is 6")
    for name in ("last", "-1"):
        assert shell.succeed(f"idea status {name}").startswith(IDEA)
    assert "at least 4 characters of an id are needed" in shell.fail("idea status 0", 2)
    ambiguous = shell.fail(f"idea report {newest[:4]}", 2)
    assert f"2 explorations have an id that ends or begins with {newest[:4]}: " in ambiguous
    assert shell.succeed("idea watch last").startswith(f"Watching: {IDEA}")
    assert "there is nothing to cancel" in shell.fail("idea cancel last", 1)
    shell.succeed("idea open last")
    assert (tmp_path / "opened").read_text().strip().endswith(".html")


@pytest.mark.slow
def test_a_deployment_takes_the_same_words(open_shell: OpenShell, tmp_path: Path) -> None:
    """`idea serve` in one shell, a profile for it in another."""
    server, shell = open_shell(), open_shell()
    server.type("idea serve --port 0\r")
    url, token = server.find_word("IDEA_API_URL="), server.find_word("IDEA_API_TOKEN=")

    stored = shell.ask(f"idea config profile add here {url}", "token: ", token)
    assert token not in stored  # nobody reads it over a shoulder
    shell.succeed("idea config profile use here")
    assert shell.succeed("idea config").splitlines() == [f"* here  {url}"]

    watched = shell.succeed(f"idea submit --watch '{IDEA}'")
    assert "completed" in watched
    assert IDEA[:20] in shell.succeed("idea list")  # cut where the terminal ends
    assert shell.succeed("idea status last").startswith(IDEA)
    assert shell.succeed("idea report -1").startswith(f"# {IDEA}")
    assert shell.succeed("idea watch last").startswith(f"Watching: {IDEA}")
    assert "is too short" in shell.fail("idea status 0", 2)
    assert "Rooftop honey" in shell.succeed("idea search honey")
    assert "research" in shell.succeed("idea spend")
    shell.succeed("idea open last")
    assert (tmp_path / "opened").read_text().startswith(f"{url}/")
    (tmp_path / "notes.md").write_text("colour\n")
    shell.succeed(f"idea submit --toolset code {CHANGE}")
    shell.succeed("until idea status last | grep 'waiting for approval'; do :; done")
    shell.succeed("idea cancel last")
    assert "cancelled" in shell.fail("idea watch last", 4)
    assert "There is no profile 'hree'. Did you mean 'here'?" in shell.fail(
        "idea config profile use hree", 2
    )
    assert "There is no profile 'nobody'." in shell.fail("idea list --profile nobody", 2)


@pytest.mark.slow
def test_a_report_is_written_searched_and_paid_for(open_shell: OpenShell, tmp_path: Path) -> None:
    """Formats of a report, search and spend."""
    shell = open_shell()
    shell.succeed(f"idea explore --quiet '{IDEA}'")
    for ending, start in (("md", f"# {IDEA}"), ("html", "<!doctype html>"), ("json", "{")):
        assert shell.succeed(f"idea report last --output r.{ending}") == f"r.{ending}"
        assert (tmp_path / f"r.{ending}").read_text().lower().startswith(start.lower())
    assert json.loads(shell.succeed("idea report last --format json"))["status"] == "completed"
    shell.succeed("idea report last --format html --output page --open")
    assert (tmp_path / "opened").read_text().strip() == (tmp_path / "page").as_uri()
    assert "Only explorations of discover have a playlist" in shell.fail(
        "idea report last --format m3u", 1
    )
    assert "a report cannot be written as .pdf" in shell.fail("idea report last --output r.pdf", 2)

    found = shell.succeed("idea search rooftop honey")
    assert "ideas/market/rooftops.md" in found
    check_width(found, 80)
    assert "No document has the word: zeppelin" in shell.succeed("idea search zeppelin")

    shell.succeed(f"idea index {EXAMPLES / 'music' / 'tracks.jsonl'}")
    (tmp_path / "tracks.xlsx").write_bytes(b"PK\x03\x04\x00\n\x00\n")
    assert "The file is not JSON lines." in shell.fail("idea library import tracks.xlsx", 2)
    shell.succeed("idea explore --quiet --toolset discover 'quiet songs for a night drive'")
    assert shell.succeed("idea report last --format m3u").startswith("#EXTM3U")
    spend = shell.succeed("idea spend --days 3")
    assert spend.startswith("$0.00 for 2 explorations since")
    assert ("research" in spend, "discover" in spend) == (True, True)
    assert "--days must be between" in shell.fail("idea spend --days 0", 2)


@pytest.mark.slow
def test_settings_keys_and_help_are_at_hand(open_shell: OpenShell, tmp_path: Path) -> None:
    """config, the keyring, completion, did-you-mean and help."""
    (tmp_path / "file_keyring.py").write_text(KEYRING)
    shell = open_shell(PYTHONPATH=str(tmp_path), PYTHON_KEYRING_BACKEND="file_keyring.Keyring")
    path = Path(shell.succeed("idea config path"))
    assert path.is_relative_to(tmp_path / "home")
    shell.succeed("idea config set IDEA_MAX_COST_USD 1.5")
    path.write_text(path.read_text() + "# mine\n")
    shell.succeed("idea config set IDEA_STACK ideas")
    assert "# mine" in path.read_text()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    shell.run("export IDEA_MAX_COST_USD=3")
    assert "IDEA_MAX_COST_USD=1.5  (the environment sets another)" in shell.succeed("idea config")
    stored = shell.ask("idea config set ANTHROPIC_API_KEY", "ANTHROPIC_API_KEY: ", "sk-ant-secret")
    assert "sk-ant-secret" not in stored
    assert "ANTHROPIC_API_KEY=(stored, not shown)" in shell.succeed("idea config")
    assert "idea-explorer stored-secrets" in (tmp_path / "home" / "keyring.json").read_text()
    estimate = shell.succeed("idea explore Tea --estimate --json")
    # the key is in force, and the environment wins over the file
    assert json.loads(estimate)["max_cost_usd"] == 3.0
    path.write_text("settings = 1\n")
    assert f"idea: {path}: settings" in shell.fail("idea list", 2)
    path.unlink()

    shell.succeed("source <(idea completion bash)")
    shell.type("idea comp\t")
    shell.wait_for("idea completion ")
    shell.type("z\t")
    shell.wait_for("zsh")
    shell.type("\r")
    shell.wait_for(PROMPT)
    assert shell.succeed("idea completion zsh").startswith("#compdef idea")
    assert "complete --command idea" in shell.succeed("idea completion fish")

    assert "Did you mean 'report'?" in shell.fail("idea reprot last", 2)
    assert "Did you mean '--format'?" in shell.fail("idea report last --fromat md", 2)
    assert "Did you mean 'verdicts'?" in shell.fail("idea help verdict", 2)
    wrong = shell.run("idea report last --format htm").text
    check_width(wrong, 80)
    assert "Choose one of: md, html, json, m3u, csv." in " ".join(wrong.split())
    for command in ("idea --help", "idea explore --help", "idea submit --help"):
        check_width(shell.succeed(command), 80)
    for topic, words in {
        "exit-codes": "cancelled",
        "verdicts": "CONDITIONAL YES",
        "ids": "last, -1",
        "settings": "idea config path",
    }.items():
        assert words in shell.succeed(f"idea help {topic}")
    parameters = shell.succeed("idea tools --toolset code")
    assert "line_start (optional): First line to read" in parameters
    check_width("\n".join(x for x in parameters.splitlines() if "Example:" not in x), 80)


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("fish"), reason="fish is not installed")
def test_fish_completes_commands_options_and_ids(open_shell: OpenShell) -> None:
    shell = open_shell()
    shell.succeed("idea explore --quiet --toolset assistant 'What is 6 * 7?'")
    newest = shell.succeed("idea list --quiet")
    for typed, found in {
        "idea rep": "report",
        "idea report --form": "--format",
        "idea report last --format ": "m3u",
        f"idea status {newest[:6]}": newest.strip(),
        f"idea status {newest.strip()[-8:-4]}": newest.strip()[-8:],
    }.items():
        shown = shell.succeed(f"fish -c 'idea completion fish | source; complete -C \"{typed}\"'")
        assert found in shown


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("zsh"), reason="zsh is not installed")
def test_zsh_completes_commands_with_tab(open_shell: OpenShell) -> None:
    shell = open_shell()
    shell.type("PS1=$'\\x02' zsh -f -i\r")
    shell.wait_for("\x02")
    shell.type("autoload -Uz compinit && compinit -u -D && source <(idea completion zsh)\r")
    shell.wait_for("\x02")
    shell.type("idea comp\t")
    shell.wait_for("letion")
    shell.type("z\t\r")
    shell.wait_for("#compdef idea")


@pytest.mark.slow
def test_approvals_can_be_tried_without_a_key(open_shell: OpenShell, tmp_path: Path) -> None:
    """The offline model proposes a change; the terminal asks for a decision."""
    shell = open_shell()
    (tmp_path / "notes.md").write_text("The colour of tea\n")
    decided = shell.ask(f"idea explore --toolset code {CHANGE}", "[a]", "a")
    assert "-The colour of tea" in decided
    assert "+The color of tea" in decided
    assert "completed" in decided
    assert (tmp_path / "notes.md").read_text() == "The color of tea\n"
    assert "notes.md" in shell.succeed("idea approve last --list")
    assert shell.succeed("idea revert last") == "Reverted: notes.md"
    assert (tmp_path / "notes.md").read_text() == "The colour of tea\n"

    shell.run("set -o pipefail")
    assert "waiting for approval" in shell.fail(
        f"idea explore --toolset code {CHANGE} < /dev/null", 3
    )
    shell.fail("idea resume last < /dev/null | head -1", 3)
    shell.succeed("idea reject last --reason 'not now'")
    assert "completed" in shell.succeed("idea resume last")
    assert (tmp_path / "notes.md").read_text() == "The colour of tea\n"
    shell.fail(f"idea explore --quiet --toolset code {CHANGE} < /dev/null", 3)
    assert "cancelled" in shell.succeed("idea cancel last")
    assert "cancelled" in shell.fail("idea watch last", 4)


@pytest.mark.slow
def test_what_a_careful_user_expects_of_streams(open_shell: OpenShell, tmp_path: Path) -> None:
    """Colours, JSON, pipes, tools by hand and the doctor."""
    shell = open_shell()
    (tmp_path / "empty").mkdir()
    said = shell.succeed("idea explore --quiet --research empty Tea")
    assert "has no documents that can be read" in " ".join(said.split())
    assert has_colour(shell.run(f"idea explore '{IDEA}'").raw)
    assert not has_colour(shell.run("NO_COLOR=1 idea watch last").raw)
    assert b"\x1b" not in shell.run("TERM=dumb idea watch last").raw

    for command in ("list", "status last", "spend", "search honey", "doctor", "config", "tools"):
        printed = shell.run(f"idea {command} --json 2> /dev/null").raw
        assert isinstance(json.loads(printed), dict), command
    events = shell.succeed("idea watch last --json").splitlines()
    assert all("id" in json.loads(line) for line in events)

    shell.run("set -o pipefail")
    assert shell.succeed("idea report last | head -1") == f"# {IDEA}"
    assert "Traceback" not in shell.run("idea list >&-").text
    calculate = "idea tool --toolset assistant calculator"
    failed = shell.fail(f"""{calculate} '{{"expression": "1/0"}}'""", 1)
    assert json.loads(failed)["ok"] is False
    assert json.loads(shell.succeed(f"""{calculate} '{{"expression": "6*7"}}'"""))["ok"] is True
    assert 'Try: idea explore "…"' in shell.fail("idea explore", 2)
    assert "The following arguments are required: id" in shell.fail("idea status", 2)


@pytest.mark.slow
def test_what_a_run_cost_and_how_it_ended_is_told(open_shell: OpenShell, tmp_path: Path) -> None:
    """A paid run that ends early, is resumed, fails and is interrupted."""
    usage = Usage(input_tokens=100_000, output_tokens=1_000)
    half = [answer(text("# Half"), stop_reason="max_tokens", usage=usage)] * 3
    whole = [answer(text("# Whole\n\nA report."), usage=usage)]
    refused = [answer(text("# None"), fault=http_error(401))]
    with FakeAnthropic([*half, *whole, *refused, answer(text("# Never"), fault=hang(6))]) as server:
        shell = open_shell(ANTHROPIC_API_KEY="k", ANTHROPIC_BASE_URL=server.url)
        assert "Continue with: idea resume" in shell.fail("idea explore --toolset assistant Tea", 3)
        before = json.loads(shell.succeed("idea status last --json"))["cost_usd"]
        assert "completed" in shell.succeed("idea resume last")
        cost = json.loads(shell.succeed("idea status last --json"))["cost_usd"]
        assert cost > before > 0  # the resumed run includes what it continued
        shell.run("set -o pipefail")
        shell.fail("idea explore --toolset assistant Coffee | head -1", 1)
        asked = len(server.requests)
        shell.type("idea explore Milk\r")
        while len(server.requests) == asked:
            time.sleep(0.05)
        shell.type("\x03")
        shell.wait_for("Stopping and keeping")
        server.stop()
        shell.wait_for("cancelled")
        shell.wait_for(PROMPT)
        assert shell.succeed("echo $?") == "4"
    spend = shell.succeed("idea spend")
    assert " for 3 explorations since" in spend
    assert f"\nby toolset\n  assistant     ${cost:.2f}  ████" in spend


@pytest.mark.slow
def test_an_operator_sees_what_every_owner_spent(
    open_shell: OpenShell, monkeypatch: pytest.MonkeyPatch
) -> None:
    account = {
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": REGION,
    }
    for name, value in account.items():
        monkeypatch.setenv(name, value)
    with moto_server() as deployed:
        endpoint = str(deployed.aws_endpoint_url)
        client("secretsmanager", endpoint).create_secret(Name="ideas-tokens")
        spend = cloud_deps(deployed, SilentLog()).policy.spend
        assert spend is not None
        spend.record("ada", datetime.now(UTC).date(), "run-1", 0.5)
        names = {"TABLE_NAME": str(deployed.table_name), "API_TOKENS_SECRET_ID": "ideas-tokens"}
        shell = open_shell(AWS_ENDPOINT_URL=endpoint, **account, **names)
        shell.succeed("idea admin token add ada")
        shown = shell.succeed("idea admin spend")
    assert shown.startswith("$0.50 for 1 owner since")
    assert "  ada     $0.50  ████" in shown
