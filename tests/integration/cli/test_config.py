"""Settings, keys and deployments of a user, which need not be exported in every shell."""

import io
import json
import stat
from pathlib import Path

import pytest

from idea_explorer.cli.config import known_names
from idea_explorer.domain.user_config import KEYS
from idea_explorer.settings import Settings
from tests.fakes.in_process import Idea

KEY = "sk-ant-not-a-real-key"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    for name in (*known_names(), "IDEA_API_URL", "IDEA_API_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "home" / "idea-explorer"


@pytest.fixture
def idea(home: Path, capsys: pytest.CaptureFixture[str]) -> Idea:
    return Idea(capsys)


def paste(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(text))


def test_a_setting_is_in_force_until_the_environment_says_otherwise(
    idea: Idea, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert idea("config")[2].startswith("idea: Nothing is set.")
    assert idea("config", "set", "IDEA_MODEL_PROVIDER", "offline") == (0, "", "")
    assert idea("config", "set", "IDEA_MAX_COST_USD", "1.5")[0] == 0
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)

    def describe() -> str:
        return str(json.loads(idea("explore", "Tea", "--estimate", "--json")[1])["max_cost_usd"])

    assert describe() == "None"  # the offline model of the file costs nothing
    monkeypatch.setenv("IDEA_MODEL_PROVIDER", "anthropic")
    assert describe() == "1.5"
    monkeypatch.setenv("IDEA_MAX_COST_USD", "")
    assert describe() == "2.0"
    assert "IDEA_MAX_COST_USD=1.5  (the environment sets another)" in idea("config", "list")[1]
    assert idea("config", "unset", "IDEA_MAX_COST_USD")[0] == 0
    assert idea("config", "get", "IDEA_MAX_COST_USD")[0] == 1
    assert stat.S_IMODE((home / "config.toml").stat().st_mode) == 0o600
    assert idea("config", "path")[1] == f"{home / 'config.toml'}\n"


def test_a_key_is_stored_encrypted_and_never_shown(
    idea: Idea, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paste(monkeypatch, f"{KEY}\n")
    assert idea("config", "set", "ANTHROPIC_API_KEY") == (0, "", "")

    stored = b"".join(file.read_bytes() for file in home.iterdir())
    assert KEY.encode() not in stored
    assert {stat.S_IMODE(file.stat().st_mode) for file in home.iterdir()} == {0o600}
    for arguments in (("config",), ("config", "list", "--json")):
        code, out, _ = idea(*arguments)
        assert (code, KEY in out) == (0, False)
    # a script must not take a sentence for the key
    never = "idea: ANTHROPIC_API_KEY is stored, and never shown.\n"
    assert idea("config", "get", "ANTHROPIC_API_KEY") == (1, "", never)
    estimate = json.loads(idea("explore", "Tea", "--estimate", "--json")[1])
    assert estimate["model"] == "sonnet"  # and not the offline model
    assert idea("config", "unset", "ANTHROPIC_API_KEY")[0] == 0
    assert json.loads(idea("explore", "Tea", "--estimate", "--json")[1])["model"] == "offline"


def test_a_key_is_not_taken_from_the_command_line(idea: Idea, home: Path) -> None:
    code, _, err = idea("config", "set", "ANTHROPIC_API_KEY", KEY)
    assert (code, KEY in err, home.exists()) == (2, False, False)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("set", "IDEA_MAX_COST", "1"), "There is no setting 'IDEA_MAX_COST'. Did you mean"),
        (("set", "IDEA_MAX_COST_USD", "much"), "IDEA_MAX_COST_USD must be a number."),
        (("set", "IDEA_MAX_COST_USD"), "IDEA_MAX_COST_USD needs a value."),
        (("set", "IDEA_API_URL", "https://x"), "IDEA_API_URL belongs to a profile."),
        (("set", "TABLE_NAME", "t"), "There is no setting 'TABLE_NAME'."),
        (("profile", "add", "a b", "https://x.example"), "A profile's name has up to 40 letters"),
        (("profile", "add", "local", "https://x.example"), "'local' is this machine"),
        (("profile", "add", "a", "http://x.example"), "The address must begin with https"),
    ],
)
def test_what_cannot_be_stored_is_refused(
    idea: Idea, arguments: tuple[str, ...], sentence: str
) -> None:
    code, _, err = idea("config", *arguments)
    assert (code, err.startswith(f"idea: {sentence}")) == (2, True)


