"""The test GitHub answers reads as the real one does, from a real repository."""

import base64
import hashlib
import io
import tarfile
from collections.abc import Iterator

import httpx
import pytest

from tests.fakes.github_repository import Executable, Repository, Submodule, Symlink
from tests.fakes.github_server import FakeGitHub

REPORT = "# Bees\n" + "honey " * 40
OTHER_COMMIT = "1" * 40


@pytest.fixture
def repo(github: FakeGitHub) -> Repository:
    return github.create_repository(
        "acme/ideas",
        {
            "README.md": "hello\n",
            "ideas/bees/research.md": REPORT,
            "ideas/empty.md": "",
            "ideas/link.md": Symlink("bees/research.md"),
            "ideas/folder-link": Symlink("bees"),
            "ideas/outside-link": Symlink("../../etc/passwd"),
            "run.sh": Executable(b"#!/bin/sh\n"),
            "vendor/lib": Submodule(OTHER_COMMIT),
            ".gitmodules": '[submodule "lib"]\n\tpath = vendor/lib\n\turl = https://example.com/lib.git\n',
        },
    )


@pytest.fixture
def client(github: FakeGitHub, repo: Repository) -> Iterator[httpx.Client]:
    headers = {"Authorization": "Bearer t0ken"}
    base = f"{github.url}/repos/acme/ideas/"
    with httpx.Client(base_url=base, headers=headers, verify=False) as client:
        yield client


def blob_sha(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


def test_a_repository_tells_its_default_branch_and_what_the_token_may_do(
    github: FakeGitHub, client: httpx.Client
) -> None:
    answer = client.get(f"{github.url}/repos/acme/ideas").json()

    assert answer["full_name"] == "acme/ideas"
    assert answer["default_branch"] == "main"
    assert answer["permissions"] == {"admin": False, "push": True, "pull": True}


def test_a_file_comes_in_base64_lines_with_the_sha_of_its_content(client: httpx.Client) -> None:
    answer = client.get("contents/ideas/bees/research.md", params={"ref": "main"}).json()

    assert {key: answer[key] for key in ("type", "name", "path", "size", "encoding")} == {
        "type": "file",
        "name": "research.md",
        "path": "ideas/bees/research.md",
        "size": len(REPORT),
        "encoding": "base64",
    }
    lines = answer["content"].split("\n")
    assert {len(line) for line in lines[:-2]} == {60}
    assert lines[-1] == ""
    assert base64.b64decode(answer["content"]).decode() == REPORT
    assert answer["sha"] == blob_sha(REPORT.encode())


def test_an_empty_file_has_empty_content(client: httpx.Client) -> None:
    answer = client.get("contents/ideas/empty.md").json()

    assert (answer["size"], answer["content"], answer["encoding"]) == (0, "", "base64")


@pytest.mark.parametrize(
    "media", ["application/vnd.github.raw+json", "application/vnd.github.v3.raw"]
)
def test_raw_is_the_files_bytes(client: httpx.Client, media: str) -> None:
    answer = client.get("contents/README.md", headers={"Accept": media})

    assert answer.content == b"hello\n"


def test_a_file_over_one_megabyte_has_no_content_unless_raw_is_asked_for(
    client: httpx.Client, repo: Repository
) -> None:
    big = b"x" * (1024 * 1024 + 1)
    repo.commit({"big.txt": big})

    answer = client.get("contents/big.txt").json()
    raw = client.get("contents/big.txt", headers={"Accept": "application/vnd.github.raw+json"})

    assert (answer["size"], answer["content"], answer["encoding"]) == (len(big), "", "none")
    assert raw.content == big


def test_a_link_to_a_file_answers_as_a_file_under_the_links_own_sha(client: httpx.Client) -> None:
    answer = client.get("contents/ideas/link.md").json()

    assert (answer["type"], answer["size"]) == ("file", len(REPORT))
    assert base64.b64decode(answer["content"]).decode() == REPORT
    assert answer["sha"] == blob_sha(b"bees/research.md")


@pytest.mark.parametrize(
    ("name", "target"), [("folder-link", "bees"), ("outside-link", "../../etc/passwd")]
)
def test_a_link_to_anything_else_stays_a_link(client: httpx.Client, name: str, target: str) -> None:
    answer = client.get(f"contents/ideas/{name}").json()

    assert (answer["type"], answer["target"], answer["size"]) == ("symlink", target, len(target))
    assert "content" not in answer


def test_nothing_is_found_behind_a_linked_folder(client: httpx.Client) -> None:
    assert client.get("contents/ideas/folder-link/research.md").status_code == 404


def test_a_submodule_names_its_origin(client: httpx.Client) -> None:
    answer = client.get("contents/vendor/lib").json()

    assert (answer["type"], answer["sha"]) == ("submodule", OTHER_COMMIT)
    assert answer["submodule_git_url"] == "https://example.com/lib.git"


def test_a_folder_is_a_list_of_what_is_in_it(client: httpx.Client) -> None:
    listed = client.get("contents/ideas").json()
    described = client.get("contents/ideas", headers={"Accept": "application/vnd.github.object"})

    assert [(row["name"], row["path"], row["type"]) for row in listed] == [
        ("bees", "ideas/bees", "dir"),
        ("empty.md", "ideas/empty.md", "file"),
        ("folder-link", "ideas/folder-link", "symlink"),
        ("link.md", "ideas/link.md", "symlink"),
        ("outside-link", "ideas/outside-link", "symlink"),
    ]
    assert [row["name"] for row in described.json()["entries"]] == [row["name"] for row in listed]


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("contents/ideas/nothing.md", "Not Found"),
        ("contents/README.md?ref=nowhere", "No commit found for the ref nowhere"),
        ("branches/nowhere", "Branch not found"),
        ("git/ref/heads/nowhere", "Not Found"),
        ("git/commits/" + "0" * 40, "Not Found"),
        ("git/blobs/main%0Amain", "Not Found"),
    ],
)
def test_what_is_missing_is_a_404_in_githubs_shape(
    client: httpx.Client, path: str, message: str
) -> None:
    answer = client.get(path)

    assert answer.status_code == 404
    assert answer.json()["message"] == message
    assert answer.json()["status"] == "404"
    assert answer.json()["documentation_url"].startswith("https://docs.github.com/")


