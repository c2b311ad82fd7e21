"""PDF and Office files as small as they can be, made by hand."""

import io
import zipfile
from collections.abc import Mapping, Sequence
from xml.sax.saxutils import escape

MAIN = "http://schemas.openxmlformats.org"
WORD = f"{MAIN}/wordprocessingml/2006/main"
SHEET = f"{MAIN}/spreadsheetml/2006/main"
DRAWING = f"{MAIN}/drawingml/2006/main"
SLIDES = f"{MAIN}/presentationml/2006/main"
RELATIONS = f"{MAIN}/officeDocument/2006/relationships"
PACKAGE = f"{MAIN}/package/2006/relationships"


def make_pdf(pages: Sequence[str], *, encrypted: bool = False) -> bytes:
    """A page for each text, whose lines stand below one another."""
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"",
        b"<< /Type /Font /Subtype /Type1 /BaseFont",
    ]
    objects[2] += b" /Helvetica /Encoding /WinAnsiEncoding >>"
    kids = []
    for text in pages:
        content = _show_lines(text)
        stream = len(objects) + 1
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content))
        kids.append(b"%d 0 R" % (stream + 1))
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents %d 0 R"
            b" /Resources << /Font << /F1 3 0 R >> >> >>" % stream
        )
    objects[1] = b"<< /Type /Pages /Count %d /Kids [%s] >>" % (len(kids), b" ".join(kids))
    return _write_pdf(objects, encrypted=encrypted)


def _show_lines(text: str) -> bytes:
    lines = text.encode("cp1252", "replace").splitlines()
    signs = {b"\\": b"\\\\", b"(": b"\\(", b")": b"\\)"}
    shown = []
    for line in lines:
        for sign, escaped in signs.items():
            line = line.replace(sign, escaped)
        shown.append(b"(%s) Tj T*" % line)
    return b"BT /F1 10 Tf 12 TL 50 740 Td\n" + b"\n".join(shown) + b"\nET" if shown else b""


def _write_pdf(objects: Sequence[bytes], *, encrypted: bool) -> bytes:
    """Encrypted means that it asks for a password; which one opens it, nobody knows."""
    written = bytearray(b"%PDF-1.7\n")
    places = []
    for number, content in enumerate(objects, 1):
        places.append(len(written))
        written += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    start = len(written)
    written += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    written += b"".join(b"%010d 00000 n \n" % place for place in places)
    lock = b" /ID [<00112233> <00112233>] /Encrypt << /Filter /Standard /V 1 /R 2 /P -4 /O <%s> /U <%s> >>"
    trailer = lock % (b"ab" * 32, b"cd" * 32) if encrypted else b""
    written += b"trailer\n<< /Size %d /Root 1 0 R%s >>\n" % (len(objects) + 1, trailer)
    return bytes(written + b"startxref\n%d\n%%%%EOF\n" % start)


def make_package(parts: Mapping[str, str | bytes]) -> bytes:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in parts.items():
            file.writestr(name, content)
    return archive.getvalue()


def relations(**targets: str) -> str:
    """By id, what kind of part and where: `rId1="slide slides/slide1.xml"`."""
    entries = "".join(
        '<Relationship Id="{}" Type="{}/{}" Target="{}"/>'.format(
            i, RELATIONS, *target.split(" ", 1)
        )
        for i, target in targets.items()
    )
    return f'<Relationships xmlns="{PACKAGE}">{entries}</Relationships>'


def make_docx(body: str, *, extra: Mapping[str, str | bytes] | None = None) -> bytes:
    """`body` is WordprocessingML; see `paragraph`."""
    return make_package(
        {
            "[Content_Types].xml": "<Types/>",
            "_rels/.rels": relations(rId1="officeDocument word/document.xml"),
            "word/document.xml": f'<w:document xmlns:w="{WORD}"><w:body>{body}</w:body></w:document>',
            **(extra or {}),
        }
    )


