"""PDF and Office files, read in the child process as they are everywhere."""

import errno
import io
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from idea_explorer.adapters.documents.process import ChildProcessReader, DocumentLimits
from idea_explorer.adapters.given_files import GivenFiles
from idea_explorer.domain.errors import InvalidRequestError, UnreadableFileError
from idea_explorer.domain.file_kinds import FileKind
from idea_explorer.ports import UploadedFile
from idea_explorer.tools.fulltext import UploadIndex
from tests.fakes.documents import (
    WORD,
    make_docx,
    make_pdf,
    make_pptx,
    make_xlsx,
    paragraph,
    relations,
    row,
)

READER = ChildProcessReader()
DOCX = make_docx(paragraph("Hives in towns", style="Heading1") + paragraph("Bees like roofs."))
FILES = {
    "report.pdf": make_pdf(["Nothing here", "A roof costs 40 a month."]),
    "notes.docx": DOCX,
    "costs.xlsx": make_xlsx({"Summary": row("nothing"), "Plan 2": row("Jar", "500 g", "12 euros")}),
    "pitch.pptx": make_pptx(["Why bees", "Swarms leave in May"]),
    "source.c": "/* Prüft die Größe des Stocks */".encode("latin-1"),
    "saved": b"<html><title>x</title><script>no</script><p>Queens live four years.",
    "list.csv": "sep=;\nKönigin;Farbe\n".encode("utf-16"),
}


def test_every_kind_of_file_is_found_with_its_page_sheet_or_slide() -> None:
    index = UploadIndex(READER, [UploadedFile(name, data) for name, data in FILES.items()])

    def found(query: str) -> tuple[str, str]:
        hits, _ = index.search(query, 1)
        return hits[0].name, hits[0].title

    guessed = "does not say its encoding and is read as cp1252, a guess"
    assert index.remarks == {"source.c": guessed}
    assert found("roof month") == ("report.pdf", "page 2")
    assert found("hives") == ("notes.docx", "")
    assert found("jar euros") == ("costs.xlsx", "sheet Plan 2")
    assert found("swarms may") == ("pitch.pptx", "slide 2")
    assert found("größe stocks") == ("source.c", "")
    assert found("queens") == ("saved", "")
    assert found("königin") == ("list.csv", "")


def bomb(megabytes: int) -> bytes:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as file:
        file.writestr("_rels/.rels", relations(rId1="officeDocument word/document.xml"))
        with file.open("word/document.xml", "w", force_zip64=True) as part:
            part.write(f'<w:document xmlns:w="{WORD}">'.encode())
            for _ in range(megabytes):
                part.write(b" " * 1_048_576)
    return archive.getvalue()


