"""What `sam local invoke` does, without its container: one function, one event, nothing else around."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.harness.functions import Functions
from tests.e2e.harness.runtime import Function
from tests.e2e.harness.template import ROOT, properties, template


@pytest.fixture
def explore(tmp_path: Path) -> Iterator[Functions]:
    """Variables as `sam local` resolves them: references become the names of what they refer to."""
    shared = template()["Globals"]["Function"]["Environment"]["Variables"]
    own = properties("ExploreFunction")["Environment"]["Variables"]
    parameters = {
        name: given.get("Default", "") for name, given in template()["Parameters"].items()
    }
    variables = {
        name: str(parameters.get(value["Ref"], value["Ref"]))
        for name, value in {**shared, **own}.items()
        if isinstance(value, dict) and "Ref" in value
    }
    functions = Functions(tmp_path)
    functions.add(
        Function(
            name="ExploreFunction",
            code=ROOT / "functions" / "explore",
            timeout=60,
            memory=1_769,
            environment={
                **variables,
                "AWS_SAM_LOCAL": "true",
                "AWS_REGION": "us-east-1",
                "TMPDIR": str(tmp_path),
                "POWERTOOLS_TRACE_DISABLED": "true",
                "POWERTOOLS_SERVICE_NAME": "idea-explorer",
            },
            python_path=(ROOT / "layers" / "core",),
        )
    )
    yield functions
    functions.close()


def test_the_explore_function_works_a_queue_message_by_itself(
    explore: Functions, tmp_path: Path
) -> None:
    event = json.loads((ROOT / "events" / "explore-queue-message.json").read_text("utf-8"))

    answer = explore.invoke("ExploreFunction", event)

    assert answer.ok, explore.log("ExploreFunction")
    assert answer.payload["batchItemFailures"] == []
    (result,) = answer.payload["results"]
    assert result["status"] == "completed"
    report = (tmp_path / "idea-explorer" / result["path"]).read_text("utf-8")
    assert "beekeepers" in report
