"""Diffs and proposals, checked against git itself."""

import hashlib
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from idea_explorer.domain.approvals import propose, propose_delete, propose_move
from idea_explorer.domain.blobs import blob_sha
from idea_explorer.domain.diffs import (
    MAX_COMPARED_LINES,
    added_lines,
    count_hunks,
    revert_diff,
    select_hunks,
    unified_diff,
)
from idea_explorer.domain.paths import RepositoryPath

PATH = RepositoryPath("src/app.py")
LINES = st.lists(st.sampled_from(["a\n", "b\n", "\n", "c", "\f\n", "é\r\n", "+x\n", "-y\n"])).map(
    "".join
)


def git_apply(folder: Path, old: str | None, diff: str) -> str:
    file = folder / PATH
    file.parent.mkdir(parents=True, exist_ok=True)
    file.unlink(missing_ok=True)
    if old is not None:
        file.write_bytes(old.encode())
    subprocess.run(
        ["git", "apply", "--unidiff-zero", "--whitespace=nowarn", "-"],
        cwd=folder,
        input=diff.encode(),
        check=True,
    )
    return file.read_bytes().decode()


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(LINES, LINES)
def test_git_makes_the_new_content_of_the_old_with_the_diff(
    tmp_path: Path, old: str, new: str
) -> None:
    diff = unified_diff(PATH, old, new)
    assert git_apply(tmp_path, old, diff) == new if diff else old == new


@settings(max_examples=200, deadline=None)
@given(LINES, LINES)
def test_a_diff_leads_back_to_the_old_content_too(old: str, new: str) -> None:
    diff = unified_diff(PATH, old, new)
    assert revert_diff(new, diff) == old


def test_a_diff_does_not_lead_back_from_another_content() -> None:
    diff = unified_diff(PATH, "a\nb\n", "a\nc\n")
    with pytest.raises(ValueError, match="does not result in this text"):
        revert_diff("a\nd\n", diff)


def test_a_new_file_comes_from_nowhere(tmp_path: Path) -> None:
    diff = unified_diff(PATH, None, "a\nb")
    assert diff == (
        "--- /dev/null\n+++ b/src/app.py\n@@ -0,0 +1,2 @@\n+a\n+b\n\\ No newline at end of file\n"
    )
    assert git_apply(tmp_path, None, diff) == "a\nb"


@settings(max_examples=200, deadline=None)
@given(LINES, LINES, st.sets(st.integers(1, 4)))
def test_hunks_that_are_not_chosen_stay_as_they_were(old: str, new: str, chosen: set[int]) -> None:
    diff = unified_diff(PATH, old, new)
    result = select_hunks(new, diff, chosen)
    total = count_hunks(diff)
    if chosen >= {*range(1, total + 1)}:
        assert result == new
    if not chosen & {*range(1, total + 1)}:
        assert result == old


def test_one_hunk_of_two_is_applied(tmp_path: Path) -> None:
    old = "".join(f"{n}\n" for n in range(30))
    new = old.replace("3\n", "three\n", 1).replace("25\n", "")
    diff = unified_diff(PATH, old, new)
    assert count_hunks(diff) == 2
    first, second = (select_hunks(new, diff, {n}) for n in (1, 2))
    assert first == old.replace("3\n", "three\n", 1)
    assert second == old.replace("25\n", "")


def test_a_deleted_file_leads_nowhere(tmp_path: Path) -> None:
    proposal = propose_delete(PATH, "Nobody uses it", b"a\nb\n")
    assert proposal.diff == "--- a/src/app.py\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-a\n-b\n"
    assert (proposal.kind, proposal.content, proposal.base) == ("delete", "", "a\nb\n")


def test_git_moves_a_file_with_the_diff(tmp_path: Path) -> None:
    proposal = propose_move(PATH, RepositoryPath("lib/main.py"), "Name it better", b"a\n")
    assert proposal.base == proposal.content == "a\n"
    source = tmp_path / PATH
    source.parent.mkdir()
    for diff, content in [(proposal.diff, "a\n"), (proposal.diff_to("b\n"), "b\n")]:
        source.write_text("a\n")
        (tmp_path / "lib/main.py").unlink(missing_ok=True)
        subprocess.run(["git", "apply", "-"], cwd=tmp_path, input=diff.encode(), check=True)
        assert (tmp_path / "lib/main.py").read_text() == content
        assert not source.exists()
        source.parent.mkdir(exist_ok=True)


