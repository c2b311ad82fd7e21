"""What a file is, by its content. Its name counts only where the content leaves the kind open."""

import codecs
from collections.abc import Iterator
from enum import StrEnum

from idea_explorer.domain.dataclass import dataclass
from idea_explorer.domain.encodings import find_codec, guess_codec
from idea_explorer.domain.errors import UnreadableFileError
from idea_explorer.domain.patterns import lazy_pattern

HEAD_BYTES = 8_192
TAIL_BYTES = 262_144  # of a ZIP archive: the list of its last 3,000 files
READABLE = "PDF, DOCX, XLSX, PPTX, HTML, CSV and text files can be read"


class FileKind(StrEnum):
    TEXT = "text"
    PAGE = "page"
    PDF = "pdf"
    DOCX = "docx"
    XLSX = "xlsx"
    PPTX = "pptx"

    @property
    def is_document(self) -> bool:
        """Whether a parser is needed to get at its text."""
        return self not in {FileKind.TEXT, FileKind.PAGE}


@dataclass(frozen=True, slots=True)
class FileSample:
    """The beginning and the end of a file, which tell its kind."""

    name: str
    head: bytes
    tail: bytes

    @classmethod
    def of(cls, name: str, content: bytes) -> "FileSample":
        return cls(name, content[:HEAD_BYTES], content[-TAIL_BYTES:])


_OLD_OFFICE = (
    "is encrypted or in an old Office format; save it as DOCX, XLSX or PPTX without a password"
)
_SIGNATURES = {
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": _OLD_OFFICE,
    b"{\\rtf1": "is in RTF; save it as DOCX or PDF",
    b"\x89PNG\r\n": f"is a PNG image; {READABLE}",
    b"\xff\xd8\xff": f"is a JPEG image; {READABLE}",
    b"II*\0": f"is a TIFF image; {READABLE}",
    b"MM\0*": f"is a TIFF image; {READABLE}",
    b"OggS\0": f"is audio or video; {READABLE}",
    **dict.fromkeys((b"ID3\x02\0", b"ID3\x03\0", b"ID3\x04\0"), f"is an audio file; {READABLE}"),
    b"\x1f\x8b": f"is compressed; {READABLE}",
    b"\xfd7zXZ": f"is compressed; {READABLE}",
    b"7z\xbc\xaf'\x1c": f"is an archive; {READABLE}",
    b"Rar!\x1a": f"is an archive; {READABLE}",
}
# Signatures that begin with letters, as a text may: what follows them is checked too.
_AFTER_LETTERS = {
    # a width, a height and three bytes, of which one is zero in all but the oddest images
    lazy_pattern(rb"GIF8[79]a[^\0]{0,6}\0"): f"is a GIF image; {READABLE}",
    # the size, whose highest byte is small: no upload has 33 MB
    lazy_pattern(rb"RIFF[\0-\xff]{3}[\0\x01]"): f"is audio, video or an image; {READABLE}",
    lazy_pattern(rb"BZh[1-9](?:1AY&SY|\x17rE8P\x90)"): f"is compressed; {READABLE}",
}
ARCHIVE = (b"PK\x03\x04", b"PK\x05\x06")  # a ZIP archive, whose list is at its end
_ZIP_ENTRY = b"PK\x01\x02"
_OFFICE_FOLDERS = {
    b"word/": FileKind.DOCX,
    b"xl/": FileKind.XLSX,
    b"ppt/": FileKind.PPTX,
}
_OFFICE_SUFFIXES = {f".{kind}": kind for kind in _OFFICE_FOLDERS.values()}
_BYTE_ORDER_MARKS = (
    codecs.BOM_UTF8,
    codecs.BOM_UTF16_LE,
    codecs.BOM_UTF16_BE,
    codecs.BOM_UTF32_BE,
)
PAGE_SUFFIXES = (".html", ".htm", ".xhtml")
# An ending that says what the bytes do not: the encoding of a few letters cannot be guessed.
_TEXT_SUFFIXES = (
    *PAGE_SUFFIXES,
    *(".txt", ".md", ".markdown", ".csv", ".tsv", ".json", ".log", ".xml", ".yaml", ".yml"),
)
_CONTROLS = bytes(code for code in range(0x20) if chr(code) not in "\b\t\n\f\r\x1a\x1b")
_MAX_CONTROLS = 0.05  # of the bytes of a text

