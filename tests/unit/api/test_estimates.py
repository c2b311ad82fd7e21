"""The route that says what an exploration would take."""

from dataclasses import replace
from pathlib import Path

from idea_explorer.api.app import build_handler
from idea_explorer.domain.estimate import Estimate
from idea_explorer.domain.run import Stats
from idea_explorer.domain.usage import Usage
from idea_explorer.settings import MODELS, PRICES
from tests.fakes.api import Api


def priced(folder: Path) -> Api:
    api = Api(folder)
    policy = replace(api.deps.policy, model_ids=MODELS, prices=PRICES, max_cost_usd=2.0)
    api.deps = replace(api.deps, policy=policy)
    api.handle = build_handler(api.deps)
    return api


def test_an_estimate_starts_and_stores_nothing(tmp_path: Path) -> None:
    api = priced(tmp_path)

    reply = api.post("/explorations/estimate", {"idea": "Urban bees", "depth": "standard"})

    assert reply.status == 200
    told = Estimate.model_validate(reply.json)
    assert (told.depth, told.runs) == ("standard", 0)
    assert told.cost_usd
    assert told.cost_usd.low < told.cost_usd.high <= 1.0  # what is left of the owner's day
    assert (api.queued(), api.queue.sent) == (0, [])


def test_what_would_be_refused_is_refused_with_the_field(tmp_path: Path) -> None:
    api = priced(tmp_path)
    for body, field in (
        ({"idea": "Urban bees", "max_cost_usd": 0.05}, "max_cost_usd"),
        ({"idea": "Urban bees", "toolset": "code", "depth": "deep"}, "depth"),
        ({"idea": " "}, "idea"),
    ):
        reply = api.post("/explorations/estimate", body)
        assert (reply.status, [*reply.fields]) == (422, [field])


def test_an_estimate_and_a_submission_refuse_the_same_budget(tmp_path: Path) -> None:
    api = priced(tmp_path)
    body = {"idea": "Urban bees", "max_cost_usd": 0.05}
    told = [api.post(path, body).fields for path in ("/explorations/estimate", "/explorations")]
    assert told[0] == told[1]
    least = api.post("/explorations/estimate", {"idea": "Urban bees"}).json["least_usd"]
    assert f"at least {least + 0.0005:.3f}" in told[0]["max_cost_usd"]
    assert api.post("/explorations", {**body, "max_cost_usd": least}).status == 202


def test_nobody_is_told_what_others_paid(tmp_path: Path) -> None:
    api = priced(tmp_path)
    for _ in range(6):
        queued = api.submitted(owner="eve")
        stats = Stats(steps=3, cost_usd=0.9, usage=Usage(input_tokens=90_000, output_tokens=5_000))
        api.run_to(queued, "completed", stats=stats, model_id=MODELS["sonnet"])
    mine = api.post("/explorations/estimate", {"idea": "Urban bees"}, owner="ada").json
    theirs = api.post("/explorations/estimate", {"idea": "Urban bees"}, owner="eve").json
    assert (mine["runs"], theirs["runs"]) == (0, 6)
