import bz2

import pytest

from idea_explorer.domain.errors import UnreadableFileError
from idea_explorer.domain.file_kinds import (
    TAIL_BYTES,
    FileKind,
    FileSample,
    detect_kind,
    media_type,
)
from tests.fakes.documents import (
    make_docx,
    make_package,
    make_pdf,
    make_pptx,
    make_xlsx,
    paragraph,
    row,
)

PDF = make_pdf(["Bees"])
DOCX = make_docx(paragraph("Bees"))


def kind_of(name: str, content: bytes) -> FileKind:
    return detect_kind(FileSample.of(name, content))


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        ("a.pdf", PDF, FileKind.PDF),
        ("a.txt", PDF, FileKind.PDF),
        ("a.pdf", b"junk of a printer\n" + PDF, FileKind.PDF),
        ("a.docx", DOCX, FileKind.DOCX),
        ("renamed.pdf", DOCX, FileKind.DOCX),
        ("a", make_xlsx({"A": row("1")}), FileKind.XLSX),
        ("a", make_pptx(["Bees"]), FileKind.PPTX),
        ("a.docx", DOCX[: len(DOCX) // 2], FileKind.DOCX),
        ("a.html", b"<p>x", FileKind.PAGE),
        ("saved", b"\xef\xbb\xbf\n<!DOCTYPE HTML><p>x", FileKind.PAGE),
        ("a.csv", b"a;b\n1;2", FileKind.TEXT),
        ("main.c", "/* Größe */".encode("latin-1"), FileKind.TEXT),
        ("a.txt", "grün".encode("utf-16"), FileKind.TEXT),
        ("a.txt", "plain".encode("utf-16-le"), FileKind.TEXT),
        ("a.txt", "plain".encode("utf-32"), FileKind.TEXT),
        ("LICENSE", b"", FileKind.TEXT),
        ("tags.csv", b"ID3,Name\n1,Bees\n", FileKind.TEXT),
        ("notes.md", b"GIF89a, explained: an image of 1989.", FileKind.TEXT),
        ("people", b"BZhang\nBZh9 is no name\n", FileKind.TEXT),
        ("riff.txt", b"RIFF is a container.\n", FileKind.TEXT),
        ("ogg.txt", b"OggS begins each page.\n", FileKind.TEXT),
        ("macros.tex", b"{\\rtfm}", FileKind.TEXT),
    ],
)
def test_the_content_decides(name: str, content: bytes, kind: FileKind) -> None:
    assert kind_of(name, content) is kind


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.png", b"\x89PNG\r\n\x1a\n", "is a PNG image"),
        ("notes.txt", b"\xff\xd8\xff\xe0", "is a JPEG image"),
        ("report.pdf", b"\x89PNG\r\n\x1a\n", "is a PNG image"),
        ("a.zip", make_package({"a.txt": "x"}), "is a ZIP archive"),
        ("a.docx", make_package({"a.txt": "x"}), "is a ZIP archive"),
        ("a.odt", make_package({"mimetype": "x", "content.xml": "x"}), "is an OpenDocument file"),
        ("a.doc", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 99, "old Office format"),
        ("a.rtf", b"{\\rtf1 bees}", "is in RTF"),
        ("a.gz", b"\x1f\x8b\x08", "is compressed"),
        ("a.txt", bz2.compress(b"bees"), "is compressed"),
        ("a.txt", bz2.compress(b""), "is compressed"),
        ("a.txt", b"GIF89a\x40\x01\xf0\x20\xf7\xff\0", "is a GIF image"),
        ("a.txt", b"RIFF\x24\x41\x42\0WAVEfmt ", "is audio, video or an image"),
        ("a.txt", b"OggS\0\x02", "is audio or video"),
        ("a.txt", b"ID3\x04\0\0\0", "is an audio file"),
        ("a.bin", b"\xff\xfa\xfb", "is not text"),
        ("a.txt", b"text\0with zeros", "is not text"),
        ("a.txt", b"\x01\x02\x03\x04" * 99, "is not text"),
    ],
)
def test_what_cannot_be_read_is_named(name: str, content: bytes, reason: str) -> None:
    with pytest.raises(UnreadableFileError, match=reason):
        kind_of(name, content)


def test_an_archive_of_many_files_is_known_by_the_end_of_its_list() -> None:
    pictures = {f"word/media/image{n}.png": b"" for n in range(9_000)}
    large = make_package({"[Content_Types].xml": "<Types/>", **pictures})
    assert len(large) > 2 * TAIL_BYTES
    assert kind_of("a", large) is FileKind.DOCX


@pytest.mark.parametrize(
    ("name", "stored_as"),
    [
        ("a.PDF", "application/pdf"),
        ("a.csv", "text/csv"),
        ("a.html", "application/octet-stream"),
        ("a.svg", "application/octet-stream"),
        ("a", "application/octet-stream"),
    ],
)
def test_nothing_is_stored_as_what_a_browser_would_run(name: str, stored_as: str) -> None:
    assert media_type(name) == stored_as
