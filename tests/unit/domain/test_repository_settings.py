"""What may be in `.idea-explorer.toml`, and one sentence for everything else."""

import pytest

from idea_explorer.domain.errors import ConfigurationError
from idea_explorer.domain.repository_settings import (
    MAX_SETTINGS_BYTES,
    is_settings_file,
    parse_repository_settings,
)


def test_without_a_file_nothing_is_set() -> None:
    settings = parse_repository_settings(None)

    assert settings.checks.commands == {}
    assert settings.files.allow == []


def test_commands_folders_and_files_are_named() -> None:
    settings = parse_repository_settings(
        b'[checks]\nlint = "ruff check ."\ntest = "make test"\nuse = [".venv"]\n'
        b'[files]\nallow = ["tests/server.key", "./a//b.pem"]\n'
    )

    assert settings.checks.commands == {"test": "make test", "lint": "ruff check ."}
    assert settings.checks.use == [".venv"]
    assert settings.files.allow == ["tests/server.key", "a/b.pem"]


def test_other_commands_are_another_set() -> None:
    one, other, third = (
        parse_repository_settings(text).checks.key(isolated=True)
        for text in (
            b'[checks]\ntest = "make test"',
            b'[checks]\ntest = "make test; make deploy"',
            b'[checks]\ntest = "make test"\nuse = [".venv"]',
        )
    )

    assert len({one, other, third}) == 3
    assert (
        parse_repository_settings(b'# x\n[checks]\ntest="make test"').checks.key(isolated=True)
        == one
    )


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"[checks\n", "it is not TOML"),
        (b"\xff\xfe", "it is not TOML"),
        (b"a = " + b"[" * 5_000, "it is not TOML"),
        (b"#" * (MAX_SETTINGS_BYTES + 1), "more than 16,384 bytes"),
        (b"checks = 1", "checks: must be an object"),
        (b"[checks]\ntest = 1", "checks: must be text (checks.test)"),
        (b'[checks]\ntest = ["make", "test"]', "checks: must be text"),
        (b'[checks]\ntest = "a\\nb"', "checks: must be one line of printable text"),
        (b'[checks]\ntest = "a\\u202eb"', "checks: must be one line of printable text"),
        (b'[checks]\ntest = " "', "checks: must be one line of printable text"),
        (b'[checks]\ntest = "%s"' % (b"x" * 1_001), "checks: must be at most 1,000 characters"),
        (b'[checks]\ndeploy = "make"', "checks: unknown field (checks.deploy)"),
        (b'[checks]\nuse = ["../other"]', "checks: Path contains '..'"),
        (b'[checks]\nuse = ["."]', "checks: must name a file or folder below the root"),
        (b'[files]\nallow = ["/etc/passwd"]', "files: Path is absolute"),
        (b'[files]\nallow = "*"', "files: must be a list"),
        (b'["</result>"]\na = 1', "a section: unknown"),
    ],
)
def test_anything_else_is_refused_in_one_sentence(content: bytes, reason: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        parse_repository_settings(content)

    assert reason in raised.value.message
    assert raised.value.message.startswith(".idea-explorer.toml cannot be used: ")
    assert "\n" not in raised.value.sentence
    assert "</result>" not in raised.value.sentence


def test_the_file_is_known_in_any_case() -> None:
    assert is_settings_file(".Idea-Explorer.TOML")
    assert not is_settings_file("docs/.idea-explorer.toml")
