"""The routes of the team's research, and of what was spent."""

from dataclasses import replace
from datetime import timedelta

import pytest

from idea_explorer.api.app import build_handler
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.run import Stats
from idea_explorer.usecases import spend
from tests.fakes.api import Api
from tests.fakes.explorations import an_exploration

TITLES = {
    "2026-05-01-beehives/research.md": ("2026-05-01", "Beehives on city rooftops", "PIVOT"),
    "2026-06-02-libraries/research.md": ("2026-06-02", "Tool libraries", "STRONG YES"),
}
NOTES = "# Notes on hives\n\nTwelve thousand people keep bees.\n"


def document(date: str, title: str, verdict: str, exploration_id: str = "") -> str:
    return (
        f"---\nidea: {title}\nmode: business\ndate: '{date}'\nstatus: completed\n"
        f"exploration_id: '{exploration_id}'\n---\n\n# {title}\n\n## Verdict\n\n**Verdict: {verdict}**\n"
    )


@pytest.fixture
def known(api: Api) -> Api:
    for path, given in TITLES.items():
        api.document(path, document(*given))
    api.document("market/hives.md", NOTES)
    return api


def without_repository(api: Api) -> None:
    """As in a deployment, whose API has the index and no access to the repository."""
    deps = replace(
        api.deps,
        research=lambda: None,
        repository_page="https://github.com/acme/ideas",
    )
    api.handle = build_handler(deps)


def test_the_research_is_listed_newest_first_for_every_owner(known: Api) -> None:
    listed = known.get("/research", owner="bob").json

    titles = [line["title"] for line in listed["documents"]]
    assert titles == ["Tool libraries", "Beehives on city rooftops", "Notes on hives"]
    assert listed["total"] == 3
    first = listed["documents"][0]
    assert (first["verdict"], first["date"], first["mode"]) == (
        "STRONG YES",
        "2026-06-02",
        "business",
    )


def test_the_research_is_read_a_page_at_a_time(known: Api) -> None:
    pages = [known.get(f"/research?limit=2&offset={offset}").json for offset in (0, 2, 4)]

    assert [len(page["documents"]) for page in pages] == [2, 1, 0]
    assert {page["total"] for page in pages} == {3}


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("rooftop", ["Beehives on city rooftops"]),
        ("HIVES", ["Beehives on city rooftops", "Notes on hives"]),
        ("strong yes", ["Tool libraries"]),
        ("thousand", ["Notes on hives"]),
        ("rooftop libraries", []),
        ("library", ["Tool libraries"]),
    ],
)
def test_a_search_finds_the_documents_with_every_word(
    known: Api, words: str, found: list[str]
) -> None:
    listed = known.get(f"/research?search={words.replace(' ', '%20')}").json

    assert [line["title"] for line in listed["documents"]] == found


def test_a_search_finds_a_word_anywhere_in_the_text(known: Api) -> None:
    """Also one that is not among the most frequent of the document."""
    frequent = " ".join(f"filler{n} filler{n}" for n in range(200))
    known.document("long/research.md", f"# A long text\n\n{frequent}\n\nOne pint of honey-wine.\n")

    for words in ("honey", "Wine", "pints", "honey-wine", "honey%20long"):
        found = known.get(f"/research?search={words}").json
        assert [line["title"] for line in found["documents"]] == ["A long text"], words


@pytest.mark.parametrize(
    "words", ["%22", "%22%22", "-", "*", "a*", "NEAR(", "%00", "AND", "title:x"]
)
def test_any_characters_can_be_searched_for(known: Api, words: str) -> None:
    assert known.get(f"/research?search={words}%20zeppelin").json["total"] == 0


@pytest.mark.parametrize("query", ["limit=0", "offset=-1", "search=" + "x" * 201, "page=1"])
def test_a_strange_question_to_the_research_is_refused(known: Api, query: str) -> None:
    assert known.get(f"/research?{query}").status == 422


def test_without_research_the_list_is_empty(api: Api) -> None:
    assert api.get("/research").json == {"documents": [], "total": 0}


PATH = "ideas/2026-05-01-beehives/research.md"


def test_a_document_is_read_as_markdown_html_or_data(known: Api) -> None:
    address = f"/research/document?path={PATH}"

    markdown = known.get(address)
    html = known.get(address, headers={"Accept": "text/html"})
    data = known.get(address, headers={"Accept": "application/json"}).json

    assert markdown.text.startswith("# Beehives on city rooftops")
    assert "<h1>Beehives on city rooftops</h1>" in html.text
    assert html.headers["content-security-policy"].startswith("default-src 'none'")
    assert (data["idea"], data["verdict"]) == ("Beehives on city rooftops", "PIVOT")
    assert (data["exploration_id"], data["url"]) == (None, None)


