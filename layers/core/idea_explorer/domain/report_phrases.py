"""What this program itself writes into a report, in the report's language.

Checks and other programs read the English phrases. A report is brought into them before it is checked, and
into its own language afterwards. In a language that is not in the table the phrases stay in English.
"""

import re
from collections.abc import Mapping
from itertools import zip_longest

from idea_explorer.domain.languages import find_language
from idea_explorer.domain.markdown import find_headings
from idea_explorer.domain.patterns import lazy_pattern
from idea_explorer.domain.report_links import REMOVED
from idea_explorer.domain.report_text import CUT
from idea_explorer.domain.sources import NOT_FOUND, UNMATCHED
from idea_explorer.domain.text import fold

SOURCES = "## Sources"
FOLLOWS_UP = "Follows up on"
EVIDENCE = "## Evidence"
UNSUPPORTED = "⚠ not supported by its source"
# The heading of the source list is known in more languages than these: see `source_lists.py`.
_HEADINGS: Mapping[str, Mapping[str, str]] = {
    SOURCES: {
        "de": "## Quellen",
        "fr": "## Sources",
        "es": "## Fuentes",
        "it": "## Fonti",
        "pt": "## Fontes",
        "nl": "## Bronnen",
    },
    EVIDENCE: {
        "de": "## Belege",
        "fr": "## Preuves",
        "es": "## Evidencia",
        "it": "## Prove",
        "pt": "## Evidência",
        "nl": "## Bewijs",
    },
}
# How each line of the section on evidence begins: the strength of a claim, and its sources.
_STRENGTHS: Mapping[str, Mapping[str, str]] = {
    "several sources cited": {
        "de": "mehrere Quellen genannt",
        "fr": "plusieurs sources citées",
        "es": "varias fuentes citadas",
        "it": "più fonti citate",
        "pt": "várias fontes citadas",
        "nl": "meerdere bronnen genoemd",
    },
    "one source": {
        "de": "eine Quelle",
        "fr": "une source",
        "es": "una fuente",
        "it": "una fonte",
        "pt": "uma fonte",
        "nl": "één bron",
    },
    "partly supported": {
        "de": "teilweise belegt",
        "fr": "en partie étayé",
        "es": "respaldado en parte",
        "it": "sostenuto in parte",
        "pt": "sustentado em parte",
        "nl": "deels onderbouwd",
    },
    "not supported": {
        "de": "nicht belegt",
        "fr": "non étayé",
        "es": "sin respaldo",
        "it": "non sostenuto",
        "pt": "não sustentado",
        "nl": "niet onderbouwd",
    },
    "unchecked": {
        "de": "nicht geprüft",
        "fr": "non contrôlé",
        "es": "sin comprobar",
        "it": "non controllato",
        "pt": "não conferido",
        "nl": "niet gecontroleerd",
    },
}
_SOURCE = {
    "de": ("Quelle", "Quellen"),
    "fr": ("source", "sources"),
    "es": ("fuente", "fuentes"),
    "it": ("fonte", "fonti"),
    "pt": ("fonte", "fontes"),
    "nl": ("bron", "bronnen"),
}
_LINE = lazy_pattern(
    rf"^- \*\*(?P<strength>{'|'.join(_STRENGTHS)})\*\*(?: \((?P<source>sources?) )?", re.MULTILINE
)
_PHRASES: Mapping[str, Mapping[str, str]] = {
    UNMATCHED: {
        "de": "⚠ nicht belegt",
        "fr": "⚠ non vérifié",
        "es": "⚠ sin verificar",
        "it": "⚠ non verificato",
        "pt": "⚠ não verificado",
        "nl": "⚠ niet geverifieerd",
    },
    UNSUPPORTED: {
        "de": "⚠ von der Quelle nicht gestützt",
        "fr": "⚠ non étayé par sa source",
        "es": "⚠ sin respaldo en su fuente",
        "it": "⚠ non sostenuto dalla sua fonte",
        "pt": "⚠ não sustentado pela sua fonte",
        "nl": "⚠ niet onderbouwd door de bron",
    },
    NOT_FOUND: {
        "de": "nicht unter dem, was dieser Lauf gelesen oder gefunden hat",
        "fr": "absent de ce que cette exploration a lu ou trouvé",
        "es": "no está entre lo que esta exploración leyó o encontró",
        "it": "non è tra ciò che questa esplorazione ha letto o trovato",
        "pt": "não está entre o que esta exploração leu ou encontrou",
        "nl": "niet onder wat deze verkenning heeft gelezen of gevonden",
    },
    REMOVED: {
        "de": "(Link entfernt)",
        "fr": "(lien supprimé)",
        "es": "(enlace eliminado)",
        "it": "(collegamento rimosso)",
        "pt": "(ligação removida)",
        "nl": "(link verwijderd)",
    },
    CUT: {
        "de": "*Der Bericht ist hier abgeschnitten: er ist zu lang.*",
        "fr": "*Le rapport est coupé ici : il est trop long.*",
        "es": "*El informe se corta aquí: es demasiado largo.*",
        "it": "*Il rapporto è tagliato qui: è troppo lungo.*",
        "pt": "*O relatório é cortado aqui: é demasiado longo.*",
        "nl": "*Het rapport is hier afgebroken: het is te lang.*",
    },
    FOLLOWS_UP: {
        "de": "Fortsetzung von",
        "fr": "Fait suite à",
        "es": "Continúa",
        "it": "Fa seguito a",
        "pt": "Dá seguimento a",
        "nl": "Vervolg op",
    },
}
_MARKS = (UNMATCHED, UNSUPPORTED, NOT_FOUND, REMOVED, CUT)  # what a check has to find again
_ENGLISH = {spelling: mark for mark in _MARKS for spelling in _PHRASES[mark].values()}
_TRANSLATED = lazy_pattern("|".join(rf"{re.escape(spelling)}(?![^\W_])" for spelling in _ENGLISH))
_FOUND_IN_ENGLISH = lazy_pattern("|".join(rf"{re.escape(mark)}(?![^\W_])" for mark in _MARKS))

