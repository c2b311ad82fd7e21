"""Which encoding a text is in that does not say so.

UTF-8 is certain: other text is hardly ever valid UTF-8. Everything else is a guess: the bytes are read in
each encoding that people still have files in, and the one counts in which they are words.
"""

import codecs
import unicodedata
from collections.abc import Mapping
from functools import lru_cache

from idea_explorer.domain.patterns import lazy_pattern

SLICE = 65_536
SAMPLE_BYTES = 8_192
BEFORE = 64  # bytes before the first that is not ASCII: the rest of its word
CERTAIN, LIKELY = 0.8, 0.5
MIN_SHARE = 0.4  # of the letters of a text are among the commonest ones of its language

_CYRILLIC = "оеаинтсрвл"
# By codec, the letters of its languages beside those of ASCII. The first of two that fit as well counts.
_WESTERN = (
    *("äöüßé", "àâæçéèêëîïôùûüœ", "áéíóúüñçàèòïº", "ãõáâàéêíóôúç", "àèéìíòóù", "åäöé", "æøåéó"),
    *("ëïéèöü", "áðéíóúýþæö", "äöõüšž"),
)
_CENTRAL = (*("ąćęłńóśźż", "áčďéěíňóřšťúůýž", "áäčďéíĺľňóôŕšťúýž", "áéíóöőúüű", "čćđšž", "ăâîşţ"),)
_LATIN: Mapping[str, tuple[str, ...]] = {
    "cp1252": _WESTERN,
    "cp1254": ("çğıöşüâîû",),
    "cp1250": _CENTRAL,
    "iso8859_2": _CENTRAL,
    "cp1257": ("ąčęėįšųūž", "āčēģīķļņšūž", "äöõüšž"),
    "cp850": _WESTERN,
}
MIXED = (
    0.9  # the fit of a Western text in several languages, in which one of another codec fits better
)
# By codec, the commonest letters of its languages.
_ONE_BYTE: Mapping[str, str] = {
    "cp1251": _CYRILLIC,
    "koi8_r": _CYRILLIC,
    "cp866": _CYRILLIC,
    "iso8859_5": _CYRILLIC,
    "cp1253": "αοιετσνρηςάίόέυκ",
    "cp1255": "יוהלאתרבמשנ",
    "cp1256": "اليمونرتبةعد",
    "cp874": "านรกอเงมยลวดทส่",
}
_SIMPLIFIED = (
    "的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于"
    "着下自之年过发后作里用道行所然家种事成方多经么去法学如都同现当没动面起看定天分还"
    "进好小部其些主样理心她本前开但因只从想实"
)
_TRADITIONAL = (
    "的一是不了在人有我他這個們中來上大為和國地到以說時要就出會可也你對生能而子那得於"
    "著下自之年過發後作裡用道行所然家種事成方多經麼去法學如都同現當沒動面起看定天分還"
    "進好小部其些主樣理心她本前開但因只從想實"
)
# By codec, what of its characters is common in its language.
_MANY_BYTES = {
    "cp932": lazy_pattern("[\u3041-\u30fe]"),
    "euc_jp": lazy_pattern("[\u3041-\u30fe]"),
    "cp949": lazy_pattern("[\uac00-\ud7a3]"),
    "gb18030": lazy_pattern(f"[{_SIMPLIFIED}]"),
    "big5": lazy_pattern(f"[{_TRADITIONAL}]"),
}
_MIN_COMMON = {"cp932": 0.2, "euc_jp": 0.2, "cp949": 0.6, "gb18030": 0.15, "big5": 0.15}
_WORD = lazy_pattern(r"[^\W_]+")
_NOT_ASCII = lazy_pattern(r"[^\x00-\x7f]")
# Signs that stand beside words in every language, and others where they stand alone.
_NEUTRAL = lazy_pattern(
    "[\u00a0\u00a7\u00a9\u00ab\u00ae\u00b0\u00b7\u00bb\u00d7\u00f7\u2010-\u2019\u20ac\u2122]"
    # quotation marks and dots do not stand between two letters
    r"|(?<![^\W\d_])[\u201a-\u2030]|[\u201a-\u2030](?![^\W\d_])"
    r"|(?<![^\W\d_])[\u00a1-\u00bf](?![^\W\d_])"
)


