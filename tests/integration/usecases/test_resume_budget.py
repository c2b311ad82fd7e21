"""What a person is told who resumes with less than is spent already."""

import json
import time
from pathlib import Path

from tests.fakes.anthropic_server import FakeAnthropic
from tests.fakes.anthropic_turns import answer, text
from tests.fakes.command import idea
from tests.fakes.served import Served

CUT_OFF = [answer(text("# Half of"), stop_reason="max_tokens")] * 2
LEAST = "must be at least 0."


def environment(server: FakeAnthropic) -> dict[str, str]:
    return {"ANTHROPIC_API_KEY": "test-key", "ANTHROPIC_BASE_URL": server.url}


def test_the_command_ends_with_bad_usage_and_names_the_least(tmp_path: Path) -> None:
    with FakeAnthropic(CUT_OFF, expected_key="test-key") as server:
        env = environment(server)
        first = idea("explore", "Tea", "--json", env=env, folder=tmp_path)
        exploration_id = json.loads(first.stdout)["id"]
        limit = ("--max-cost-usd", "0.001")
        done = idea("resume", exploration_id, *limit, env=env, folder=tmp_path)
    assert (first.returncode, done.returncode) == (3, 2)
    assert f"idea: --max-cost-usd {LEAST}" in done.stderr
    assert "is spent already" in done.stderr


def test_the_api_answers_422_at_the_field(tmp_path: Path) -> None:
    with (
        FakeAnthropic(CUT_OFF, expected_key="test-key") as server,
        Served(tmp_path, environment(server)) as served,
        served.client() as client,
    ):
        url = f"/explorations/{client.post('/explorations', json={'idea': 'Tea'}).json()['id']}"
        while client.get(url).json()["status"] in {"queued", "running"}:
            time.sleep(0.05)
        refused = client.post(f"{url}/resume", json={"max_cost_usd": 0.001})
        assert client.get(url).json()["status"] == "partial"
    (detail,) = refused.json()["error"]["details"]
    assert (refused.status_code, detail["field"]) == (422, "max_cost_usd")
    assert detail["message"].startswith(LEAST)
