"""No tool reads, sends or changes a key: the same over a folder, a repository under git and one on GitHub."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from idea_explorer.domain.paths import RepositoryPath
from tests.fakes.code_repository import CodeBench, Files, Link, fill, tarball

KEY = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
OTHER = "AKIA" + "IOSFODNN7EXAMPLE"
LINE = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj"
PASSWORD = "hunter2-of-the-env"
FILES: Files = {
    ".env": f"PASSWORD={PASSWORD}\n",
    "deploy/server.key": f"{PASSWORD}\n",
    "notes": Link(".env"),
    "config.py": (
        f'TOKEN = "{KEY}"\nREGION = "eu"\nAWS = "{OTHER}"\n\n\ndef find(a="{KEY}"):\n    pass\n'
    ),
    "pem.py": f"x = 1\n-----BEGIN PRIVATE KEY-----\n{LINE}\n{LINE}\n-----END PRIVATE KEY-----\ny = 2\n",
    "long.py": f'def connect(a="{"x y " * 40}", key="{KEY}"):\n    return connect\n',
    ".env.example": "PASSWORD=\n",
}


@pytest.fixture(params=["folder", "git", "github"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def bench_of(kind: str, tmp_path: Path, files: Files) -> CodeBench:
    bench = CodeBench(tmp_path / "cache")
    if kind == "github":
        return bench.over_tarball(tarball(files))
    root = fill(tmp_path / "project", files)
    if kind == "git":
        subprocess.run(["git", "-C", str(root), "init", "--quiet"], check=True)
        subprocess.run(["git", "-C", str(root), "add", "--force", "."], check=True)
    return bench.over_folder(root)


@pytest.fixture
def bench(kind: str, tmp_path: Path) -> CodeBench:
    return bench_of(kind, tmp_path, FILES)


@pytest.mark.parametrize("path", [".env", "deploy/server.key", "notes", "./.env"])
def test_a_key_file_is_not_read(path: str, bench: CodeBench) -> None:
    result = bench.call("read_file", path=path)

    assert result["error_type"] == "secret_file"
    assert "[files] allow" in result["message"]
    assert PASSWORD not in json.dumps(result)


def test_a_key_file_is_listed_and_found_but_not_searched(bench: CodeBench) -> None:
    listed = bench.call("list_files", path=".", recursive=True)
    found = bench.call("find_files", pattern="**/*.key")
    searched = bench.call("search_files", pattern="hunter2|PASSWORD")

    assert ".env" in [entry["path"] for entry in listed["entries"]]
    assert found["files"] == ["deploy/server.key"]
    assert {match["file"] for match in searched["matches"]} == {".env.example"}


@pytest.mark.parametrize(
    ("name", "path"),
    [
        *(("edit_file", ".env"), ("edit_file", "notes"), ("edit_file", "deploy/server.key")),
        *(("create_file", "web/.env.local"), ("create_file", "new.pem"), ("create_file", ".ENV")),
    ],
)
def test_no_change_to_a_key_file_is_proposed(name: str, path: str, bench: CodeBench) -> None:
    result = bench.call(name, path=path, content="x\n", description="Renew it")

    assert result["error_type"] == "secret_file"
    assert bench.proposals == []


def test_the_repository_allows_a_file_by_name(kind: str, tmp_path: Path) -> None:
    allowed = '[files]\nallow = ["deploy/server.key"]\n'
    bench = bench_of(kind, tmp_path, {**FILES, ".idea-explorer.toml": allowed})

    assert PASSWORD in bench.call("read_file", path="deploy/server.key")["content"]
    assert bench.call("read_file", path=".env")["error_type"] == "secret_file"


@pytest.mark.parametrize("settings", ["[files]\nallow = '*'\n", "[[[", "#" * 100_000, b"\0"])
def test_settings_that_cannot_be_used_allow_nothing(
    settings: str | bytes, kind: str, tmp_path: Path
) -> None:
    bench = bench_of(kind, tmp_path, {**FILES, ".idea-explorer.toml": settings})

    assert bench.call("read_file", path=".env")["error_type"] == "secret_file"
    assert bench.call("read_file", path=".env.example")["ok"]


def test_an_approved_change_cannot_allow_a_key_file(bench: CodeBench) -> None:
    content = '[files]\nallow = [".env"]\n'
    result = bench.call("create_file", path=".idea-explorer.toml", content=content, description="x")
    assert "changed by people only" in result["message"]

    bench.workspace.approve(RepositoryPath(".idea-explorer.toml"), content)
    assert bench.call("read_file", path=".env")["error_type"] == "secret_file"


@pytest.mark.parametrize("path", [".idea-explorer.toml", "./.Idea-Explorer.toml", "settings"])
def test_the_settings_are_changed_by_people_only(path: str, kind: str, tmp_path: Path) -> None:
    files: Files = {".idea-explorer.toml": "", "settings": Link(".idea-explorer.toml")}
    bench = bench_of(kind, tmp_path, files)
    name = "create_file" if path.startswith("./") else "edit_file"

    result = bench.call(name, path=path, content='[checks]\ntest = "x"\n', description="x")

    assert "changed by people only" in result["message"]
    assert bench.proposals == []


@pytest.mark.parametrize(
    ("path", "error"),
    [
        ("here/.idea-explorer.toml", "path_validation"),
        (".idea-explorer.toml. ::$DATA", "path_validation"),
        ("here/deep/.env", "secret_file"),
        ("keys/config", "secret_file"),
        ("g/hooks/pre-commit", "path_validation"),
        ("here/.idea-explorer/store.db", "path_validation"),
        ("state/store.db", "path_validation"),
        (".Idea-Explorer/store.db", "path_validation"),
    ],
)
def test_no_link_leads_a_new_file_to_where_none_may_be(
    path: str, error: str, kind: str, tmp_path: Path
) -> None:
    links = {"here": ".", "keys": ".ssh", "g": ".git", "state": ".idea-explorer"}
    files: Files = {"a.txt": "a\n", **{name: Link(target) for name, target in links.items()}}
    bench = bench_of(kind, tmp_path, files)

    moved = bench.call("move_file", path="a.txt", new_path=path, description="Move")
    created = bench.call("create_file", path=path, content="x\n", description="Add")

    assert (moved["error_type"], created["error_type"]) == (error, error)
    assert bench.proposals == []


CALLS: list[tuple[str, dict[str, Any]]] = [
    ("read_file", {"path": "config.py"}),
    ("read_file", {"path": "pem.py", "line_start": 4, "line_end": 4}),
    ("search_files", {"pattern": "ghp_|AKIA|MII"}),
    ("find_definition", {"symbol": "TOKEN"}),
    ("find_definition", {"symbol": "find"}),
    ("search_files", {"pattern": "^y = 2", "context": 2}),
    ("find_definition", {"symbol": "connect"}),
    ("find_references", {"symbol": "connect"}),
    ("find_references", {"symbol": "key"}),
    (
        "edit_file",
        {
            "path": "pem.py",
            "replacements": [{"old": "y = 2 + 2", "new": "y = 4"}],
            "description": "Count",
        },
    ),
]


@pytest.mark.parametrize(("name", "given"), CALLS, ids=str)
def test_keys_are_masked_in_every_result(
    name: str, given: dict[str, Any], bench: CodeBench
) -> None:
    shown = json.dumps(bench.call(name, **given))

    assert "[masked:" in shown
    for secret in (KEY, OTHER, LINE):
        assert secret[:8] not in shown


def test_a_masked_file_keeps_its_lines(bench: CodeBench) -> None:
    lines = bench.call("read_file", path="pem.py")["content"].split("\n")

    assert [line.split("\t")[0] for line in lines] == ["1", "2", "3", "4", "5", "6"]
    assert lines[5] == "6\ty = 2"


def test_a_key_that_was_read_masked_is_written_back_whole(bench: CodeBench) -> None:
    read = bench.call("read_file", path="config.py")["content"]
    content = "\n".join(line.split("\t", 1)[1] for line in read.split("\n")) + "\n"

    bench.call(
        "edit_file", path="config.py", content=content.replace("eu", "us"), description="Move"
    )

    (proposal,) = bench.proposals
    original = FILES["config.py"]
    assert isinstance(original, str)
    assert proposal.content == original.replace("eu", "us")
    changed = [line for line in proposal.diff.split("\n")[2:] if line[:1] in {"-", "+"}]
    assert changed == ['-REGION = "eu"', '+REGION = "us"']


def test_a_key_comes_back_in_the_file_and_nowhere_else(bench: CodeBench) -> None:
    line = bench.call("read_file", path="config.py", line_end=1)["content"].split("\t")[1]
    replacements = [{"old": line, "new": f"{line}  # ours"}]

    bench.call("edit_file", path="config.py", replacements=replacements, description=f"Note {line}")

    (proposal,) = bench.proposals
    assert f'TOKEN = "{KEY}"  # ours\n' in proposal.content
    assert proposal.description == f"Note {line}"


def test_a_key_of_one_file_does_not_get_into_another(bench: CodeBench) -> None:
    read = bench.call("read_file", path="config.py")["content"]
    given = {"path": "public.md", "content": read, "description": "Publish"}

    result = bench.call("create_file", **given)

    assert result["error_type"] == "invalid_arguments"
    assert "Leave masked text where it is" in result["message"]
    assert bench.proposals == []


def test_the_content_of_key_files_is_not_copied_to_the_cache_of_a_folder(tmp_path: Path) -> None:
    bench = bench_of("folder", tmp_path, FILES)
    bench.call("list_files", path=".")

    cached = [file.read_bytes() for file in (tmp_path / "cache").rglob("*") if file.is_file()]
    assert cached
    assert not any(PASSWORD.encode() in content for content in cached)
