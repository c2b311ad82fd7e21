"""A repository that may no longer be explored is gone, with all that was read and written of it."""

from dataclasses import replace
from pathlib import Path

import pytest

from idea_explorer.api.app import build_handler
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.request import ExploreRequest
from tests.fakes.api import Api
from tests.fakes.explorations import an_approval, an_exploration

ROUTES = [
    ("GET", "/report", None),
    ("GET", "/events", None),
    ("GET", "/approvals", None),
    ("POST", "/approvals/{approval}", {"decision": "approve"}),
    ("POST", "/resume", {}),
    ("POST", "/webhook", {}),
]


@pytest.fixture
def api(tmp_path: Path) -> Api:
    return Api(tmp_path)


def allow(api: Api, *repositories: str) -> None:
    policy = replace(api.deps.policy, code_repositories=repositories)
    api.handle = build_handler(replace(api.deps, policy=policy))


@pytest.fixture
def exploration(api: Api) -> Exploration:
    request = ExploreRequest(idea="Tea", toolset="code", repository="acme/private")
    exploration = an_exploration(request=request)
    api.store.create(exploration)
    api.store.save_report(exploration.id, exploration.lease, "# Secret\n")
    return exploration


@pytest.mark.parametrize(("method", "route", "body"), ROUTES)
def test_nothing_of_it_is_shown_or_continued(
    api: Api, exploration: Exploration, method: str, route: str, body: object
) -> None:
    approval = an_approval(exploration, "key.txt", "secret", None)
    api.approvals.request_approval(approval.model_copy(update={"decision": None}))
    target = f"/explorations/{exploration.id}{route.format(approval=approval.id)}"
    allow(api, "acme/ideas")

    refused = api.call(method, target, body)

    assert refused.status == 404
    assert "acme/private may not be explored here any more" in refused.error["message"]
    assert "ecret" not in refused.text.replace("acme/private", "")


def test_it_is_there_again_once_it_is_allowed_again(api: Api, exploration: Exploration) -> None:
    allow(api, "acme/ideas", "ACME/Private")

    assert api.get(f"/explorations/{exploration.id}/report").text == "# Secret\n"


def test_without_any_repository_set_up_what_is_stored_can_be_read(
    api: Api, exploration: Exploration
) -> None:
    allow(api)

    assert api.get(f"/explorations/{exploration.id}/report").status == 200


def test_its_run_can_still_be_seen_and_stopped(api: Api, exploration: Exploration) -> None:
    allow(api, "acme/ideas")

    assert api.get(f"/explorations/{exploration.id}").status == 200
    assert api.post(f"/explorations/{exploration.id}/cancel").status == 202


def test_no_other_exploration_continues_it(api: Api, exploration: Exploration) -> None:
    api.run_to(exploration, "completed")
    allow(api, "acme/ideas")
    body = {
        "idea": "More",
        "toolset": "code",
        "repository": "acme/ideas",
        "continue_from": exploration.id,
    }

    refused = api.post("/explorations", body)

    assert refused.fields == {"continue_from": "there is no such exploration"}