def guess_codec(data: bytes) -> str:
    """The name of a codec for these bytes; "" where none makes words of them."""
    if codec := find_codec(data):
        return codec
    sample = _sample(data)
    if not sample or _decode(sample, "utf-8") is not None:
        return "utf-8"
    latin = {codec: _score_latin(sample, codec) for codec in _LATIN}
    fitting = max(latin, key=lambda codec: latin[codec][0] * latin[codec][1])
    scores = {fitting: latin[fitting][0]}
    if max(scores[fitting], latin["cp1252"][0]) < CERTAIN:
        scores |= {codec: _score(sample, codec) for codec in (*_MANY_BYTES, *_ONE_BYTE)}
    best = max(scores, key=lambda codec: scores[codec])
    return best if scores[best] >= LIKELY else ""


def find_codec(data: bytes) -> str:
    """The name of a codec whose text would pass as UTF-8: ISO-2022-JP by its escapes, UTF-16 without a mark
    by its zeros, as every second byte of Latin letters is one. "" for any other."""
    sample = data[:SAMPLE_BYTES]
    if b"\x1b$B" in sample or b"\x1b$@" in sample:
        return "iso2022_jp"
    half = len(sample) // 2
    even, odd = sample[::2].count(0), sample[1::2].count(0)
    if half < 2 or max(even, odd) < 0.5 * half or min(even, odd) > 0.05 * half:
        return ""
    return "utf-16-le" if odd > even else "utf-16-be"


def _sample(data: bytes) -> bytes:
    """Bytes from a little before the first that is not ASCII; none if all are."""
    for start in range(0, len(data), SLICE):
        piece = data[start : start + SLICE]
        if not piece.isascii():
            try:
                piece.decode("ascii")
            except UnicodeDecodeError as error:
                begin = start + error.start
                return data[max(0, begin - BEFORE) : begin + SAMPLE_BYTES]
    return b""


def _decode(sample: bytes, codec: str) -> str | None:
    """A character that is cut at the end does not count."""
    try:
        return codecs.getincrementaldecoder(codec)("strict").decode(sample)
    except UnicodeDecodeError:
        return None


def _score(sample: bytes, codec: str) -> float:
    text = _decode(sample, codec)
    if text is None:
        return 0.0
    if common := _MANY_BYTES.get(codec):
        others = len(_NOT_ASCII.findall(text))
        share = len(common.findall(text)) / others if others else 0.0
        return min(1.0, share / _MIN_COMMON[codec])
    return _score_words(text, _ONE_BYTE[codec])


def _score_latin(sample: bytes, codec: str) -> tuple[float, float]:
    """How much of it are words, and how well their letters are those of one language."""
    text = _decode(sample, codec)
    if text is None:
        return 0.0, 0.0
    words = "".join(word for word in _WORD.findall(text) if not word.isascii() and _is_word(word))
    letters = "".join(_NOT_ASCII.findall(words)).replace("İ", "ı").lower()
    if not letters:  # signs alone speak for no language
        return (_score_words(text, ""), 1.0) if codec == "cp1252" else (0.0, 0.0)
    fit = max(sum(map(letters.count, alphabet)) for alphabet in _LATIN[codec]) / len(letters)
    return _score_words(text, ""), max(fit, MIXED if codec == "cp1252" else 0.0)


def _score_words(text: str, common: str) -> float:
    """The share of the characters that are not ASCII which stand in words as people write them."""
    others = len(_NOT_ASCII.findall(_NEUTRAL.sub("", text)))
    if not others:
        return 1.0
    words = [word for word in _WORD.findall(text) if not word.isascii()]
    good = [word for word in words if _is_word(word)]
    score = sum(len(_NOT_ASCII.findall(word)) for word in good) / others
    if not common:
        return min(1.0, score)
    letters = "".join(good).lower()
    share = sum(letters.count(letter) for letter in common) / max(1, len(letters))
    return min(1.0, score) * share / MIN_SHARE


def _is_word(word: str) -> bool:
    """Letters of one script, in upper case, lower case or with a capital; a Latin word has ASCII too."""
    if not word.isalpha() or len({_script(letter) for letter in word}) > 1:
        return False
    if word.lower() != word and not (word.isupper() or word.istitle()):
        return False
    return _script(word[0]) != "LATIN" or 2 * len(_NOT_ASCII.findall(word)) <= len(word) + 1


@lru_cache(maxsize=1_024)
def _script(letter: str) -> str:
    return unicodedata.name(letter, "").partition(" ")[0]