def test_a_link_of_a_document_leads_to_its_neighbour(api: Api) -> None:
    api.document("market/old/hives.md", "# Hives\n\nSee [the rules](rules.md).\n")

    address = "/research/document?path=ideas/market/old/hives.md"
    html = api.get(address, headers={"Accept": "text/html"}).text

    assert 'href="#/research/ideas/market/old/rules.md"' in html


@pytest.mark.parametrize(
    "path", ["ideas/nothing.md", "../store.db", "store.db", "/etc/passwd", "ideas/../store.db", ""]
)
def test_nothing_but_what_the_list_names_is_read(known: Api, path: str) -> None:
    assert known.get(f"/research/document?path={path}").status == 404


def published(api: Api, path: str) -> Exploration:
    done = api.run_to(api.submitted(idea="Bees " * 200), "completed", document=path)
    api.store.save_report(done.id, done.lease, "# The report as it was stored")
    api.document(path.removeprefix("ideas/"), document("2026-05-01", "Bees", "PASS", done.id))
    return done


def test_only_its_owner_learns_which_exploration_wrote_a_document(api: Api) -> None:
    done = published(api, PATH)

    def seen_by(owner: str) -> dict[str, str]:
        reply = api.get(
            f"/research/document?path={PATH}", owner=owner, headers={"Accept": "application/json"}
        )
        found: dict[str, str] = reply.json
        return found

    assert seen_by("ada")["exploration_id"] == done.id
    assert seen_by("bob")["exploration_id"] is None
    assert seen_by("bob")["idea"] == ("Bees " * 200).strip()  # whole, so that an update finds it


def test_where_the_repository_cannot_be_read_the_stored_report_is_shown(api: Api) -> None:
    published(api, PATH)
    api.document("market/hives.md", NOTES)
    without_repository(api)

    stored = api.get(f"/research/document?path={PATH}", owner="bob")
    data = api.get(f"/research/document?path={PATH}", headers={"Accept": "application/json"}).json
    written_by_hand = api.get("/research/document?path=ideas/market/hives.md")

    assert stored.text == "# The report as it was stored"
    assert data["url"] == f"https://github.com/acme/ideas/blob/main/{PATH}"
    assert written_by_hand.status == 404
    assert "cannot be read here" in written_by_hand.error["message"]


def test_a_document_that_names_a_strangers_exploration_does_not_open_its_report(api: Api) -> None:
    done = published(api, PATH)
    other = "ideas/2026-07-01-mine/research.md"
    api.document(other.removeprefix("ideas/"), document("2026-07-01", "Mine now", "PASS", done.id))
    without_repository(api)

    assert api.get(f"/research/document?path={other}", owner="bob").status == 404


# Spend


def store(
    api: Api, days_ago: float, usd: float | None, toolset: str = "research", steps: int = 0
) -> None:
    at = api.clock.now() - timedelta(days=days_ago)
    made = an_exploration(stats=Stats(cost_usd=usd, steps=steps))
    request = made.request.model_copy(update={"toolset": toolset})
    api.store.create(made.replace(request=request, created_at=at))


def test_spend_is_added_up_by_day_and_by_toolset(api: Api) -> None:
    store(api, 0, 0.25)
    store(api, 0, 0.5, "code")
    store(api, 1, 1.0)
    store(api, 1, None, steps=2)  # the model has no known price
    store(api, 9, 4.0)
    api.submitted("bob")

    found = api.get("/spend?days=3").json

    assert found["total_usd"] == 1.75
    assert [day["usd"] for day in found["days"]] == [0, 1.0, 0.75]
    assert [day["explorations"] for day in found["days"]] == [0, 2, 2]
    assert [(line["toolset"], line["usd"]) for line in found["toolsets"]] == [
        ("research", 1.25),
        ("code", 0.5),
    ]
    assert found["without_price"] == 1
    assert (found["daily_usd"], found["left_today_usd"], found["is_partial"]) == (1.0, 1.0, False)


def test_a_year_is_added_up(api: Api) -> None:
    store(api, 364, 0.25)
    store(api, 365, 4.0)

    assert api.get("/spend?days=365").json["total_usd"] == 0.25


def test_only_the_owners_spend_is_shown(api: Api) -> None:
    store(api, 0, 0.25)

    assert api.get("/spend", owner="bob").json["toolsets"] == []


@pytest.mark.parametrize("query", ["days=0", "days=366", "days=x", "owner=ada"])
def test_a_strange_question_about_spend_is_refused(api: Api, query: str) -> None:
    assert api.get(f"/spend?{query}").status == 422


def test_a_call_adds_up_a_bounded_number_of_explorations(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spend, "PAGE", 2)
    monkeypatch.setattr(spend, "MAX_EXPLORATIONS", 6)
    for _ in range(6):
        store(api, 0, 0.01)
    store(api, 40, 0.01)
    assert api.get("/spend").json["is_partial"] is False  # what is older was not asked for

    store(api, 0, 0.01)
    counted = api.get("/spend").json
    assert counted["days"][-1]["explorations"] == 6
    assert counted["is_partial"] is True