# The marks of claims to be careful with, in every language: for those who show reports.
WARNINGS = tuple(
    spelling for mark in (UNMATCHED, UNSUPPORTED) for spelling in (mark, *_PHRASES[mark].values())
)
_EVIDENCE_TITLES = frozenset(
    fold(spelling.removeprefix("## ")) for spelling in (EVIDENCE, *_HEADINGS[EVIDENCE].values())
)
_OWN_LINE = lazy_pattern(
    r"^[ \t]{0,3}[-*+][ \t]{1,3}\*\*(?:"
    + "|".join(
        re.escape(spelling)
        for strength, spellings in _STRENGTHS.items()
        for spelling in (strength, *spellings.values())
    )
    + r")\*\*[^\n]*\n?",
    re.MULTILINE | re.IGNORECASE,
)
# The headings of what is added after the text of a report, in every language.
ADDED_HEADINGS = frozenset(
    spelling.removeprefix("## ")
    for heading, spellings in _HEADINGS.items()
    for spelling in (heading, *spellings.values())
)


def remove_own_evidence(report: str) -> str:
    """A report without a section on evidence of its model's own, which would pass for ours: without such
    headings and the lines below them that begin as ours do. Other text of the section stays."""
    parts: list[str] = []
    position = 0
    headings = find_headings(report)
    for heading, following in zip_longest(headings, headings[1:]):
        if fold(heading.title.strip("*_: ")) not in _EVIDENCE_TITLES:
            continue
        end = following.start if following else len(report)
        parts += [report[position : heading.start], _OWN_LINE.sub("", report[heading.end : end])]
        position = end
    return "".join([*parts, report[position:]]).rstrip() if parts else report


def spell_in_english(report: str) -> str:
    """A report with the marks that a check reads."""
    if not any(spelling in report for spelling in _ENGLISH):
        return report
    return _TRANSLATED.sub(lambda found: _ENGLISH[found[0]], report)


def translate_phrases(report: str) -> str:
    """A finished report with our phrases in its own language."""
    rest, sources_heading, sources = _split_at(SOURCES, report)
    body, evidence_heading, evidence = _split_at(EVIDENCE, rest)
    if not (sources_heading or evidence_heading or _FOUND_IN_ENGLISH.search(body)):
        return report  # whatever its language, nothing in it is ours
    language = find_language(body)
    if language is None or language == "en":
        return report
    parts = [body]
    if evidence_heading:
        translated = _LINE.sub(lambda found: _translate_line(found, language), evidence)
        parts += [_HEADINGS[EVIDENCE][language], translated]
    if sources_heading:
        parts += [_HEADINGS[SOURCES][language], sources]
    return _FOUND_IN_ENGLISH.sub(lambda found: _PHRASES[found[0]][language], "".join(parts))


def _split_at(heading: str, text: str) -> tuple[str, str, str]:
    """The text before the last such heading, the heading, and the text after it, if it is there."""
    at = text.rfind(f"\n{heading}\n")
    if at < 0:
        return text, "", ""
    return text[: at + 1], heading, text[at + 1 + len(heading) :]


def _translate_line(found: re.Match[str], language: str) -> str:
    begun = f"- **{_STRENGTHS[found['strength']][language]}**"
    if not found["source"]:
        return begun
    return f"{begun} ({_SOURCE[language][found['source'] == 'sources']} "


def translate(phrase: str, report: str) -> str:
    """One of our phrases in the language of a report."""
    return _PHRASES[phrase].get(find_language(report) or "", phrase)
