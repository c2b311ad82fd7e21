"""`idea tool --stdin`, as a program that writes a line and waits for its answer uses it."""

import json
import os
import select
from pathlib import Path

from tests.fakes.command import start

ANSWER_SECONDS = 30


def test_each_line_is_answered_before_the_next_is_written(tmp_path: Path) -> None:
    (tmp_path / "ideas").mkdir()
    (tmp_path / "ideas" / "tea.md").write_text("# Tea")
    theirs_in, ours_out = os.pipe()
    ours_in, theirs_out = os.pipe()
    arguments = ["tool", "--stdin", "--research", str(tmp_path)]
    program = start(arguments, [theirs_in, theirs_out, 2], env={}, folder=tmp_path)
    os.close(theirs_in)
    os.close(theirs_out)
    call = {"name": "read_research", "input": {"path": "tea.md"}}

    with os.fdopen(ours_in) as answers, os.fdopen(ours_out, "w") as calls:
        for line in (json.dumps(call), "no JSON"):
            print(line, file=calls, flush=True)
            readable, _, _ = select.select([answers], [], [], ANSWER_SECONDS)
            assert readable, "the answer was not flushed"
            assert json.loads(answers.readline())["ok"] is (line != "no JSON")

    assert program.wait(ANSWER_SECONDS) == 0
