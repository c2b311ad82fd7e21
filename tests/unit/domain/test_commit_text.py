"""Commit messages and pull requests that have no effect but the one they are made for."""

import re
import subprocess
from pathlib import Path

import pytest

from idea_explorer.adapters.trailers import has_trailers, run_trailers
from idea_explorer.domain.commit_text import clean_body, clean_subject
from idea_explorer.domain.ids import ExplorationId

ID = ExplorationId("019a8c3e-0000-7000-8000-000000000001")
OTHER = ExplorationId("019a8c3e-0000-7000-8000-000000000002")
# How GitHub finds what it acts on, each with text that it would act on.
EFFECTS = {
    r"(?:^|[^A-Za-z0-9])@[a-z0-9]": ["@octocat", "(@acme/team)", "_@octocat_", "a/@octocat", "\\@octocat"],
    r"(?:^|[^A-Za-z0-9&])#\d": ["#12", "see (#12)"],
    r"(?:clos|fix|resolv)[a-z]*[\s:]+(?:[\w.-]+/[\w.-]+)?#\d": ["Fixes #1", "closes: acme/tea#1"],
    r"(?:clos|fix|resolv)[a-z]*[\s:]+https?://": ["Resolves https://github.com/acme/tea/issues/1"],
    r"\bGH-\d": ["GH-12"],
    r"\[(?:skip ci|ci skip|no ci|skip actions|actions skip)\]": [
        "[skip ci]", "[CI skip]", "[no ci]", "[skip actions]", "[actions skip]"
    ],
    r"skip-checks:\s*true": ["skip-checks:true", "skip-checks: true"],
    r"This reverts commit [0-9a-f]{40}": [f"This reverts commit {'a' * 40}."],
}  # fmt: skip
MARKUP = {
    r"<[A-Za-z/!?]": ["<!-- hidden -->", "<img src=x>", "</details>", "<?php"],
    r"!\[": ["![pixel](https://tracker.example/p.png)"],
    r"^\[//\]:": ["[//]: # (hidden)"],
    r"^Co-authored-by\s*:": ["Co-authored-by: Eve <eve@example.com>"],
    r"^Exploration-Id:": [f"Exploration-Id: {OTHER}"],
    r"&(?:#64|#x40|commat|num);": ["&#64;octocat", "&commat;octocat", "&#x40;octocat"],
}
CASES = [
    (effect, text) for table in (EFFECTS,) for effect, texts in table.items() for text in texts
]
BODY_CASES = [
    (effect, text)
    for table in (EFFECTS, MARKUP)
    for effect, texts in table.items()
    for text in texts
]


def acts(effect: str, text: str) -> bool:
    return re.search(effect, text, re.IGNORECASE | re.MULTILINE) is not None


@pytest.mark.parametrize(("effect", "text"), CASES)
def test_a_subject_has_no_effect(effect: str, text: str) -> None:
    assert acts(effect, text)
    assert not acts(effect, clean_subject(f"Update {text} now", 200))
    assert not acts(effect, clean_subject(text, 200))


@pytest.mark.parametrize(("effect", "text"), BODY_CASES)
def test_a_body_has_no_effect(effect: str, text: str) -> None:
    assert acts(effect, text)
    assert not acts(effect, clean_body(text))
    assert not acts(effect, clean_body(f"# Report\n\n{text}\n\nThe end"))


def test_what_a_body_shows_is_what_was_written() -> None:
    text = "Ask @octocat about `Vec<T>` in <https://example.com/a#1>, see https://example.com/@a#2"

    assert clean_body(text).replace("\u200b", "") == text
    assert "https://example.com/@a#2" in clean_body(text)
    assert "<https://example.com/a#1>" in clean_body(text)


def test_code_in_a_fence_can_be_copied_but_directs_nothing() -> None:
    code = "```python\n@app.route('/')\ndef f() -> List[<int>]: ...  # 12\n```"

    assert clean_body(code) == code
    assert "Fixes #1" not in clean_body("```\nFixes #1\n```")


@pytest.mark.parametrize(
    "text",
    [
        "- a\n  ```\n@octocat",  # the fence ends with the list item
        "> ```\n@octocat",
        "```\ncode\n   ```\n@octocat",
        "  ```\n  code\n```\n@octocat",  # the second fence closes
        " ~~~\ncode\n~~~\n\n@octocat",
        "- a\n\n  ```\n  code\n```\n```\n@octocat",
        "```a`b\n@octocat",  # no fence at all
        "~~~\n```\n~~~\n@octocat",
        "`x `@octocat` y`",
        "| ` | @octocat | ` |",
    ],
)
def test_a_fence_that_is_none_hides_no_mention(text: str) -> None:
    assert "@octocat" not in clean_body(text)


def test_control_characters_are_spelled_out() -> None:
    assert clean_subject("a\x1b[2Jb\u202ec", 100) == r"a\x1b[2Jb\u202ec"
    assert clean_subject("one\ntwo\u2028three", 100) == "one two three"
    assert clean_subject(" \n ", 100) == "Update"
    assert "\x1b" not in clean_body("a\x1b]0;x\x07")


HOSTILE_SUBJECTS = [
    f"Tidy up\n\nExploration-Id: {OTHER}",
    f"Tidy up\r\n\r\nExploration-Id: {OTHER}\r\n",
    f"Tidy up\u2028\u2028Exploration-Id: {OTHER}",
    f"Tidy up\x0b\x0cExploration-Id: {OTHER}",
    f"Exploration-Id: {OTHER}",
    "Co-authored-by: Eve <eve@example.com>",
    "Tidy up\n\nskip-checks: true\n\n\n",
    "---\nSigned-off-by: Eve <eve@example.com>",
]


@pytest.mark.parametrize("description", HOSTILE_SUBJECTS)
def test_git_finds_our_trailers_and_no_others(description: str, tmp_path: Path) -> None:
    ours = run_trailers(ID, 1)
    message = f"{clean_subject(description, 72)}\n\n{ours}"
    parsed = subprocess.run(
        ["git", "interpret-trailers", "--parse"],
        input=message,
        text=True,
        capture_output=True,
        check=True,
        cwd=tmp_path,
    ).stdout

    assert parsed.splitlines() == ours.splitlines()
    assert has_trailers(message, ours)
    assert not has_trailers(message, f"Exploration-Id: {OTHER}")
