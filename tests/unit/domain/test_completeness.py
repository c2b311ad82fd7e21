"""What a report lacks of its framework, and that a report that is whole is never said to lack anything."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from idea_explorer.adapters.offline import OfflineModel
from idea_explorer.agent.prompts import framework, modes, prompt, system_prompt
from idea_explorer.domain.completeness import Framework
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.parsed_documents import OFFLINE
from idea_explorer.domain.report_text import find_verdict
from idea_explorer.domain.request import ExploreRequest
from idea_explorer.usecases.continuation import PriorDocument
from idea_explorer.usecases.opening import framework_of
from tests.fakes.clock import ManualClock
from tests.fakes.engine import Bench
from tests.fakes.timing import growth

ANY_VERDICT = "Verdict (STRONG YES | CONDITIONAL YES | PIVOT | PASS)"
EVIDENCE = (
    "It is what the team would have to know of the market and of those that would pay for it."
)
BUSINESS = f"""# Tea rooms in libraries

Worth a try with two libraries.

## Problem

{EVIDENCE}

## Market

| | Size | How it is derived | Basis |
|---|---|---|---|
| TAM | $2m | 200 × $10,000 | estimate |

## Use cases and personas

{EVIDENCE}

## Feasibility

{EVIDENCE}

## Verdict

**Verdict: CONDITIONAL YES**

### Reasons

1. {EVIDENCE}
"""
EXPLORATION = f"""# Tea rooms

## First principles

{EVIDENCE}

## Directions

### 1. Smaller

{EVIDENCE}

## Unexpected connections

{EVIDENCE}

## Questions worth answering

{EVIDENCE}
"""
GERMAN = """# Teestuben in Bibliotheken

Ein Versuch mit zwei Bibliotheken lohnt sich.

## Das Anliegen

Wer liest, will auch trinken, und die nächste Wirtschaft ist weit.

## Wie groß das ist

Es gibt rund 200 Bibliotheken, die in Frage kommen.

## Wer kommt

Studierende und Rentner, die einen ruhigen Ort suchen.

## Ob es geht

Eine Küche braucht eine Genehmigung der Stadt.

## Urteil

**Verdict: CONDITIONAL YES**

Wenn die Stadt zustimmt.
"""
JAPANESE = """# 図書館の茶室

## 課題

本を読む人はお茶も飲みたい。

## 市場

対象となる図書館は約200館。

## 利用者

学生と退職者。

## 実現性

許可が必要。

## 結論

