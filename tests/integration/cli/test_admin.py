"""An operator sets a deployment up: tokens and secrets, in Secrets Manager."""

import io
import json
import sys
from datetime import UTC, datetime, timedelta

import pytest

from idea_explorer.adapters.aws.client import client
from idea_explorer.api.authorizer import UnauthorizedError, authorize
from idea_explorer.cli import main
from idea_explorer.domain.errors import NoFreeSlotError
from idea_explorer.observability.logging import SilentLog
from idea_explorer.settings import Settings
from idea_explorer.wiring.deps import cloud_deps
from tests.fakes.explorations import NOW, an_exploration
from tests.fakes.stack import name_stack

ARN = "arn:aws:execute-api:eu-central-1:123456789012:abc/prod/GET/explorations"


SECRETS = {
    "API_TOKENS_SECRET_ID": "ideas-tokens",
    "GITHUB_SECRET_ID": "ideas-github",
    "ANTHROPIC_SECRET_ID": "ideas-anthropic",
    "QDRANT_SECRET_ID": "ideas-qdrant",
    "TIDAL_SECRET_ID": "ideas-tidal",
}


@pytest.fixture(autouse=True)
def deployment(aws: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """Secrets that were never set, as a first deploy leaves them."""
    for variable, name in SECRETS.items():
        client("secretsmanager").create_secret(Name=name)
        monkeypatch.setenv(variable, name)


def secret(name: str) -> str:
    value: str = client("secretsmanager").get_secret_value(SecretId=name)["SecretString"]
    return value


def owner_of(token: str) -> str:
    event = {"authorizationToken": f"Bearer {token}", "methodArn": ARN}
    return str(authorize(event, lambda: secret("ideas-tokens"))["context"]["owner"])


def test_an_added_token_is_printed_once_and_known_by_its_hash(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["admin", "token", "add", "ada"]) == 0
    token = capsys.readouterr().out.strip()
    assert main(["admin", "token", "add", "bob", "--json"]) == 0
    other = json.loads(capsys.readouterr().out)["token"]

    assert (owner_of(token), owner_of(other)) == ("ada", "bob")
    assert token not in secret("ideas-tokens")
    assert main(["admin", "token", "list"]) == 0
    shown = capsys.readouterr().out
    assert f"since {datetime.now(UTC):%Y-%m-%d}" in shown
    assert token not in shown


def test_revoking_takes_all_of_an_owners_tokens(capsys: pytest.CaptureFixture[str]) -> None:
    tokens = []
    for owner in ("ada", "ada", "bob"):
        main(["admin", "token", "add", owner])
        tokens.append(capsys.readouterr().out.strip())

    assert main(["admin", "token", "revoke", "ada"]) == 0

    for token in tokens[:2]:
        with pytest.raises(UnauthorizedError):
            owner_of(token)
    assert owner_of(tokens[2]) == "bob"
    capsys.readouterr()
    assert main(["admin", "token", "list", "ada", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == []
    assert main(["admin", "token", "revoke", "ada"]) == 1


@pytest.mark.parametrize(
    ("name", "stored"),
    [
        ("github", "ideas-github"),
        ("anthropic", "ideas-anthropic"),
        ("qdrant", "ideas-qdrant"),
        ("tidal", "ideas-tidal"),
    ],
)
def test_a_secret_is_set_from_stdin_and_never_shown(
    name: str,
    stored: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("s3cret-value\n"))

    assert main(["admin", "secret", "set", name]) == 0

    assert secret(stored) == "s3cret-value"
    captured = capsys.readouterr()
    assert "s3cret" not in captured.out + captured.err


@pytest.mark.parametrize("given", ["", "\n", "two words", "x" * 20_000, "a\nb"])
def test_what_is_no_secret_is_not_set(given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("old-value"))
    main(["admin", "secret", "set", "github"])
    monkeypatch.setattr(sys, "stdin", io.StringIO(given))

    assert main(["admin", "secret", "set", "github"]) == 2
    assert secret("ideas-github") == "old-value"


@pytest.mark.parametrize(
    ("arguments", "exit_code", "sentence"),
    [
        (("admin",), 2, "Say what to do. Try: idea admin token, secret, dead-letters"),
        (("admin", "token"), 2, "Say what to do. Try: idea admin token add OWNER"),
        (("admin", "secret"), 2, "Say what to do. Try: idea admin secret set github"),
        (("admin", "dead-letters"), 2, "Say what to do. Try: idea admin dead-letters list, retry"),
        (("admin", "token", "add", "no spaces please"), 2, "An owner is named by"),
    ],
)
def test_what_is_wrong_is_one_sentence(
    arguments: tuple[str, ...],
    exit_code: int,
    sentence: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(arguments) == exit_code

    captured = capsys.readouterr()
    assert captured.err.startswith(f"idea: {sentence}")
    assert len(captured.err.splitlines()) == 1


def test_without_a_deployment_named_it_asks_which(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("API_TOKENS_SECRET_ID")

    assert main(["admin", "token", "list"]) == 2
    assert capsys.readouterr().err.startswith("idea: Which deployment?")


def test_a_deployment_is_named_by_its_stack(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("API_TOKENS_SECRET_ID")
    name_stack("ideas", ApiTokensSecretId="ideas-tokens")

    assert main(["admin", "token", "add", "ada", "--stack", "ideas"]) == 0
    assert owner_of(capsys.readouterr().out.strip()) == "ada"
    assert main(["admin", "token", "list", "--stack", "other"]) == 2
    assert capsys.readouterr().err.startswith("idea: There is no stack other in this account")


def test_a_paused_deployment_starts_nothing_until_it_is_unpaused(
    aws: Settings, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert aws.table_name is not None
    monkeypatch.setenv("TABLE_NAME", aws.table_name)
    stores = cloud_deps(aws, SilentLog())
    exploration = an_exploration()
    stores.explorations.create(exploration)

    assert main(["admin", "pause"]) == 0
    assert "Paused" in capsys.readouterr().out
    with pytest.raises(NoFreeSlotError):
        stores.explorations.take_over(exploration.id, lambda e: e.started(at=NOW), slots=5)

    assert main(["admin", "unpause", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown == {"paused": False, "running": 0, "waiting": 1}
    stores.explorations.take_over(exploration.id, lambda e: e.started(at=NOW), slots=5)


def test_what_each_owner_spent_is_shown_to_the_operator(
    aws: Settings, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert aws.table_name is not None
    monkeypatch.setenv("TABLE_NAME", aws.table_name)
    for owner in ("ada", "bob"):
        main(["admin", "token", "add", owner])
    today, spend = datetime.now(UTC).date(), cloud_deps(aws, SilentLog()).policy.spend
    assert spend is not None
    spend.record("ada", today, "run-1", 0.5)
    spend.record("ada", today - timedelta(days=1), "run-2", 0.25)
    spend.record("bob", today - timedelta(days=7), "run-3", 9.0)  # before the week that is shown
    capsys.readouterr()

    assert main(["admin", "spend", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["owners"] == {"ada": 0.75, "bob": 0.0}
    assert shown["days"][today.isoformat()] == 0.5
    assert main(["admin", "spend"]) == 0
    assert "ada     $0.75  ████" in capsys.readouterr().out
    assert main(["admin", "spend", "--days", "31"]) == 2


def test_pausing_asks_for_the_deployment(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["admin", "pause"]) != 0

    assert "--stack" in capsys.readouterr().err


def test_a_token_is_replaced_while_both_are_valid(capsys: pytest.CaptureFixture[str]) -> None:
    main(["admin", "token", "add", "ada"])
    old = capsys.readouterr().out.strip()
    main(["admin", "token", "add", "bob"])
    other = capsys.readouterr().out.strip()
    main(["admin", "token", "add", "ada"])
    new = capsys.readouterr().out.strip()
    assert (owner_of(old), owner_of(new)) == ("ada", "ada")

    assert main(["admin", "token", "revoke", "ada", "--keep-newest"]) == 0

    assert (owner_of(new), owner_of(other)) == ("ada", "bob")
    with pytest.raises(UnauthorizedError):
        owner_of(old)


@pytest.mark.parametrize(
    "typed",
    [
        ("set", "github", "s3cret"),
        ("set", "github", "--stack", "ideas", "s3cret"),
        ("set", "s3cret"),
        ("s3cret",),
        ("--value=s3cret",),
        ("github", "s3cret"),
    ],
)
def test_a_secret_on_the_command_line_is_refused_and_not_repeated(
    typed: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["admin", "secret", *typed])

    said = capsys.readouterr().err
    assert ended.value.code == 2
    assert "The value is read from standard input, never from the command line." in said
    assert "s3cret" not in said


def test_the_deployment_is_found_before_a_secret_is_read(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    typed = io.StringIO("s3cret-value")
    monkeypatch.setattr(sys, "stdin", typed)

    assert main(["admin", "secret", "set", "github", "--stack", "other"]) == 2

    assert "There is no stack other" in capsys.readouterr().err
    assert typed.read() == "s3cret-value"


def test_a_stack_that_is_named_wins_over_the_variables_of_a_function(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    client("secretsmanager").create_secret(Name="theirs")
    name_stack("theirs", GitHubSecretId="theirs")
    monkeypatch.setattr(sys, "stdin", io.StringIO("s3cret-value"))

    assert main(["admin", "secret", "set", "github", "--stack", "theirs"]) == 0

    assert secret("theirs") == "s3cret-value"


@pytest.mark.parametrize(
    ("outputs", "hint"),
    [
        ({}, "Is it a stack of Idea Explorer?"),
        ({"TableName": "t"}, "It has one where the parameter WebhookUrl is set."),
    ],
)
def test_a_stack_without_an_output_may_be_another(
    outputs: dict[str, str], hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    name_stack("other", **outputs)

    assert main(["admin", "secret", "set", "webhook", "--stack", "other"]) == 2

    said = capsys.readouterr().err
    assert said == f"idea: The stack other has no output WebhookSecretId. {hint}\n"
