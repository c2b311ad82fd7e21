"""What was stored is read and written again by a process that does nothing else, as an export does."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from idea_explorer.domain import event_json, transcript_json
from idea_explorer.domain.events import PlanAccepted
from idea_explorer.domain.plan import Plan, SubQuestion

TRANSCRIPTS = sorted((Path(__file__).parents[2] / "transcripts").glob("*.jsonl"))
COPY_ENTRIES = """
import sys
from idea_explorer.domain.transcript_json import dump_entry, parse_entry
for line in sys.stdin:
    print(dump_entry(parse_entry(line)).decode())
"""
COPY_EVENT = """
import sys
from idea_explorer.domain.event_json import dump_event, parse_event
print(dump_event(parse_event(sys.stdin.read())))
"""


def run(program: str, given: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program], input=given, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_there_are_transcripts() -> None:
    assert len(TRANSCRIPTS) > 5


@pytest.mark.parametrize("recorded", TRANSCRIPTS, ids=lambda path: path.stem)
def test_a_transcript_is_written_as_it_was_read(recorded: Path) -> None:
    copied = run(COPY_ENTRIES, recorded.read_text("utf-8"))

    entries = [transcript_json.parse_entry(line) for line in recorded.read_bytes().splitlines()]
    assert [transcript_json.parse_entry(line) for line in copied.splitlines()] == entries


def test_an_event_is_written_as_it_was_read() -> None:
    plan = Plan(sub_questions=(SubQuestion(question="What does tea cost?", tool="web_search"),))
    event = event_json.dump_event(PlanAccepted(plan=plan))

    assert json.loads(run(COPY_EVENT, event)) == json.loads(event)


def find_models(schema: Any) -> Iterator[type[BaseModel]]:
    """The models within a schema of pydantic's core."""
    if isinstance(schema, dict):
        if schema.get("type") == "model":
            yield schema["cls"]
        for part in schema.values():
            yield from find_models(part)
    elif isinstance(schema, list | tuple):
        for part in schema:
            yield from find_models(part)


@pytest.mark.parametrize("module", ["event_json", "transcript_json"])
def test_every_model_within_what_is_read_can_be_written(module: str) -> None:
    program = f"""
from idea_explorer.domain import {module}
from tests.unit.domain.test_read_and_written import find_models
models = {{*find_models({module}._adapter().core_schema)}}
assert models
print([model.__name__ for model in models if not model.__pydantic_complete__])
"""
    assert run(program, "") == "[]\n"
