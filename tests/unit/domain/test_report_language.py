"""A report is in the language of its idea, and what this program adds to it is too."""

from pathlib import Path

import pytest

from idea_explorer.agent.prompts import framework, system_prompt
from idea_explorer.console.markdown import render_report
from idea_explorer.domain.citations import check_citations
from idea_explorer.domain.claims import Claim
from idea_explorer.domain.languages import find_language, is_english
from idea_explorer.domain.report_links import REMOVED
from idea_explorer.domain.report_phrases import (
    _HEADINGS,
    _PHRASES,
    _SOURCE,
    _STRENGTHS,
    UNSUPPORTED,
    remove_own_evidence,
    translate_phrases,
)
from idea_explorer.domain.report_text import find_verdict
from idea_explorer.domain.request import ExploreRequest
from idea_explorer.domain.similar_research import index_document
from idea_explorer.domain.tools import Passage, make_passage
from idea_explorer.domain.toolsets import TOOLSETS
from idea_explorer.domain.verification.report import add_evidence, name_strength
from tests.fakes.engine import Bench
from tests.fakes.models import calls, says, scripted

GERMAN = """# Teestuben in Bibliotheken

Ein Versuch mit zwei Häusern lohnt sich, wenn die Stadt die Küche genehmigt und die Miete nicht steigt.

## Problem

Wer liest, will auch trinken, und die nächste Wirtschaft ist weit [wie erhoben](../market/tee.md).

## Markt

Es gibt rund 200 Bibliotheken, die in Frage kommen [Zählung](https://made.up/zahl).

## Anwendungsfälle und Personas

Studierende und Rentner, die einen ruhigen Ort für den Nachmittag suchen.

## Machbarkeit

Eine Küche braucht eine Genehmigung der Stadt, und die Miete ist von Haus zu Haus verschieden.

## Urteil

**Verdict: CONDITIONAL YES**

### Gründe

1. Die Bibliotheken suchen Mieter für leere Räume.
"""
FRENCH = """# Des salons de thé dans les bibliothèques

Un essai dans deux bibliothèques est utile si la ville accepte la cuisine et si le loyer est stable.

## Problème

Les lecteurs veulent aussi boire, et le café le plus proche est loin [selon l'enquête](../market/tee.md).

## Marché

Il y a près de 200 bibliothèques dans la région qui sont concernées [comptage](https://made.up/zahl).

## Cas d'usage et personas

Des étudiants et des retraités qui cherchent un lieu calme pour l'après-midi.

## Faisabilité

Une cuisine a besoin d'une autorisation de la ville, et le loyer est variable.

## Verdict

**Verdict: PIVOT**

### Raisons

1. Les bibliothèques cherchent des locataires pour les salles vides.
"""
READ = make_passage("ideas/market/tee.md", "Tee", title="Tee")
ADDED = {
    "de": (GERMAN, "## Quellen", "⚠ nicht belegt", "nicht unter dem, was dieser Lauf gelesen"),
    "fr": (FRENCH, "## Sources", "⚠ non vérifié", "absent de ce que cette exploration a lu"),
}


def check(report: str, *passages: Passage) -> str:
    return translate_phrases(check_citations(report, passages).text)


@pytest.mark.parametrize("language", ADDED)
def test_what_is_added_to_a_report_is_in_its_language(language: str) -> None:
    report, heading, mark, why = ADDED[language]
    text = check(f"{report}\nSee {REMOVED}.", READ)
    body, _, listed = text.partition(f"\n{heading}\n")
    assert f"](https://made.up/zahl) {mark}." in body
    assert f"2. <https://made.up/zahl> {mark}: {why}" in listed
    assert "unverified" not in text
    assert REMOVED not in text


def test_the_section_on_evidence_is_in_the_language_of_the_report() -> None:
    claims = [
        Claim(text="A", sources=("x", "y"), readable=2, verdict="supported"),
        Claim(text="B", sources=("x",), verdict="unsupported"),
        Claim(text="C"),
    ]
    assert {name_strength(claim) for claim in claims} <= _STRENGTHS.keys()
    report = check_citations(
        GERMAN.replace("Miete ist von", f"Miete {UNSUPPORTED} ist von"), [READ]
    ).text
    text = translate_phrases(add_evidence(report, claims, {"x": 1, "y": 2}))
    section = text.partition("\n## Belege\n\n")[2].partition("\n\n## Quellen\n")[0]
    assert section == (
        "- **mehrere Quellen genannt** (Quellen 1, 2): A\n"
        "- **nicht belegt** (Quelle 1): B\n- **nicht geprüft**: C"
    )
    assert "Miete ⚠ von der Quelle nicht gestützt ist von" in text
    assert check_citations(text, [READ]).text.count(UNSUPPORTED) == 1


def test_every_phrase_has_a_spelling_in_every_language() -> None:
    tables = [*_PHRASES.values(), *_HEADINGS.values(), *_STRENGTHS.values(), _SOURCE]
    assert {frozenset(table) for table in tables} == {frozenset(SAMPLES) - {"en"}}


@pytest.mark.parametrize("language", ADDED)
def test_a_translated_report_that_is_checked_again_stays_the_same(language: str) -> None:
    text = check(ADDED[language][0], READ)
    assert check(text, READ) == text


@pytest.mark.parametrize("language", ADDED)
def test_a_mark_in_another_language_goes_once_its_source_was_read(language: str) -> None:
    report, _, mark, _ = ADDED[language]
    found = make_passage("https://made.up/zahl", "200", title="Zahl")
    assert mark not in check(check(report, READ), READ, found)


