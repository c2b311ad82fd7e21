"""Webhooks at the command line: what did not arrive, how to send it again, and a default for all."""

import json
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from idea_explorer.adapters.sqlite.explorations import SqliteStore
from idea_explorer.api.views import Details, build_details
from idea_explorer.cli.output import format_details
from idea_explorer.domain.exploration import Delivery, Exploration
from idea_explorer.domain.progress import progress_of
from idea_explorer.ports import Filter
from tests.fakes.command import Done, idea
from tests.fakes.explorations import NOW, an_exploration
from tests.fakes.served import TOKEN, Served

NOWHERE = "https://hooks.invalid/path-that-is-a-secret"  # a name that nobody has


def run(folder: Path, *arguments: str, **env: str) -> Done:
    return idea(*arguments, env=env, folder=folder, waits=False)


def stored(folder: Path) -> Exploration:
    store = SqliteStore(folder / ".idea-explorer" / "explorations.db")
    (found,) = store.page("local", Filter(), limit=9, cursor=None).explorations
    return found


def test_a_command_says_how_to_send_again_what_did_not_arrive(tmp_path: Path) -> None:
    done = run(tmp_path, "explore", "Tea", "--webhook-url", NOWHERE)

    final = stored(tmp_path)
    assert (done.returncode, final.status) == (0, "completed")
    assert (final.delivery.status, final.delivery.attempts) == ("failed", 3)
    assert "The webhook was not delivered: The name hooks.invalid could not" in done.stderr
    assert f"Send it again with: idea webhook resend {final.id}" in done.stderr

    again = run(tmp_path, "webhook", "resend", final.id)

    assert (again.returncode, again.stdout.strip()) == (1, "failed")
    assert "could not be resolved" in again.stderr
    assert stored(tmp_path).delivery.attempts == 6
    missing = run(tmp_path, "webhook", "resend", "019a8c3e-7c00-7000-8000-000000000009", "--json")
    assert missing.returncode == 1
    assert "There is no exploration" in missing.stderr


def test_the_default_of_the_settings_is_told(tmp_path: Path) -> None:
    done = run(tmp_path, "explore", "Tea", IDEA_WEBHOOK_URL=NOWHERE)

    final = stored(tmp_path)
    assert (done.returncode, final.delivery.status) == (0, "failed")
    assert final.request.webhook_url is None
    assert "hooks.invalid could not be resolved" in done.stderr
    assert "path-that-is-a-secret" not in done.stderr + done.stdout


def test_a_request_of_its_own_wins(tmp_path: Path) -> None:
    done = run(
        tmp_path, "explore", "Tea", "--webhook-url", "https://own.invalid/x",
        IDEA_WEBHOOK_URL=NOWHERE,
    )  # fmt: skip

    assert "own.invalid could not be resolved" in done.stderr


@pytest.mark.parametrize(
    ("env", "sentence"),
    [
        ({"IDEA_WEBHOOK_URL": "http://hooks.example.com"}, "IDEA_WEBHOOK_URL must be an https URL"),
        ({"IDEA_WEBHOOK_URL": "hooks"}, "IDEA_WEBHOOK_URL must be an https URL"),
        ({"IDEA_WEBHOOK_URL": "https://10.0.0.7/x"}, "IDEA_WEBHOOK_URL must be a public address"),
        ({"IDEA_WEBHOOK_URL": "https://localhost/x"}, "IDEA_WEBHOOK_URL must be a public address"),
        (
            {"IDEA_WEBHOOK_URL": "https://a:b@hooks.example.com/x"},
            "IDEA_WEBHOOK_URL must not contain",
        ),
        ({"IDEA_WEBHOOK_SECRET": "s"}, "IDEA_WEBHOOK_SECRET must come with IDEA_WEBHOOK_URL"),
        (
            {"IDEA_WEBHOOK_URL": "https://hooks.example.com", "IDEA_WEBHOOK_SECRET": "whsec_*"},
            "IDEA_WEBHOOK_SECRET after whsec_ comes base64",
        ),
    ],
)
def test_a_default_that_cannot_be_is_refused_by_name(
    tmp_path: Path, env: dict[str, str], sentence: str
) -> None:
    done = run(tmp_path, "explore", "Tea", **env)

    assert done.returncode != 0
    assert sentence in done.stderr
    assert "whsec_*" not in done.stderr
    assert not (tmp_path / "ideas").exists()


@pytest.mark.parametrize(
    ("secret", "said"), [("", "messages are not signed"), ("s3cret", "messages are signed")]
)
def test_the_doctor_names_the_default_and_keeps_its_address(
    tmp_path: Path, secret: str, said: str
) -> None:
    url = "https://hooks.example.com/T0/B0/token"
    done = run(tmp_path, "doctor", IDEA_WEBHOOK_URL=url, IDEA_WEBHOOK_SECRET=secret)

    (line,) = [line for line in done.stdout.splitlines() if "hooks.example.com" in line]
    assert said in line
    assert "B0" not in done.stdout
    assert "s3cret" not in done.stdout


@pytest.mark.long
def test_a_served_exploration_tells_when_it_is_tried_again_also_after_a_crash(
    tmp_path: Path,
) -> None:
    def shown_of(made: str) -> Any:
        with served.client() as client:
            return client.get(f"/explorations/{made}").json()

    served = Served(tmp_path, waits=False)
    with served, served.client() as client:
        body = {"idea": "Tea", "webhook_url": NOWHERE}
        made = client.post("/explorations", json=body).json()["id"]
        later = client.post("/explorations", json={"idea": "Coffee"}).json()["id"]
        until(lambda: shown_of(made)["delivery"]["attempts"] == 3)
        shown = run(tmp_path, "status", made, IDEA_API_URL=served.url, IDEA_API_TOKEN=TOKEN).stdout
        until(
            lambda: shown_of(later)["status"] == "completed"
        )  # a receiver that is down holds nobody up
        served.end(signal.SIGKILL)

    with served:
        found = shown_of(made)

    assert "Webhook not delivered yet, after 3 attempts: The name hooks.invalid" in shown
    assert "Trying again at 20" in shown
    assert found["status"] == "completed"
    assert found["delivery"]["status"] == "pending"
    assert found["delivery"]["next_try"] is not None


def until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 120
    while not true():
        assert time.monotonic() < deadline, "it does not come about"
        time.sleep(0.1)


@pytest.mark.parametrize(
    ("delivery", "line"),
    [
        (Delivery(status="delivered", attempts=1), "Webhook delivered after 1 attempt."),
        (
            Delivery(status="failed", attempts=3, last_error="The server answered 410."),
            "Webhook not delivered after 3 attempts: The server answered 410."
            " Send it again with: idea webhook resend ",
        ),
        (Delivery(status="pending"), None),
        (Delivery(), None),
    ],
)
def test_status_says_what_became_of_the_webhook(delivery: Delivery, line: str | None) -> None:
    done = an_exploration(status="completed", delivery=delivery)
    details = build_details(done, progress_of(done, [], NOW), "")
    said = format_details(
        Details.model_validate(json.loads(details.model_dump_json(by_alias=True))), done.id
    )

    assert any(text.startswith("Webhook") for text in said) is (line is not None)
    assert line is None or any(text.startswith(line) for text in said)