**Verdict: PIVOT**
"""
NUMBERED = BUSINESS.replace("## Problem", "## 1. The problem").replace(
    "## Market", "### 2) MARKET size"
)


def business(text: str) -> list[str]:
    return framework("business").missing(text)


@pytest.mark.parametrize(
    "whole",
    [
        BUSINESS,
        NUMBERED,
        BUSINESS.replace("## Problem", "**Problem**").replace(
            "## Market", "**Market.** At a glance:"
        ),
        BUSINESS.replace("## Verdict\n\n**Verdict: ", "## Our recommendation\n\n**"),
        BUSINESS.replace("**Verdict: CONDITIONAL YES**", "Verdict: Conditional yes"),
        BUSINESS.replace("## Problem", "Problem\n-------"),
        BUSINESS.replace("# Tea rooms in libraries\n", "").replace("## ", "# "),
        BUSINESS.replace("\n", "\r\n"),
        GERMAN,
        JAPANESE,
    ],
)
def test_a_whole_business_report_lacks_nothing(whole: str) -> None:
    assert business(whole) == []


@pytest.mark.parametrize(
    ("text", "lacks"),
    [
        (BUSINESS.replace("## Market", "## More"), ["Market"]),
        (BUSINESS.replace("## Feasibility", "Feasibility is good."), ["Feasibility"]),
        (BUSINESS.replace("## Problem", "```\n## Problem\n```"), ["Problem"]),
        (BUSINESS.replace("**Verdict: CONDITIONAL YES**", "Maybe."), [ANY_VERDICT]),
        (BUSINESS.partition("## Feasibility")[0], ["Feasibility", ANY_VERDICT]),
        (
            BUSINESS.replace("# Tea rooms", "# The market for tea").replace("## Market", "##"),
            ["Market"],
        ),
        (GERMAN.replace("**Verdict: CONDITIONAL YES**", "Vielleicht."), [ANY_VERDICT]),
        (
            "I will now look at the market and its problem.",
            ["Problem", "Market", "Use cases and personas", "Feasibility", ANY_VERDICT],
        ),
    ],
)
def test_what_a_business_report_lacks_is_named(text: str, lacks: list[str]) -> None:
    assert business(text) == lacks


def test_a_report_in_another_language_needs_as_many_sections() -> None:
    short = GERMAN.replace("## Wer kommt", "").replace("## Ob es geht", "")
    assert business(short) == ["Problem", "Market", "Use cases and personas", "Feasibility"]


def test_an_exploration_needs_its_sections_and_no_verdict() -> None:
    missing = framework("exploration").missing
    assert missing(EXPLORATION) == []
    assert missing(EXPLORATION.replace("## Directions", "")) == ["Directions"]


@pytest.mark.parametrize(
    "section",
    [
        "### What changed\n\nNothing.",
        "### Was sich geändert hat\n\nNichts.\n\n### Verdict\n\n**PASS**",
        BUSINESS,
    ],
)
def test_a_short_update_is_whole(section: str) -> None:
    assert framework("update").missing(section) == []
    assert framework("update").missing("I could not find anything.") == ["What changed"]


def test_a_mode_that_says_nothing_of_its_reports_takes_them_all() -> None:
    assert Framework().missing("Anything.") == []


def test_the_model_is_not_told_how_its_report_is_checked() -> None:
    for mode in modes():
        assert framework(mode).sections
        assert "\n\n# Framework: " in system_prompt(ExploreRequest(idea="Tea", mode=mode))
        assert "sections:" not in system_prompt(ExploreRequest(idea="Tea", mode=mode))
    asked = prompt("update", path="p", date="d", document="x")
    assert asked.startswith("The team has researched this idea before.")


def test_every_section_that_is_checked_is_one_that_the_prompt_asks_for() -> None:
    for mode in modes():
        asked = system_prompt(ExploreRequest(idea="Tea", mode=mode))
        for section in framework(mode).sections:
            assert f"\n## {section}\n" in asked
        assert all(f"Verdict: {verdict}" in asked for verdict in framework(mode).verdicts)


def test_what_is_missing_is_asked_for_by_name() -> None:
    asked = prompt("complete_report", missing="Market, Verdict")
    assert "ask for: Market, Verdict." in asked
    assert "complete_report" not in modes()


@pytest.mark.parametrize("mode", ["business", "exploration"])
def test_the_offline_model_writes_every_section(tmp_path: Path, mode: str) -> None:
    bench = Bench(tmp_path, OfflineModel())
    final = bench.run("A tea room", mode=mode)
    lacks = framework(mode).missing(bench.store.load_report(final.id))
    assert lacks == ([ANY_VERDICT] if mode == "business" else [])  # it has none, and says so


def test_a_run_is_checked_by_what_it_was_asked_for() -> None:
    def asked(
        model_id: str = "claude", earlier: PriorDocument | None = None, **fields: object
    ) -> object:
        request = ExploreRequest.model_validate({"idea": "Tea", **fields})
        exploration = Exploration.new(request, "o", at=ManualClock().now())
        return framework_of(exploration, earlier, model_id)

    document = PriorDocument("ideas/tea/research.md", "tea/research.md", "# Tea")
    assert asked() == framework("business")
    assert asked(mode="exploration") == framework("exploration")
    assert asked(update=True) == framework("business")  # nothing was there to update
    assert asked(update=True, earlier=document) == framework("update")
    assert asked(toolset="assistant") is None
    assert asked(model_id=OFFLINE) is None


def test_a_framework_is_kept_as_it_is() -> None:
    kept = Framework.model_validate_json(framework("business").model_dump_json())
    assert kept == framework("business")


def test_a_verdict_is_read_in_any_language() -> None:
    assert find_verdict(GERMAN) == "CONDITIONAL YES"
    assert find_verdict("## Verdict\n\nVerdict: Pivot") == "PIVOT"
    assert find_verdict("They PASS it on. PIVOT.") is None


@settings(deadline=None)
@given(st.text(alphabet="#*_`~-=>\n\r\t 1.aVerdictPASS", max_size=300))
def test_any_text_can_be_checked(text: str) -> None:
    assert set(business(text)) <= {*framework("business").sections, ANY_VERDICT}


@pytest.mark.parametrize(
    "piece", ["# a\n", "**", "a\n\n", "```\n", "- ```\n\nx\n", "    a\n\n", "a\n---\n", "Verdict "]
)
def test_a_check_takes_time_that_grows_with_the_text_alone(piece: str) -> None:
    def run(size: int) -> None:
        business("x\n\n" + piece * (size // len(piece)))

    assert growth(run, 12_000, enough=10) < 10