def test_the_console_shows_the_mark_of_every_language() -> None:
    for report, _, mark, _ in ADDED.values():
        html = render_report(check(report, READ))
        assert html.count(f'<mark class="unverified">{mark}</mark>') == 2


@pytest.mark.parametrize(("report", "verdict"), [(GERMAN, "CONDITIONAL YES"), (FRENCH, "PIVOT")])
def test_headings_and_verdict_of_a_translated_report_are_read(report: str, verdict: str) -> None:
    assert framework("business").missing(report) == []
    assert find_verdict(report) == verdict
    assert index_document("2026-11-17-tee/research.md", report).verdict == verdict


@pytest.mark.parametrize("name", ["Urteil", "Fazit", "Verdetto", "Veredicto", "Oordeel"])
def test_a_verdict_under_a_translated_name_is_found(name: str) -> None:
    in_section = GERMAN.replace("## Urteil\n\n**Verdict: ", f"## {name}\n\n**")
    in_line = GERMAN.replace("## Urteil", "## Am Ende").replace("**Verdict:", f"**{name}:")
    assert find_verdict(in_section) == find_verdict(in_line) == "CONDITIONAL YES"
    assert framework("business").missing(in_section) == []


def test_a_word_that_only_ends_like_the_verdict_is_not_its_heading() -> None:
    report = GERMAN.replace("**Verdict: ", "**").replace("\n### Gründe", "\n## Vorurteile")
    assert find_verdict(report) == "CONDITIONAL YES"


def test_a_verdict_that_was_translated_is_missing() -> None:
    report = GERMAN.replace("CONDITIONAL YES", "BEDINGTES JA")
    assert find_verdict(report) is None
    missing = framework("business").missing(report)
    assert missing == ["Verdict (STRONG YES | CONDITIONAL YES | PIVOT | PASS)"]


def test_a_german_exploration_is_whole() -> None:
    headings = ["Grundsätze", "Richtungen", "Unerwartete Verbindungen", "Offene Fragen"]
    text = "# Tee\n\n" + "\n\n".join(f"## {heading}\n\nDas ist so." for heading in headings)
    assert framework("exploration").missing(text) == []


SAMPLES = {
    "en": "The rooms are empty in the afternoon, and that is what the city would want to change. It costs"
    " nothing to ask which of the libraries would take part.",
    "de": GERMAN,
    "fr": FRENCH,
    "es": "Las bibliotecas están vacías por la tarde y el ayuntamiento busca una manera de usar las salas. Es"
    " más barato que un local en el centro, y los lectores se quedan más tiempo.",
    "it": "Le biblioteche sono vuote nel pomeriggio e il comune cerca un modo per usare le sale. Costa meno"
    " di un locale in centro, e non è un problema per i lettori che sono anche clienti della zona.",
    "pt": "As bibliotecas estão vazias à tarde e a câmara procura uma forma de usar as salas. É mais barato"
    " do que um espaço no centro, e os leitores não se vão embora por isso. Não há uma regra para os outros.",
    "nl": "De bibliotheken zijn 's middags leeg en de gemeente zoekt een manier om de zalen te gebruiken. Het"
    " is goedkoper dan een ruimte in het centrum, en de lezers blijven ook langer. Dat is niet voor een dag.",
}


@pytest.mark.parametrize("language", SAMPLES)
def test_the_language_of_a_report_is_recognised(language: str) -> None:
    assert find_language(SAMPLES[language]) == language
    assert is_english(SAMPLES[language]) == (language == "en")


@pytest.mark.parametrize(
    "text", ["", "# Tea\n\nIt sells.", "図書館の茶室は午後に空いている。", "1 2 3"]
)
def test_where_the_language_cannot_be_told_our_words_stay_english(text: str) -> None:
    assert find_language(text) is None
    assert "\n## Sources\n" in check(f"{text} [a](https://made.up/x)")


def test_every_prompt_asks_for_the_language_of_the_request() -> None:
    for toolset in TOOLSETS:
        assert "language" in system_prompt(ExploreRequest(idea="Tea", toolset=toolset))
    assert "in English in every language" in system_prompt(ExploreRequest(idea="Tea"))


def test_a_report_in_german_is_complete_and_keeps_its_verdict(tmp_path: Path) -> None:
    read = calls(("read_research", {"path": "market/tee.md"}))
    bench = Bench(tmp_path, scripted([read, says(GERMAN)]))
    bench.write("market/tee.md", "# Tee\n\nTee verkauft sich.")
    done = bench.run("Teestuben in Bibliotheken")
    assert (done.run.outcome, done.run.verdict) == ("completed", "CONDITIONAL YES")
    text = (tmp_path / str(done.publication.path)).read_text("utf-8")
    assert "\n## Quellen\n" in text
    assert index_document("x/research.md", text).verdict == "CONDITIONAL YES"


@pytest.mark.parametrize("title", ["Evidence", "**Evidence:**", "Belege", "PREUVES"])
@pytest.mark.parametrize("strength", ["several sources cited", "nicht geprüft"])
def test_a_section_on_evidence_that_the_model_wrote_is_removed(title: str, strength: str) -> None:
    own = f"## {title}\n\n- **{strength}** (source 1): Tea.\n\nMore."
    report = f"# Tea\n\nText.\n\n{own}\n\n## Risks\n\nNone."
    cleaned = remove_own_evidence(report)
    assert cleaned.split() == "# Tea Text. More. ## Risks None.".split()
    assert remove_own_evidence(cleaned) == cleaned