MEDIA_TYPES = {
    ".pdf": "application/pdf",
    ".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    ".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    ".pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    ".csv": "text/csv",
    **dict.fromkeys(PAGE_SUFFIXES, "text/html"),
}


def media_type(name: str) -> str:
    """What a file is stored as; never anything that a browser would run."""
    found = next((kind for end, kind in MEDIA_TYPES.items() if name.lower().endswith(end)), "")
    return found if found and found != "text/html" else "application/octet-stream"


def detect_kind(sample: FileSample) -> FileKind:
    """Raises UnreadableFileError for a file that is neither text nor a document we can read."""
    head, name = sample.head, sample.name.lower()
    if head.lstrip().startswith(b"%PDF-") or (name.endswith(".pdf") and b"%PDF-" in head[:1_024]):
        return FileKind.PDF
    for signature, reason in _SIGNATURES.items():
        if head.startswith(signature):
            raise UnreadableFileError(reason)
    for pattern, reason in _AFTER_LETTERS.items():
        if pattern.match(head):
            raise UnreadableFileError(reason)
    if head.startswith(ARCHIVE):
        return _detect_office(sample)
    if not _is_text(sample):
        raise UnreadableFileError(f"is not text; {READABLE}")
    return FileKind.PAGE if name.endswith(PAGE_SUFFIXES) or is_page(head) else FileKind.TEXT


def check_uploaded_kind(sample: FileSample) -> FileKind:
    """The kind of a file for a run, which is not empty. Raises UnreadableFileError."""
    text = sample.head.removeprefix(codecs.BOM_UTF8).strip()
    if not text and len(sample.head) < HEAD_BYTES:  # else there may be text after the sample
        raise UnreadableFileError("is empty")
    return detect_kind(sample)


def is_page(head: bytes) -> bool:
    """Whether a text begins as an HTML page does."""
    start = head.removeprefix(codecs.BOM_UTF8).lstrip()[:14].lower()
    return start.startswith((b"<!doctype html", b"<html"))


def _detect_office(sample: FileSample) -> FileKind:
    names = list(_names_of_archive(sample.tail))
    found = [kind for name in names for at, kind in _OFFICE_FOLDERS.items() if name.startswith(at)]
    if found:
        return max(_OFFICE_FOLDERS.values(), key=found.count)
    if b"content.xml" in names:
        raise UnreadableFileError("is an OpenDocument file; save it as DOCX, XLSX, PPTX or PDF")
    ending = sample.name.lower()[-5:]
    if not names and ending in _OFFICE_SUFFIXES:
        return _OFFICE_SUFFIXES[ending]  # its end is missing, which its parser says
    raise UnreadableFileError(f"is a ZIP archive; {READABLE}")


def _names_of_archive(tail: bytes) -> Iterator[bytes]:
    position = tail.find(_ZIP_ENTRY)
    while position >= 0:
        length = int.from_bytes(tail[position + 28 : position + 30], "little")
        start = position + 46
        yield tail[start : start + length].replace(b"\\", b"/")
        position = tail.find(_ZIP_ENTRY, start)


def _is_text(sample: FileSample) -> bool:
    head = sample.head
    if head.startswith(_BYTE_ORDER_MARKS):
        return True
    if find_codec(head):
        return True
    controls = len(head) - len(head.translate(None, _CONTROLS))
    if b"\0" in head or controls > _MAX_CONTROLS * len(head):
        return False
    return bool(guess_codec(head)) or sample.name.lower().endswith(_TEXT_SUFFIXES)