def test_the_git_database_is_walked_from_reference_to_blob(
    client: httpx.Client, repo: Repository
) -> None:
    ref = client.get("git/ref/heads/main").json()
    commit = client.get(f"git/commits/{ref['object']['sha']}").json()
    tree = client.get(f"git/trees/{commit['tree']['sha']}", params={"recursive": "1"}).json()
    rows = {row["path"]: row for row in tree["tree"]}
    blob = client.get(f"git/blobs/{rows['README.md']['sha']}").json()

    assert ref["object"]["sha"] == repo.head()
    assert (commit["message"], commit["parents"]) == ("Initial commit", [])
    assert not tree["truncated"]
    assert {path: (row["mode"], row["type"]) for path, row in rows.items()} == {
        ".gitmodules": ("100644", "blob"),
        "README.md": ("100644", "blob"),
        "ideas": ("040000", "tree"),
        "ideas/bees": ("040000", "tree"),
        "ideas/bees/research.md": ("100644", "blob"),
        "ideas/empty.md": ("100644", "blob"),
        "ideas/folder-link": ("120000", "blob"),
        "ideas/link.md": ("120000", "blob"),
        "ideas/outside-link": ("120000", "blob"),
        "run.sh": ("100755", "blob"),
        "vendor": ("040000", "tree"),
        "vendor/lib": ("160000", "commit"),
    }
    assert rows["README.md"]["size"] == 6
    assert base64.b64decode(blob["content"]) == b"hello\n"


def test_a_tree_can_be_asked_for_by_branch_and_without_what_is_below(client: httpx.Client) -> None:
    paths = [row["path"] for row in client.get("git/trees/main").json()["tree"]]

    assert paths == [".gitmodules", "README.md", "ideas", "run.sh", "vendor"]


