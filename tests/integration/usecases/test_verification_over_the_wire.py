"""A report with planted false claims, verified over the wire."""

import json
from pathlib import Path

import pytest

from idea_explorer.domain.report_phrases import UNSUPPORTED
from tests.fakes.anthropic_server import FakeAnthropic
from tests.fakes.anthropic_turns import answer, citation, search_result, text, web_search
from tests.fakes.billing import cost_of
from tests.fakes.command import idea
from tests.fakes.reports import business

PAGE = "https://honey.example/market"
QUOTED = "Sales of honey from towns rose by 12 % in 2024, the association of beekeepers says."
CITED = [citation(PAGE, "Honey", QUOTED)]


def report(figure: str, claim: str) -> tuple[dict[str, object], ...]:
    before, after = business("Urban bees", "@").split("@")
    return (
        text(f"{before}Nobody has asked the neighbours. "),
        text(f"Sales of honey from towns rose by {figure} in 2024.", citations=CITED),
        text(" "),
        text(claim, citations=CITED),
        text(after),
    )


def test_planted_false_claims_are_marked_and_the_rest_is_kept(tmp_path: Path) -> None:
    found = web_search("honey", [search_result(PAGE, "Honey")])
    wrong = report("21 %", "Robots will soon replace every keeper in Europe.")
    half = report("12 %", "Robots will soon replace every keeper in Europe.")
    with FakeAnthropic([answer(*found, *wrong), answer(*half)], count=True) as server:
        env = {"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": server.url}
        done = idea("explore", "Bees in towns", "--json", env=env, folder=tmp_path)
        assert (server.rejections, server.violations) == ([], [])
        requests = [request.body for request in server.verifications]
    outcome = json.loads(done.stdout)
    stats, content = outcome["stats"], outcome["content"]
    assert (outcome["status"], done.returncode) == ("completed", 0)
    assert stats["verification"] == {"supported": 1, "partly": 0, "unsupported": 1, "unchecked": 0}
    assert content.count(UNSUPPORTED) == 1
    assert (
        f"Robots will soon replace every keeper in Europe. [[1]]({PAGE}) {UNSUPPORTED}" in content
    )
    assert "rose by 21 %" not in content
    assert {request["model"] for request in requests} == {"claude-haiku-5-5"}
    assert stats["cost_usd"] == pytest.approx(cost_of(server.billed_by_model()), abs=1e-6)
