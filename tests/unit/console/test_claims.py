"""Claims of a report in its HTML: marked where they stand, and explained by what their sources say."""

import re
from pathlib import Path

from idea_explorer.console.markdown import render_report
from idea_explorer.domain.claims import Claim, Excerpt, ExplainedClaim, Verdict
from idea_explorer.domain.exploration import Exploration
from tests.fakes.api import Api, Reply
from tests.fakes.verified import store_verified

HIVES = "Hives grow [by a tenth](https://a.example/hives)."
PRICE = "They cost [$180](https://a.example/hives) each."
REPORT = f"""# Bees

{HIVES} {PRICE}

| year | hives |
|---|---|
| 2025 | [12](https://a.example/hives) |

## Sources

1. [Hives](https://a.example/hives)
"""
ROW = "| 2025 | [12](https://a.example/hives) |"


def explained(text: str, verdict: Verdict, said: str = "", reason: str = "") -> ExplainedClaim:
    claim = Claim(text=text, sources=("https://a.example/hives",), verdict=verdict, reason=reason)
    excerpts = (Excerpt(target="https://a.example/hives", text=said),) if said else ()
    return ExplainedClaim(claim=claim, excerpts=excerpts)


def test_each_claim_is_marked_after_its_sentence_and_explained_at_the_end() -> None:
    html = render_report(
        REPORT,
        [explained(HIVES, "supported", "It grew by 10 %."), explained(PRICE, "unsupported")],
    )

    body, explanations = html.split('<div class="claims">')
    marks = re.findall(r'<a class="claim (\w+)" href="#claim-(\d)"[^>]*>(.)</a>', body)
    assert marks == [("supported", "1", "✓"), ("unsupported", "2", "✕")]
    assert body.index("by a tenth") < body.index("#claim-1") < body.index("$180")
    assert '<li id="claim-1">' in explanations
    quoted = re.findall(r"<blockquote>(.*?)</blockquote>", explanations)
    assert [re.sub("<[^>]*>", "", each) for each in quoted] == ["[1] It grew by 10 %."]
    assert 'href="#source-1"' in quoted[0]


def test_the_mark_of_a_row_stands_in_its_last_cell() -> None:
    html = render_report(REPORT, [explained(ROW, "partly")])

    assert re.search(r"<td>[^|]*#claim-1[^|]*</td>\s*</tr>", html)
    assert html.count("<td>") == 2


def test_a_claim_that_the_report_does_not_have_leaves_no_mark() -> None:
    html = render_report(REPORT, [explained("Somebody edited this.", "supported")])

    assert html.count('href="#claim-1"') == 0


def test_what_sources_say_is_text() -> None:
    hostile = "</blockquote><img src=x onerror=alert(1)>"
    html = render_report(REPORT, [explained(HIVES, "partly", hostile, reason=hostile)])

    assert "<img" not in html
    assert html.count("&lt;img src=x onerror=alert(1)&gt;") == 2


def test_characters_of_a_report_are_never_taken_for_marks() -> None:
    html = render_report("A \ue0001\ue001 `\ue0001\ue001`", [explained("A", "supported")])

    assert html.count("#claim-1") == 1
    assert "\ue000" not in html


def verified(api: Api) -> Exploration:
    page = "Bees are insects. " * 60 + "Their hives grow by a tenth a year. " + "Sweet honey. " * 60
    address = "https://a.example/hives"
    claim = Claim(text=HIVES, sources=(address,), readable=1, verdict="supported")
    return store_verified(api, api.submitted(), REPORT, (address, page), [claim])


def read_html(api: Api, exploration: Exploration, owner: str = "ada") -> Reply:
    target = f"/explorations/{exploration.id}/report"
    return api.get(target, headers={"Accept": "text/html"}, owner=owner)


def test_the_api_explains_claims_by_what_the_run_has_read(tmp_path: Path) -> None:
    api = Api(tmp_path)
    ended = verified(api)

    html = read_html(api, ended).text

    assert '<a class="claim supported" href="#claim-1"' in html
    (quote,) = re.findall(r"<blockquote>(.*?)</blockquote>", html)
    assert "Their hives grow by a tenth a year." in quote
    assert len(quote) < 600


def test_nobody_else_reads_what_the_sources_say(tmp_path: Path) -> None:
    api = Api(tmp_path)

    assert read_html(api, verified(api), owner="eve").status == 404


def test_the_limit_that_applies_is_shown_with_the_exploration(tmp_path: Path) -> None:
    api = Api(tmp_path)
    asked = api.submitted(max_cost_usd=0.5)
    reserved = api.run_to(api.submitted(), "completed", limit_usd=0.8)

    def limit(exploration: Exploration) -> object:
        return api.get(f"/explorations/{exploration.id}").json["cost_limit_usd"]

    assert (limit(asked), limit(reserved)) == (0.5, 0.8)