def test_a_file_that_nobody_can_read_is_named(idea: Idea, home: Path) -> None:
    home.mkdir(parents=True)
    (home / "config.toml").write_text("settings = 1\n")
    code, _, err = idea("list")
    assert (code, err.startswith(f"idea: {home / 'config.toml'}: settings")) == (2, True)
    (home / "config.toml").write_text("= what\n")
    assert "config.toml is not TOML: " in idea("list")[2]


def test_what_a_person_wrote_beside_a_setting_stays(idea: Idea, home: Path) -> None:
    file = home / "config.toml"
    home.mkdir(parents=True)
    file.write_text(
        "# ours\n\n# the usual one\nprofile = 'work'\n\n[settings]\n# money\n"
        "IDEA_MAX_COST_USD = 1.25  # a # run\nIDEA_TRACE_CONTENT = true\n\n# live\n"
        '[profiles.work]\nurl = "https://a.example/#x"  # moves\n'
    )
    assert idea("config", "set", "IDEA_MAX_COST_USD", "2")[0] == 0
    assert idea("config", "set", "IDEA_STACK", "ideas")[0] == 0
    assert idea("config", "unset", "IDEA_TRACE_CONTENT")[0] == 0
    assert idea("config", "profile", "use", "local")[0] == 0

    assert file.read_text() == (
        "# ours\n\n# the usual one\n\n[settings]\n# money\n"
        'IDEA_MAX_COST_USD = "2"  # a # run\nIDEA_STACK = "ideas"\n\n# live\n'
        '[profiles.work]\nurl = "https://a.example/#x"  # moves\n'
    )
    assert idea("config", "profile", "use", "work")[0] == 0
    assert idea("config", "profile", "remove", "work")[0] == 0
    assert file.read_text().endswith('IDEA_STACK = "ideas"\n\n# live\n')


def test_a_file_that_cannot_be_changed_line_by_line_is_written_anew(idea: Idea, home: Path) -> None:
    home.mkdir(parents=True)
    (home / "config.toml").write_text('''[settings]\nIDEA_STACK = """\nideas"""\n''')
    assert idea("config", "set", "IDEA_MAX_COST_USD", "2") == (0, "", "")  # no comment is lost

    assert idea("config", "get", "IDEA_STACK")[1] == "ideas\n"
    assert idea("config", "get", "IDEA_MAX_COST_USD")[1] == "2\n"


def test_whoever_loses_comments_is_told(idea: Idea, home: Path) -> None:
    file = home / "config.toml"
    home.mkdir(parents=True)
    file.write_text('''# mine\n[settings]\nIDEA_STACK = """\nideas"""\n''')

    code, _, err = idea("config", "set", "IDEA_MAX_COST_USD", "2")

    assert (code, "# mine" in file.read_text()) == (0, False)
    assert err == (
        f"idea: {file} has values over several lines; it was written anew, without comments.\n"
    )
    assert idea("config", "set", "IDEA_MAX_COST_USD", "3") == (0, "", "")


