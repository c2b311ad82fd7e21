"""The path rules of the code tools."""

import os
from pathlib import PurePosixPath

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from idea_explorer.domain.errors import ToolError
from idea_explorer.domain.paths import check_repository_path
from tests.fakes.hostile_paths import hostile_paths


@pytest.mark.parametrize(
    ("path", "checked"),
    [
        ("src/app.py", "src/app.py"),
        (".", ""),
        ("./src//app.py", "src/app.py"),
        ("src/", "src"),
        ("app/[...slug].tsx", "app/[...slug].tsx"),
        ("a..b", "a..b"),
        (".github/workflows/ci.yml", ".github/workflows/ci.yml"),
        (".gitignore", ".gitignore"),
        ("café menu.md", "café menu.md"),
        (" src/app.py\n", "src/app.py"),
    ],
)
def test_a_good_path_is_taken_in_its_plain_form(path: str, checked: str) -> None:
    assert check_repository_path(path) == checked


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("", "empty"),
        ("\ufeff ", "empty"),
        ("..", "'..'"),
        ("../secrets", "'..'"),
        ("src/../../secrets", "'..'"),
        ("src/..", "'..'"),
        ("/etc/passwd", "absolute"),
        ("//etc/passwd", "absolute"),
        ("C:/Windows", "absolute"),
        ("c:", "absolute"),
        ("..\\secrets", "backslash"),
        ("a\x00b", "control"),
        ("a\nb", "control"),
        ("a\ud800b", "control"),
        (".git/config", ".git"),
        ("vendor/.GIT/hooks/pre-commit", ".git"),
        (".g\u200cit/config", ".git"),
        (".git./config", ".git"),
        ("git~1/config", ".git"),
        ("a/" * 600, "1,000 characters"),
        ("ä" * 128, "255 bytes"),
    ],
)
def test_a_bad_path_names_the_rule_it_breaks(path: str, reason: str) -> None:
    with pytest.raises(ToolError, match=reason) as caught:
        check_repository_path(path)
    assert caught.value.error_type == "path_validation"


@pytest.mark.parametrize("given", ["a\u3000/", "./ a", "a /."])
def test_blanks_at_either_end_are_cut_off_whatever_stood_beside_them(given: str) -> None:
    assert check_repository_path(given) == "a"


@settings(deadline=None)
@given(st.one_of(st.text(), hostile_paths()))
def test_whatever_passes_stays_below_the_root(path: str) -> None:
    try:
        checked = check_repository_path(path)
    except ToolError:
        return
    root = PurePosixPath("/root/of/it")
    landed = PurePosixPath(os.path.normpath(root / checked))
    assert landed == root or root in landed.parents
    assert check_repository_path(checked or ".") == checked
