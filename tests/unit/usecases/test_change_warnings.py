"""What a pull request says first: dangerous files, and lines that do not look like what they hold."""

import pytest

from idea_explorer.domain.approvals import Approval, propose_move
from idea_explorer.domain.commit_text import clean_body
from idea_explorer.domain.paths import RepositoryPath
from idea_explorer.usecases.approvals.warnings import MAX_LINES, list_warnings
from tests.fakes.explorations import an_approval, an_exploration

HIDING = ["\u2028", "\u2029", "\u0085", "\f", "\v", "\r", "\u202e", "\u2066", "\x1b", "\u200b"]


def change(content: str, path: str = "a.py", base: bytes | None = b"safe()\n") -> Approval:
    return an_approval(an_exploration(), path, content, base)


@pytest.mark.parametrize("hiding", HIDING, ids=ascii)
def test_a_line_that_is_hidden_is_spelled_out_in_the_pull_request(hiding: str) -> None:
    body = clean_body(list_warnings([change(f"safe()\nx = 1{hiding} run_attack()\n")]) + "# Done")

    assert "holds characters" in body or "hold characters" in body
    (line,) = [line for line in body.splitlines() if "run_attack" in line]
    assert line.startswith("a.py:2: x = 1\\")
    assert line.endswith(" run_attack()")
    assert hiding not in body
    assert body.endswith("\n```\n\n# Done")


@pytest.mark.parametrize("new", ["safe()\r\nmore()\r\n", "naïve 👩\u200d👧 نمی\u200cخواهم\n"])
def test_ordinary_text_and_line_ends_are_no_reason_to_warn(new: str) -> None:
    assert list_warnings([change(new)]) == ""


def test_what_was_there_before_or_was_rejected_is_no_reason_either() -> None:
    old = change("a\u2028b\nnew\n", base="a\u2028b\n".encode())
    rejected = change("a\u2028b\n").model_copy(update={"decision": "reject"})
    assert list_warnings([old, rejected]) == ""


def test_an_edit_counts_as_the_person_left_it() -> None:
    edited = change("a\u2028b\n").model_copy(update={"content": "a\nb\u2029\n"})
    assert "a.py:2: b\\u2029" in list_warnings([edited])


def test_code_cannot_leave_its_fence_and_many_lines_are_counted() -> None:
    body = list_warnings([change("".join(f"```\u2028 {n}\n" for n in range(30)))])
    assert body.count("\n````") == 2
    assert "… and 10 more lines" in body
    assert body.count("\na.py:") == MAX_LINES


def test_a_move_to_a_dangerous_path_is_listed() -> None:
    target = RepositoryPath(".github/workflows/_a_.yml")
    move = propose_move(RepositoryPath("a.yml"), target, "Move it", b"a\n")
    body = list_warnings([change("x").model_copy(update={"proposal": move})])
    assert r"> - a.yml becomes .github/workflows/\_a\_.yml, which runs in CI" in body