@pytest.mark.parametrize("sign", ["\u2028", "\u2029", "\x85"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_only_a_newline_ends_a_line(idea: Idea, home: Path, sign: str, end: str) -> None:
    file = home / "config.toml"
    home.mkdir(parents=True)
    before = f"# one{sign}two\n[settings]\nIDEA_STACK = 'ideas'  # three{sign}four\n"
    file.write_bytes(before.replace("\n", end).encode())

    assert idea("config", "set", "IDEA_MAX_COST_USD", "2") == (0, "", "")
    assert file.read_bytes().decode() == before + 'IDEA_MAX_COST_USD = "2"\n'


def test_what_a_person_wrote_into_the_file_counts(idea: Idea, home: Path) -> None:
    home.mkdir(parents=True)
    (home / "config.toml").write_text(
        "# mine\n[settings]\nIDEA_MAX_COST_USD = 1.25\nIDEA_TRACE_CONTENT = true\n"
    )
    assert idea("config", "get", "IDEA_MAX_COST_USD")[1] == "1.25\n"
    assert idea("config", "get", "IDEA_TRACE_CONTENT")[1] == "true\n"


@pytest.mark.parametrize(
    "arguments", [("list", "--profile", "a"), ("config", "profile", "use", "a")]
)
def test_who_names_a_profile_that_does_not_exist_learns_which_there_are(
    idea: Idea, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    add = "Add one with: idea config profile add a URL\n"
    missing = idea(*arguments)[2]
    paste(monkeypatch, "t")
    idea("config", "profile", "add", "work", "https://work.example")

    assert "There are" not in missing
    assert missing.endswith(add)
    assert idea(*arguments)[2].endswith(f"There are: work. {add}")


def test_a_profile_names_a_deployment(
    idea: Idea, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, token in (("work", "token-of-work"), ("home", "token-of-home")):
        paste(monkeypatch, token)
        assert idea("config", "profile", "add", name, f"http://127.0.0.1:1/{name}")[0] == 0
    assert idea("list")[2].startswith("idea: There are no explorations yet.")  # none is in use

    assert idea("config", "profile", "use", "work") == (0, "", "")
    assert "* work  http://127.0.0.1:1/work" in idea("config", "profile", "list")[1]
    assert "http://127.0.0.1:1/work could not be reached" in idea("list")[2]
    assert "http://127.0.0.1:1/home could not be reached" in idea("list", "--profile", "home")[2]
    assert idea("list", "--local")[0] == 0
    monkeypatch.setenv("IDEA_API_URL", "http://127.0.0.1:2")
    monkeypatch.setenv("IDEA_API_TOKEN", "t")
    assert "http://127.0.0.1:2 could not be reached" in idea("list")[2]
    monkeypatch.delenv("IDEA_API_URL")
    code, _, err = idea("config", "unset", "profile home")  # as its token is stored
    assert (code, err) == (2, "idea: There is no setting 'profile home'.\n")
    monkeypatch.delenv("IDEA_API_TOKEN")
    assert "/home could not be reached" in idea("list", "--profile", "home")[2]
    assert idea("list", "--profile", "wrk")[2].startswith("idea: There is no profile 'wrk'.")
    assert idea("config", "profile", "remove", "work")[0] == 0
    assert idea("list")[0] == 0
    assert b"token-of" not in (home / "keys.json").read_bytes()


def test_a_token_is_sent_to_its_own_deployment_alone(
    idea: Idea, monkeypatch: pytest.MonkeyPatch
) -> None:
    from idea_explorer.cli.targets.client import ApiClient

    paste(monkeypatch, "token-of-work")
    idea("config", "profile", "add", "work", "https://work.example")
    idea("config", "profile", "use", "work")
    seen: list[tuple[str, str]] = []

    def remember(_: ApiClient, url: str, token: str, *__: object) -> None:
        seen.append((url, token))
        raise KeyboardInterrupt

    monkeypatch.setattr(ApiClient, "__init__", remember)
    monkeypatch.setenv("IDEA_API_TOKEN", "another")
    idea("list")
    monkeypatch.setenv("IDEA_API_URL", "https://other.example")
    idea("list")

    assert seen == [("https://work.example", "token-of-work"), ("https://other.example", "another")]


def test_every_key_of_the_settings_is_stored_as_one() -> None:
    secret = {
        field.validation_alias
        for field in Settings.model_fields.values()
        if "SecretStr" in str(field.annotation)
    }
    assert secret == KEYS


def test_every_name_can_be_read_from_the_environment() -> None:
    names = [*known_names()]
    assert len(names) == len(set(names))
    assert {"IDEA_CODE_MAX_FILES", "AWS_REGION", *KEYS} <= set(names)