def test_a_tree_over_the_limit_says_it_is_truncated(
    client: httpx.Client, github: FakeGitHub
) -> None:
    github.tree_limit = 3

    tree = client.get("git/trees/main", params={"recursive": "1"}).json()

    assert (len(tree["tree"]), tree["truncated"]) == (3, True)


def test_history_is_paged_newest_first_with_whole_messages(
    client: httpx.Client, repo: Repository
) -> None:
    message = "idea: bees - research complete\n\nExploration-Id: 0198\nExploration-Run: 2"
    newest = repo.commit({"ideas/bees/research.md": "better\n"}, message)

    first = client.get("commits", params={"sha": "main", "per_page": 1})
    second = client.get(first.links["next"]["url"])
    of_path = client.get("commits", params={"path": "README.md"}).json()

    assert [row["sha"] for row in first.json()] == [newest]
    assert first.json()[0]["commit"]["message"] == message
    assert [row["commit"]["message"] for row in second.json()] == ["Initial commit"]
    assert "next" not in second.links
    assert len(of_path) == 1
    assert repo.log()[0].trailers == {"Exploration-Id": "0198", "Exploration-Run": "2"}


def test_one_commit_names_the_files_it_changed(client: httpx.Client, repo: Repository) -> None:
    repo.commit({"README.md": None, "new.md": "new\n", "run.sh": "changed\n"})

    answer = client.get("commits/main").json()

    assert {row["filename"]: row["status"] for row in answer["files"]} == {
        "README.md": "removed",
        "new.md": "added",
        "run.sh": "modified",
    }
    missing = client.get(f"commits/{'0' * 40}")
    assert (missing.status_code, missing.json()["message"]) == (
        422,
        f"No commit found for SHA: {'0' * 40}",
    )


def test_a_branch_shows_its_head_and_whether_it_is_protected(
    client: httpx.Client, repo: Repository
) -> None:
    repo.create_branch("feature/one")
    repo.protect("main")

    main, feature = client.get("branches/main").json(), client.get("branches/feature/one").json()

    assert (main["commit"]["sha"], main["protected"]) == (repo.head(), True)
    assert (feature["name"], feature["protected"]) == ("feature/one", False)


def test_an_archive_is_one_redirect_away_and_unpacks_under_its_own_folder(
    client: httpx.Client, repo: Repository
) -> None:
    redirect = client.get("tarball/main")
    where = redirect.headers["Location"]
    archive = httpx.get(where, verify=False)
    with tarfile.open(fileobj=io.BytesIO(archive.content)) as unpacked:
        names = unpacked.getnames()
        link = unpacked.getmember(f"acme-ideas-{repo.head()[:7]}/ideas/link.md")

    assert redirect.status_code == 302
    assert archive.headers["Content-Type"] == "application/x-gzip"
    assert f"acme-ideas-{repo.head()[:7]}/ideas/bees/research.md" in names
    assert (link.issym(), link.linkname) == (True, "bees/research.md")
    assert (
        httpx.get(where.partition("?")[0], verify=False).status_code == 404
    )  # private: not without its ticket


def test_what_the_client_has_already_is_not_sent_again(client: httpx.Client) -> None:
    first = client.get("contents/README.md")
    again = client.get("contents/README.md", headers={"If-None-Match": first.headers["ETag"]})

    assert (again.status_code, again.content) == (304, b"")


def test_the_truth_is_readable_beside_the_api(repo: Repository) -> None:
    first = repo.head()
    second = repo.commit({"README.md": "changed\n", "run.sh": None}, "Second")

    assert [(commit.sha, commit.message, commit.parents) for commit in repo.log()] == [
        (second, "Second", (first,)),
        (first, "Initial commit", ()),
    ]
    assert repo.read("README.md") == b"changed\n"
    assert repo.read_text("README.md", first) == "hello\n"
    assert "run.sh" not in repo.files()
    assert repo.files(first)["ideas/link.md"] == b"bees/research.md"
