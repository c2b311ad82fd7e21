"""The text of a page or a file, whatever encoding it is in."""

import codecs
import re
import sys
from dataclasses import dataclass

from idea_explorer.domain.encodings import find_codec, guess_codec
from idea_explorer.domain.patterns import lazy_pattern

SLICE = 65_536  # bytes or characters that are worked on at once: no other thread runs meanwhile

# what browsers use for these labels: a superset of the named encoding
_WIDER = {
    "ascii": "cp1252",
    "us-ascii": "cp1252",
    "latin1": "cp1252",
    "latin-1": "cp1252",
    "iso-8859-1": "cp1252",
    "iso8859-1": "cp1252",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift-jis": "cp932",
    "sjis": "cp932",
    "euc-kr": "cp949",
    "ks-c-5601-1987": "cp949",
    "utf-16": "utf-16-le",
    "utf8": "utf-8",
}
# no others: some of Python's codecs are not encodings, and some take quadratic time
_KNOWN = lazy_pattern(
    r"utf-8|utf-16-?[lb]e|iso-8859-\d{1,2}|windows-125\d|cp125\d|koi8-[ru]|gb18030|big5|euc-jp|"
    r"iso-2022-jp|macintosh|cp866|windows-874|tis-620|cp932|cp949"
)
_BOMS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF32_LE: "utf-32-le",  # begins as UTF-16 does
    codecs.BOM_UTF32_BE: "utf-32-be",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}
_META = lazy_pattern(
    rb"""<meta[^>]{0,400}?charset\s{0,9}=\s{0,9}["']?([\w:.-]{1,40})""", re.IGNORECASE
)
META_BYTES = 2_048  # browsers do not look any further
_CONTROLS = {code: None for code in (*range(0x20), 0x7F) if chr(code) not in "\t\n\r"}


@dataclass(frozen=True, slots=True)
class DecodedText:
    """`guess` is the codec where nothing but the words says that it is the right one."""

    text: str
    guess: str = ""


def decode(data: bytes, charset: str = "", *, html: bool = False, limit: int = sys.maxsize) -> str:
    return decode_text(data, charset, html=html, limit=limit).text


def decode_text(
    data: bytes, charset: str = "", *, html: bool = False, limit: int = sys.maxsize
) -> DecodedText:
    """Decode by byte order mark, declared charset, an HTML page's meta tag, UTF-8, or else by a guess. Never
    fails: invalid bytes become U+FFFD. Control characters are left out. Ends soon after `limit` characters.
    """
    for mark, codec in _BOMS.items():
        if data.startswith(mark):
            return DecodedText(_decode(data[len(mark) :], codec, limit))
    codec = _codec(charset)
    if not codec and html and (meta := _META.search(data[:META_BYTES])):
        # a page whose meta tag is readable as ASCII is not in UTF-16, whatever it declares
        codec = _codec(meta.group(1).decode("ascii", "replace")).replace("utf-16-le", "utf-8")
    if codec := codec or find_codec(data):
        return DecodedText(_decode(data, codec, limit))
    try:
        return DecodedText(_decode(data, "utf-8", limit, "strict"))
    except UnicodeDecodeError:
        guess = guess_codec(data) or "cp1252"
        return DecodedText(_decode(data, guess, limit), guess)


def _codec(label: str) -> str:
    """The codec for a label; empty if it is not known."""
    name = label.strip().lower().replace("_", "-")
    name = _WIDER.get(name, name)
    if not _KNOWN.fullmatch(name):
        return ""
    try:
        return codecs.lookup(name).name
    except LookupError:
        return ""


def _decode(data: bytes, codec: str, limit: int, errors: str = "replace") -> str:
    decoder = codecs.getincrementaldecoder(codec)(errors)
    parts: list[str] = []
    length = 0
    for start in range(0, len(data), SLICE):
        end = start + SLICE
        text = decoder.decode(data[start:end], final=end >= len(data)).translate(_CONTROLS)
        parts.append(text)
        length += len(text)
        if length >= limit:
            break
    return "".join(parts)
