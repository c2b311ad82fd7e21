"""Files that people upload: hostile text in a sound document, and documents that are broken by it."""

import io
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO
from xml.sax.saxutils import escape

from idea_explorer.adapters.documents import sheets, slides, word
from idea_explorer.adapters.documents.output import DamagedError, FullError, Output
from idea_explorer.adapters.documents.process import ChildProcessReader, DocumentLimits
from idea_explorer.domain.errors import UnreadableFileError
from idea_explorer.domain.file_kinds import FileKind, FileSample, detect_kind
from idea_explorer.ports import DocumentText, UploadedFile
from idea_explorer.tools.fulltext import UploadIndex
from tests.fakes.documents import make_docx, make_pdf, make_pptx, make_xlsx, paragraph, row
from tests.hostile.surfaces.base import CONTROL, Check, surface

MAX_CHARS = 10_000
LIMITS = DocumentLimits(seconds=1, most_seconds=2)
_XML_CONTROL = dict.fromkeys([*range(0x20), 0xFFFE, 0xFFFF, *range(0xD800, 0xE000)])


def break_file(content: bytes, text: str) -> Iterator[bytes]:
    """The file with the text written over and into it, and without its end."""
    data = text.encode("utf-8", "surrogatepass")[:2_000]
    place = len(data) * 7 % len(content)
    yield content[:place] + data + content[place + len(data) :]
    yield content[:place] + data + content[place:]
    yield content[:place]


def for_xml(text: str) -> str:
    return text.translate(_XML_CONTROL)


def expect_parts(content: bytes, read: Callable[[IO[bytes], Output], str]) -> None:
    """Whatever it is, it is read within its limits or refused in words."""
    written = io.BytesIO()
    with suppress(DamagedError, FullError):
        read(io.BytesIO(content), Output(written, MAX_CHARS, 1))
    # JSON takes six bytes for a character at most
    assert len(written.getvalue()) <= 8 * MAX_CHARS, "wrote more than it may"


def office(make: Callable[[str], bytes], read: Callable[[IO[bytes], Output], str]) -> Check:
    def check(text: str) -> None:
        expect_parts(make(escape(for_xml(text))), read)
        expect_parts(make(text.encode("utf-8", "replace").decode()), read)
        for broken in break_file(make("bees"), text):
            expect_parts(broken, read)

    return check


@surface("DOCX files", "markdown", "unicode", "json")
def docx_files(folder: Path) -> Iterator[Check]:
    yield office(lambda text: make_docx(f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>"), word.read)


@surface("XLSX files", "markdown", "unicode", "json", share=0.5)
def xlsx_files(folder: Path) -> Iterator[Check]:
    def make(text: str) -> bytes:
        cell = f'<row><c t="inlineStr"><is><t>{text}</t></is></c><c><v>{text}</v></c></row>'
        return make_xlsx({"A": cell}, strings=["a"], formats=f'<xf numFmtId="{text}"/>')

    yield office(make, sheets.read)


@surface("PPTX files", "markdown", "unicode", "json", share=0.5)
def pptx_files(folder: Path) -> Iterator[Check]:
    yield office(lambda text: make_pptx([text]), slides.read)


@surface("PDF files", "unicode", "json", share=0.02)
def pdf_files(folder: Path) -> Iterator[Check]:
    """In the child process: a parser in C may crash, which is what the process is for."""
    reader = ChildProcessReader(LIMITS)

    def check(text: str) -> None:
        shown = make_pdf([text[:2_000]])
        contents = [shown, *break_file(shown, text)]
        with suppress(UnreadableFileError):
            # one of them for each text: a process takes a tenth of a second
            content = contents[len(text) % len(contents)]
            read = reader.read(FileKind.PDF, content, max_chars=MAX_CHARS)
            assert sum(len(part.text) for part in read.parts) <= MAX_CHARS
            assert not any(CONTROL.search(part.label) for part in read.parts)

    yield check


class NoDocuments:
    """Refuses what needs a parser: those have surfaces of their own."""

    def read(self, kind: FileKind, content: bytes, *, max_chars: int) -> DocumentText:
        raise UnreadableFileError("is a document")


@surface("CSV and other text", "json", "unicode", "markdown", "terminal")
def text_files(folder: Path) -> Iterator[Check]:

    def check(text: str) -> None:
        for encoding in ("utf-8", "utf-16", "cp1251", "gb18030"):
            data = text.encode(encoding, "replace")
            for name in ("rows.csv", "unknown"):
                index = UploadIndex(NoDocuments(), [UploadedFile(name, data)])
                index.search(text[:100], 5)
                assert index.names or index.remarks[name]

    yield check


@surface("kinds of files", "json", "unicode", "markdown")
def kinds(folder: Path) -> Iterator[Check]:
    documents = (make_docx(paragraph("x")), make_xlsx({"A": row("x")}), make_pdf(["x"]))

    def check(text: str) -> None:
        data = text.encode("utf-8", "surrogatepass")
        for content in (data, *(broken for each in documents for broken in break_file(each, text))):
            with suppress(UnreadableFileError):
                detect_kind(FileSample.of(text[:50], content))

    yield check