@pytest.mark.parametrize(
    ("path", "new_path", "danger"),
    [
        ("a.txt", "b.txt", None),
        ("Makefile", "old/notes.txt", "runs when somebody builds or installs"),
        ("a.yml", ".github/workflows/a.yml", "becomes .github/workflows/a.yml, which runs in CI"),
    ],
)
def test_a_move_is_dangerous_by_either_path(path: str, new_path: str, danger: str | None) -> None:
    move = propose_move(RepositoryPath(path), RepositoryPath(new_path), "Move it", b"a\n")
    assert move.danger == danger


def test_the_lines_that_a_diff_adds_have_their_numbers() -> None:
    old = "".join(f"{n}\n" for n in range(20))
    new = old.replace("2\n", "2\n++two\n", 1) + "@@ end"
    assert [*added_lines(unified_diff(PATH, old, new))] == [(4, "++two"), (22, "@@ end")]


def test_a_small_edit_of_a_large_file_shows_only_its_surroundings() -> None:
    lines = [f"line {number}\n" for number in range(50_000)]
    changed = [*lines[:40_000], "new\n", *lines[40_001:]]
    diff = unified_diff(PATH, "".join(lines), "".join(changed))
    assert diff.splitlines()[2:] == [
        "@@ -39998,7 +39998,7 @@",
        *(f" line {number}" for number in range(39_997, 40_000)),
        "-line 40000",
        "+new",
        *(f" line {number}" for number in range(40_001, 40_004)),
    ]


def test_a_large_change_is_shown_as_a_whole(tmp_path: Path) -> None:
    lines = [f"{number}\n" for number in range(MAX_COMPARED_LINES + 1)]
    old, new = "".join(lines), "".join(reversed(lines))
    diff = unified_diff(PATH, old, new)
    assert diff.count("\n@@ ") == 1
    assert git_apply(tmp_path, old, diff) == new


def test_a_proposal_is_bound_to_what_it_was_made_from(tmp_path: Path) -> None:
    base = b"import os\n"
    proposal = propose(PATH, "import sys\n", "Use sys", base)
    (tmp_path / "app.py").write_bytes(base)
    named = subprocess.run(
        ["git", "hash-object", "app.py"], cwd=tmp_path, capture_output=True, check=True
    )
    assert proposal.base_sha == named.stdout.decode().strip() == blob_sha(base)
    assert proposal.content_hash == hashlib.sha256(b"import sys\n").hexdigest()
    assert (proposal.kind, proposal.path, proposal.description) == ("edit", PATH, "Use sys")
    assert proposal.diff.endswith("@@ -1 +1 @@\n-import os\n+import sys\n")


def test_a_new_file_has_no_base() -> None:
    proposal = propose(PATH, "", "An empty package", None)
    assert (proposal.kind, proposal.base_sha, proposal.content) == ("create", None, "")


@pytest.mark.parametrize(
    ("base", "given_content", "kept"),
    [
        (b"a\r\nb\r\n", "a\nc\n", "a\r\nc\r\n"),
        (b"a\r\nb\n", "a\nc\n", "a\r\nc\n"),
        (b"a\r\nb\nc\r\n", "a\nb\nnew\nc\n", "a\r\nb\nnew\nc\r\n"),
        (b"a\r\nb\n", "b\n", "b\n"),
        (b"a\nb\n", "a\r\nc\r\n", "a\r\nc\r\n"),
        (b"\xef\xbb\xbfa\n", "b\n", "\ufeffb\n"),
        (b"a", "a\n", "a\n"),
    ],
)
def test_line_ends_and_byte_order_marks_that_a_model_cannot_see_are_kept(
    base: bytes, given_content: str, kept: str
) -> None:
    assert propose(PATH, given_content, "x", base).content == kept


@pytest.mark.parametrize(
    "address",
    [
        "https://evil.example/secret",
        "HTTP://evil.example",
        "ftp://evil.example/secret",
        "www.evil.example/secret",
        "//evil.example/secret",
    ],
)
def test_a_description_holds_no_address(address: str) -> None:
    made = propose(RepositoryPath("a.py"), "x\n", f"See {address} for more", None)

    assert made.description == "See (link removed) for more"


@pytest.mark.parametrize(
    "description",
    [
        "Support a//b floor division",
        "Allow file:///tmp paths",
        "Use `//=` here",
        "Turn // comments into # comments",
        "Reject http: without a host",
    ],
)
def test_a_description_keeps_what_is_no_address(description: str) -> None:
    assert propose(RepositoryPath("a.py"), "x\n", description, None).description == description
