"""Which files are taken for keys, by their names."""

import pytest

from idea_explorer.domain.secret_files import is_secret_file


@pytest.mark.parametrize(
    "path",
    [
        *(".env", "app/.env", ".env.local", ".env.production", "prod.env", ".ENV", ".envrc"),
        *("certs/server.pem", "server.key", "id_rsa", "deploy/id_ed25519", "app.p12", "a.JKS"),
        *(
            ".ssh/config",
            "home/.aws/credentials",
            ".docker/config.json",
            ".netrc",
            ".git-credentials",
        ),
        *("config/secrets.yml", "credentials.json", "terraform.tfstate", ".env:stream", ".env."),
        *(".env_prod", "app/.env-prod", "terraform.tfvars", "prod.auto.tfvars.json", ".npmrc"),
    ],
)
def test_a_key_file_is_known_by_its_name(path: str) -> None:
    assert is_secret_file(path)


@pytest.mark.parametrize(
    "path",
    [
        *(".env.example", "app/.env.sample", "env.py", "environment.ts", "id_rsa.pub", "keys.py"),
        *("docs/secrets.md", "src/secret_files.py", "monkey.py", "docker/config.json", "token.go"),
        *(".env-example", ".env_sample", "terraform.tfvars.example", ".environment", "npmrc.md"),
    ],
)
def test_other_files_are_not(path: str) -> None:
    assert not is_secret_file(path)


def test_a_repository_allows_files_by_their_whole_path() -> None:
    allowed = {"tests/server.key"}

    assert not is_secret_file("tests/server.key", allowed)
    assert is_secret_file("server.key", allowed)
    assert is_secret_file("tests/tests/server.key", allowed)