BROKEN = {
    "locked.pdf": (make_pdf(["Bees"], encrypted=True), "is encrypted; save it without a password."),
    "scan.pdf": (
        make_pdf(["", ""]),
        "holds no text: it is probably scanned; run text recognition (OCR) on it first.",
    ),
    "broken.docx": (DOCX[: len(DOCX) // 2], "cannot be read: it is damaged or cut off."),
    "photo.pdf": (b"\xff\xd8\xff\xe0JFIF", "is a JPEG image;"),
}


def assert_refused(file: Path, content: bytes, reason: str) -> None:
    file.write_bytes(content)

    with pytest.raises(InvalidRequestError) as refused:
        GivenFiles([file], READER)

    assert refused.value.sentence.startswith(f"{file} {reason}")
    assert refused.value.sentence.count(". ") == 0


@pytest.mark.parametrize("name", BROKEN)
def test_a_file_that_cannot_be_read_is_refused_in_one_sentence(tmp_path: Path, name: str) -> None:
    assert_refused(tmp_path / name, *BROKEN[name])


def test_a_file_that_unpacks_to_too_much_is_refused(tmp_path: Path) -> None:
    assert_refused(tmp_path / "bomb.docx", bomb(210), "unpacks to more than 200 MB.")


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Has the child run this code instead of the parsers."""

    def replace(code: str) -> None:
        package = tmp_path / "idea_explorer" / "adapters" / "documents"
        package.mkdir(parents=True)
        for folder in (package, *package.parents[:2]):
            (folder / "__init__.py").touch()
        (package / "child.py").write_text(code)
        monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])

    return replace


def test_the_child_gets_no_secret(
    stand_in: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "secret")
    stand_in(
        "import json, os\n"
        "print(json.dumps({'label': '', 'text': ' '.join(os.environ)}))\n"
        "print(json.dumps({'remark': ''}))\n"
    )

    (part,) = READER.read(FileKind.PDF, b"", max_chars=1_000).parts

    assert "PYTHONPATH" in part.text
    assert "ANTHROPIC_API_KEY" not in part.text


SEALED = """
import os, socket
from idea_explorer.adapters.documents.child import open_nothing_more
open_nothing_more()
os.close(0)  # its number is free now
for attempt in (lambda: open("/dev/null"), socket.socket):
    try:
        attempt()
    except OSError as error:
        print(error.errno)
"""


def test_a_parser_can_open_no_file_and_no_connection() -> None:
    ran = subprocess.run([sys.executable, "-c", SEALED], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == [str(errno.EMFILE)] * 2


@pytest.mark.parametrize("error", ["ImportError", "OSError"])
def test_a_parser_that_is_missing_is_not_blamed_on_the_document(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: str
) -> None:
    (tmp_path / "pypdfium2.py").write_text(f"raise {error}")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])

    with pytest.raises(UnreadableFileError, match="the parser for PDF is not installed"):
        READER.read(FileKind.PDF, FILES["report.pdf"], max_chars=1_000)


KILLED = "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n"
FIRST_PART = """print('{"label": "page 1", "text": "Bees"}', flush=True)\n"""


def test_a_child_that_dies_without_a_word_is_a_file_that_cannot_be_read(
    stand_in: Callable[[str], None],
) -> None:
    stand_in(KILLED)
    with pytest.raises(UnreadableFileError, match="damaged, or needs too much time or memory"):
        READER.read(FileKind.PDF, b"", max_chars=1_000)


def test_what_a_child_wrote_before_it_died_counts(stand_in: Callable[[str], None]) -> None:
    stand_in(FIRST_PART + "print('{\"label\": ', flush=True)\n" + KILLED)
    read = READER.read(FileKind.PDF, b"", max_chars=1_000)
    assert [part.text for part in read.parts] == ["Bees"]
    assert read.remark == "only its first 1 part could be read"


MEASURE = """
import sys, time
from pathlib import Path
from idea_explorer.adapters.documents.process import ChildProcessReader
from idea_explorer.domain.file_kinds import FileKind
began = time.monotonic()
read = ChildProcessReader().read(FileKind.PDF, Path(sys.argv[1]).read_bytes(), max_chars=2_000_000)
import resource
kilobytes = [resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
print(len(read.parts), time.monotonic() - began, sum(kilobytes) / 1024)
"""


@pytest.mark.slow
def test_a_pdf_of_300_pages_takes_5_seconds_and_200_megabytes_at_most(tmp_path: Path) -> None:
    lines = "\n".join(
        f"Line {n} of a page about bees, roofs and honey in towns." for n in range(55)
    )
    (tmp_path / "long.pdf").write_bytes(make_pdf([f"Page {n}\n{lines}" for n in range(300)]))

    ran = subprocess.run(
        [sys.executable, "-c", MEASURE, str(tmp_path / "long.pdf")],
        capture_output=True,
        text=True,
        check=True,
    )
    pages, seconds, megabytes = map(float, ran.stdout.split())
    print(f"{seconds:.2f} s, {megabytes:.0f} MB")

    assert pages == 300
    assert seconds < 5
    assert megabytes < 200


@pytest.mark.slow
def test_a_document_that_takes_for_ever_is_ended() -> None:
    """Cells of thirty thousand characters, each of them shown again and again."""
    cells = '<c t="s"><v>0</v></c>' * 400_000
    content = make_xlsx({"A": f"<row>{cells}</row>"}, strings=[" " * 32_000 + "x"])
    began = time.monotonic()

    with pytest.raises(UnreadableFileError):
        ChildProcessReader(DocumentLimits(seconds=1, most_seconds=2)).read(
            FileKind.XLSX, content, max_chars=2_000_000
        )

    assert time.monotonic() - began < 6


def test_no_file_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    READER.read(FileKind.DOCX, DOCX, max_chars=1_000)

    assert list(tmp_path.iterdir()) == []
