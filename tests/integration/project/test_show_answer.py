"""What `make invoke` does with an answer of `sam local invoke`."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.harness.template import ROOT


def show(tmp_path: Path, answer: object) -> subprocess.CompletedProcess[str]:
    file = tmp_path / "answer.json"
    file.write_text(answer if isinstance(answer, str) else json.dumps(answer), "utf-8")
    command = [sys.executable, str(ROOT / "scripts" / "show-answer"), str(file), str(tmp_path)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("path", "stored"),
    [
        ("/tmp/idea-explorer/ideas/2026-bees/research.md", "ideas/2026-bees/research.md"),
        ("ideas/2026-bees/research.md", "ideas/2026-bees/research.md"),
        (None, "an-id.md"),
    ],
)
def test_a_report_lands_in_the_folder_and_is_named(
    tmp_path: Path, path: str | None, stored: str
) -> None:
    result = {"id": "an-id", "status": "completed", "path": path, "report": "# Bees"}

    shown = show(tmp_path, {"results": [result], "batchItemFailures": []})

    assert shown.returncode == 0
    assert (tmp_path / stored).read_text("utf-8") == "# Bees"
    assert f"Report: {tmp_path / stored}" in shown.stderr
    assert "# Bees" not in shown.stdout


@pytest.mark.parametrize(
    "answer",
    [
        {"errorType": "InternalError", "errorMessage": "KeyError"},
        {"results": [], "batchItemFailures": [{"itemIdentifier": "1"}]},
        "",
    ],
)
def test_a_failure_is_a_failure_of_make(tmp_path: Path, answer: object) -> None:
    assert show(tmp_path, answer).returncode == 1
