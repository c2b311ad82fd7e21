"""The names of repositories and refs, held to git's and GitHub's rules."""

import subprocess

import pytest
from pydantic import ValidationError

from idea_explorer.domain.errors import InvalidSettingError
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.names import check_ref, check_repository_name
from idea_explorer.domain.request import STORED, ExploreRequest
from idea_explorer.settings import Settings
from tests.fakes.explorations import an_exploration

GOOD_REFS = [
    "main",
    "HEAD",
    "v1.0",
    "feature/tea",
    "feature/#12",
    "dependabot/npm_and_yarn/@types/node-20.1.0",
    "release-2026.11",
    "größe/日本語",
    "a" * 200,
    "0123456789abcdef0123456789abcdef01234567",
]
BAD_REFS = [
    "",
    "a" * 201,
    "..",
    ".",
    "../../private/commits/main",
    "a/../b",
    "a..b",
    "a/./b",
    ".hidden",
    "a/.hidden",
    "/a",
    "a/",
    "a//b",
    "a.",
    "a.lock",
    "a.lock/b",
    "@",
    "a@{1}",
    "a b",
    "a\tb",
    "a\nb",
    "a\x00b",
    "a\x7fb",
    "a~1",
    "a^",
    "a:b",
    "a?b",
    "a*",
    "a[b",
    "a\\b",
    "-delete",
    "--upload-pack=x",
    "a\u202eb",
    "a\u2028b",
    "\ud800",
]
GOOD_REPOSITORIES = ["acme/ideas", "a/b", "Acme-Corp/.github", "octo_cat/a.b_c-d", f"a/{'b' * 100}"]
BAD_REPOSITORIES = [
    "",
    "acme",
    "acme/",
    "/ideas",
    "acme/ideas/x",
    "acme/..",
    "acme/.",
    "../acme",
    "./acme",
    "acme/ideas.git",
    "acme/id eas",
    "acme/ideas\n",
    "acme/ideas?x",
    "acme/%2e%2e",
    "-acme/ideas",
    f"{'a' * 40}/b",
    f"a/{'b' * 101}",
    "acmé/ideas",
    "acme/ideas#1",
]


@pytest.mark.parametrize("name", GOOD_REFS)
def test_a_name_that_is_taken_is_one_of_gits(name: str) -> None:
    assert check_ref(name) == name
    subprocess.run(["git", "check-ref-format", f"refs/heads/{name}"], check=True)


@pytest.mark.parametrize("name", BAD_REFS)
def test_a_ref_that_git_has_no_such_name_for_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="must"):
        check_ref(name)
    with pytest.raises(ValidationError):
        ExploreRequest(idea="Tea", toolset="code", ref=name)


@pytest.mark.parametrize("name", GOOD_REPOSITORIES)
def test_repositories_as_github_names_them(name: str) -> None:
    assert check_repository_name(name) == name
    assert ExploreRequest(idea="Tea", toolset="code", repository=name).repository == name


@pytest.mark.parametrize("name", BAD_REPOSITORIES)
def test_a_repository_that_github_cannot_have_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="must"):
        check_repository_name(name)
    with pytest.raises(ValidationError):
        ExploreRequest(idea="Tea", toolset="code", repository=name)


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("GITHUB_REPOSITORY", "acme/.."),
        ("GITHUB_BRANCH", "a/../../b"),
        ("GITHUB_BRANCH", "-x"),
        ("IDEA_CODE_REPOSITORIES", "acme/tea, acme/../private"),
    ],
)
def test_settings_follow_the_same_rules(variable: str, value: str) -> None:
    with pytest.raises(InvalidSettingError) as refused:
        Settings.from_environment({variable: value})

    assert list(refused.value.variables) == [variable]


def test_a_record_with_a_name_of_earlier_rules_still_loads() -> None:
    request = ExploreRequest(idea="Tea", toolset="code", ref="main")
    record = an_exploration(request=request).model_dump_json().replace('"main"', '"a/../b"')

    assert Exploration.model_validate_json(record, context=STORED).request.ref == "a/../b"
    with pytest.raises(ValidationError):
        Exploration.model_validate_json(record)
