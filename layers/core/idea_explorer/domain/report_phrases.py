"""What this program itself writes into a report, in the report's language.

Checks and other programs read the English phrases. A report is brought into them before it is checked, and
into its own language afterwards. In a language that is not in the table the phrases stay in English.
"""

import re
from collections.abc import Mapping

from idea_explorer.domain.languages import find_language
from idea_explorer.domain.report_links import REMOVED
from idea_explorer.domain.report_text import CUT
from idea_explorer.domain.sources import NOT_FOUND, UNMATCHED

SOURCES = "## Sources"
FOLLOWS_UP = "Follows up on"
# The heading of the source list is known in more languages than these: see `source_lists.py`.
_HEADINGS = {
    "de": "## Quellen",
    "fr": "## Sources",
    "es": "## Fuentes",
    "it": "## Fonti",
    "pt": "## Fontes",
    "nl": "## Bronnen",
}
_PHRASES: Mapping[str, Mapping[str, str]] = {
    UNMATCHED: {
        "de": "⚠ nicht belegt",
        "fr": "⚠ non vérifié",
        "es": "⚠ sin verificar",
        "it": "⚠ non verificato",
        "pt": "⚠ não verificado",
        "nl": "⚠ niet geverifieerd",
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
_MARKS = (UNMATCHED, NOT_FOUND, REMOVED, CUT)  # what a check has to find again
_ENGLISH = {spelling: mark for mark in _MARKS for spelling in _PHRASES[mark].values()}
_TRANSLATED = re.compile("|".join(rf"{re.escape(spelling)}(?![^\W_])" for spelling in _ENGLISH))
_FOUND_IN_ENGLISH = re.compile("|".join(rf"{re.escape(mark)}(?![^\W_])" for mark in _MARKS))

# The mark of a citation without evidence, in every language: for those who show reports.
UNMATCHED_MARKS = (UNMATCHED, *_PHRASES[UNMATCHED].values())


def spell_in_english(report: str) -> str:
    """A report with the marks that a check reads."""
    return _TRANSLATED.sub(lambda found: _ENGLISH[found[0]], report)


def translate_phrases(report: str) -> str:
    """A checked report with our phrases in its own language."""
    body, heading, sources = report.rpartition(f"\n{SOURCES}\n")
    language = find_language(body or sources)
    if language not in _HEADINGS:
        return report
    if heading:
        report = f"{body}\n{_HEADINGS[language]}\n{sources}"
    return _FOUND_IN_ENGLISH.sub(lambda found: _PHRASES[found[0]][language], report)


def translate(phrase: str, report: str) -> str:
    """One of our phrases in the language of a report."""
    return _PHRASES[phrase].get(find_language(report) or "", phrase)
