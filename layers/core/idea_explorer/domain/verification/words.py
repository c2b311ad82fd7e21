"""Sentences and words, as the rules compare them."""

from functools import lru_cache

from idea_explorer.domain.patterns import lazy_pattern
from idea_explorer.domain.text import fold

# Words that say nothing about the subject of a sentence; the first ones tell which language it is in.
ENGLISH = frozenset(
    "the of and is was were are in to a an for by at from with on that than its it as about over has had"
    " have been be their this these those or but not no which who while when where after before since".split()
)
GERMAN = frozenset(
    "der die das und ist wird wurde von im den dem mit fur auf ein eine bei als zu nach am".split()
)
OTHERS = frozenset("le la les des et est une du el los las y que del un por con il di che".split())
FUNCTION_WORDS = ENGLISH | GERMAN | OTHERS | frozenset(
    "only just nearly almost around roughly some more most less fewer many few each every all any both"
    " also still now then there here they he she we you if although though because so such other another"
    " between among during under below above per up down out off into one our my your his her"
    " according million billion thousand year years month months percent"
    " pres presque environ selon chez dans au aux sur pour plus moins seul seule cerca segun algo cada"
    " rund etwa knapp fast mehr laut seit insgesamt durchschnittlich gut bis vor aber uber unter"
    " sich nicht auch"
    " mas menos algo unos unas casi desde hasta entre sus una como para sin sobre tras segun fue son"
    " ete ont sont avec sans entre depuis jusqu leur ses ces cette dont qui soit contre"
    " million millions millionen millones milliarden milliards mio mrd prozent".split()
)  # fmt: skip

MAX_PASSAGE = 100_000  # characters that are read of one passage
MAX_TELLING = 4_000  # characters that tell the language of a text
_CITATION = lazy_pattern(r"\[\^?\d{1,4}\]|\[unverified\]")
_LINK = lazy_pattern(r"!?\[([^\[\]]{0,500})\]\([^()\s]{0,2000}\)")
_ONE_LINK = r"\[[^\[\]]{0,500}\]\([^()\s]{0,2000}\)(?: ⚠ unverified)?"
_LINKS_IN_BRACKETS = lazy_pattern(rf"\s?\({_ONE_LINK}(?:[,;]? {_ONE_LINK}){{0,9}}\)")
_LINKS_AT_END = lazy_pattern(rf"(?<=[.!?…])(?:[\s,;]{{1,3}}{_ONE_LINK}){{1,10}}\Z")
_ADDRESS = lazy_pattern(r"https?://\S{1,2000}")
_MARKUP = lazy_pattern(r"[*_`]{1,3}|^[#>\s-]{1,10}|^\d{1,3}[.)] ")
_SENTENCE_END = lazy_pattern(
    r"(?<=[^\d][.!?;])\s+(?=[^\sa-z])|(?<=\d\d\d[.;])\s+(?=[^\W\d_a-z])|\n+"
)
TOKEN = lazy_pattern(r"[^\W_]+(?:[.'’&-][^\W_]+)*")
_JOINTS = lazy_pattern(r"[.'’&-]")


def plain_text(markdown: str) -> str:
    """The sentence as a person reads it: no citations, addresses or markup. Links that stand alone in
    brackets or after the last full stop are citations; the name of any other link is a part of the
    sentence."""
    text = _LINKS_IN_BRACKETS.sub("", _CITATION.sub("", markdown))
    text = _LINKS_AT_END.sub("", text)
    text = _LINK.sub(r"\1", text)
    return _MARKUP.sub("", _ADDRESS.sub("", text)).strip()


def remove_emphasis(markdown: str) -> str:
    """The text without the signs that make a word bold, italic or code, and with links as their names."""
    plain = markdown.replace("*", "").replace("_", "").replace("`", "")
    return _LINK.sub(r"\1", plain) if "](" in plain else plain


def remove_links(markdown: str) -> str:
    """The text without its links and what they are named."""
    return _LINK.sub("", _CITATION.sub("", markdown))


def split_sentences(text: str) -> list[str]:
    return [part for part in _SENTENCE_END.split(text) if part.strip()]


def quotable(text: str) -> str:
    """One spelling for what only typography tells apart."""
    plain = text.translate({ord("’"): "'", ord("‘"): "'", ord("–"): "-", ord("—"): "-"})
    return " ".join(fold(plain).replace("[", "").replace("]", "").split())


@lru_cache(maxsize=16_384)
def fold_word(word: str) -> str:
    return fold(word)


def find_words(text: str) -> list[str]:
    """Every word, folded; the parts of compounds too."""
    found: list[str] = []
    for match in TOKEN.finditer(fold(text)):
        word = match[0].removesuffix("'s").removesuffix("’s")
        found.append(word)
        parts = _JOINTS.split(word)
        if len(parts) > 1:
            found += [*(part for part in parts if part), "".join(parts)]
    return found


def content_words(text: str) -> set[str]:
    """The words that carry the statement, without endings."""
    words = {word for word in find_words(text) if word not in FUNCTION_WORDS and len(word) > 2}
    return {_stem(word) for word in words if not word[0].isdigit()}


def _stem(word: str) -> str:
    for ending in ("ations", "ation", "ings", "ing", "ies", "ers", "es", "ed", "er", "s", "y"):
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            return word[: -len(ending)]
    return word


@lru_cache(maxsize=256)
def language(text: str, otherwise: str = "en") -> str:
    """`en`, `de`, or `` for any other. A text whose words do not tell is taken to be in `otherwise`."""
    words = fold(text[:MAX_TELLING]).split()
    counts = [sum(word in known for word in words) for known in (ENGLISH, GERMAN, OTHERS)]
    most = max(counts)
    return ("en", "de", "")[counts.index(most)] if counts.count(most) == 1 else otherwise
