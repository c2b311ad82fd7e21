"""Bytes to text, whatever their sender claims about them."""

import codecs
import re

# What browsers read these labels as: the wider encoding that holds the named one.
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
# Only these: Python has codecs that are no encodings, and some that take quadratic time.
_KNOWN = re.compile(
    r"utf-8|utf-16-?[lb]e|iso-8859-\d{1,2}|windows-125\d|cp125\d|koi8-[ru]|gb18030|big5|euc-jp|"
    r"iso-2022-jp|macintosh|cp866|windows-874|tis-620|cp932|cp949"
)
_BOMS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}
_META = re.compile(
    rb"""<meta[^>]{0,400}?charset\s{0,9}=\s{0,9}["']?([\w:.-]{1,40})""", re.IGNORECASE
)
META_BYTES = 2_048  # browsers look no further either
_CONTROLS = {code: None for code in (*range(0x20), 0x7F) if chr(code) not in "\t\n\r"}


def decode(data: bytes, charset: str = "", *, html: bool = False) -> str:
    """The text: by its byte order mark, the claimed charset, an html page's own, UTF-8, or Latin.

    Never fails: what does not fit its encoding shows as U+FFFD. Control characters are left out.
    """
    for mark, codec in _BOMS.items():
        if data.startswith(mark):
            return _clean(data[len(mark) :].decode(codec, "replace"))
    codec = _codec(charset)
    if not codec and html and (meta := _META.search(data[:META_BYTES])):
        # a page whose meta tag could be read as ASCII is not in UTF-16, whatever it says
        codec = _codec(meta.group(1).decode("ascii", "replace")).replace("utf-16-le", "utf-8")
    if codec:
        return _clean(data.decode(codec, "replace"))
    try:
        return _clean(data.decode("utf-8"))
    except UnicodeDecodeError:
        return _clean(data.decode("cp1252", "replace"))


def _codec(label: str) -> str:
    """The codec for a label, or nothing for one that is not known."""
    name = label.strip().lower().replace("_", "-")
    name = _WIDER.get(name, name)
    if not _KNOWN.fullmatch(name):
        return ""
    try:
        return codecs.lookup(name).name
    except LookupError:
        return ""


def _clean(text: str) -> str:
    return text.translate(_CONTROLS)