def paragraph(text: str, *, style: str = "", before: str = "") -> str:
    styled = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    return f"<w:p>{styled}<w:r>{before}<w:t>{escape(text)}</w:t></w:r></w:p>"


PAGE_END = "<w:lastRenderedPageBreak/>"


def make_xlsx(
    sheets: Mapping[str, str], *, strings: Sequence[str] = (), formats: str = ""
) -> bytes:
    """By name, the rows of each sheet in SpreadsheetML. `formats` are what `cellXfs` holds."""
    names = [*sheets]
    listed = "".join(
        f'<sheet name="{escape(name)}" sheetId="{n}" r:id="rId{n}"/>'
        for n, name in enumerate(names, 1)
    )
    targets = {f"rId{n}": f"worksheet worksheets/sheet{n}.xml" for n in range(1, len(names) + 1)}
    shared = "".join(f"<si><t>{escape(text)}</t></si>" for text in strings)
    return make_package(
        {
            "[Content_Types].xml": "<Types/>",
            "_rels/.rels": relations(rId1="officeDocument xl/workbook.xml"),
            "xl/workbook.xml": (
                f'<workbook xmlns="{SHEET}" xmlns:r="{RELATIONS}"><sheets>{listed}</sheets></workbook>'
            ),
            "xl/_rels/workbook.xml.rels": relations(
                **targets, strings="sharedStrings sharedStrings.xml", styles="styles styles.xml"
            ),
            "xl/sharedStrings.xml": f'<sst xmlns="{SHEET}">{shared}</sst>',
            "xl/styles.xml": f'<styleSheet xmlns="{SHEET}"><cellXfs>{formats}</cellXfs></styleSheet>',
            **{
                f"xl/worksheets/sheet{n}.xml": (
                    f'<worksheet xmlns="{SHEET}"><sheetData>{sheets[name]}</sheetData></worksheet>'
                )
                for n, name in enumerate(names, 1)
            },
        }
    )


def row(*cells: str) -> str:
    """Each with its text in the cell itself."""
    inline = "".join(f'<c t="inlineStr"><is><t>{escape(cell)}</t></is></c>' for cell in cells)
    return f"<row>{inline}</row>"


def make_pptx(slides: Sequence[str], *, notes: Mapping[int, str] | None = None) -> bytes:
    """A slide for each text, in this order, which is not the order of their names."""
    count = len(slides)
    listed = "".join(f'<p:sldId id="{255 + n}" r:id="rId{n}"/>' for n in range(1, count + 1))
    parts: dict[str, str | bytes] = {
        "[Content_Types].xml": "<Types/>",
        "_rels/.rels": relations(rId1="officeDocument ppt/presentation.xml"),
        "ppt/presentation.xml": (
            f'<p:presentation xmlns:p="{SLIDES}" xmlns:r="{RELATIONS}">'
            f"<p:sldIdLst>{listed}</p:sldIdLst></p:presentation>"
        ),
        "ppt/_rels/presentation.xml.rels": relations(
            **{f"rId{n}": f"slide slides/slide{count + 1 - n}.xml" for n in range(1, count + 1)}
        ),
    }
    for number, text in enumerate(slides, 1):
        file = count + 1 - number
        parts[f"ppt/slides/slide{file}.xml"] = _drawing(text)
        if notes and number in notes:
            parts[f"ppt/slides/_rels/slide{file}.xml.rels"] = relations(
                rId1=f"notesSlide ../notesSlides/notes{file}.xml"
            )
            parts[f"ppt/notesSlides/notes{file}.xml"] = _drawing(notes[number])
    return make_package(parts)


def _drawing(text: str) -> str:
    shown = "".join(
        f"<a:p><a:r><a:t>{escape(line)}</a:t></a:r></a:p>" for line in text.splitlines()
    )
    return f'<p:sld xmlns:p="{SLIDES}" xmlns:a="{DRAWING}">{shown}</p:sld>'
