"""The parsers, without the process that they run in."""

import io
import json
import zipfile
from collections.abc import Callable
from typing import IO

import pytest

from idea_explorer.adapters.documents import package, pdf, sheets, slides, word
from idea_explorer.adapters.documents.cell_formats import read_format
from idea_explorer.adapters.documents.output import DamagedError, FullError, Output
from tests.fakes.documents import (
    PAGE_END,
    WORD,
    make_docx,
    make_package,
    make_pdf,
    make_pptx,
    make_xlsx,
    paragraph,
    relations,
    row,
)

Reader = Callable[[IO[bytes], Output], str]


def parts_of(read: Reader, content: bytes, *, seconds: float = 5) -> list[tuple[str, str]]:
    written = io.BytesIO()
    read(io.BytesIO(content), Output(written, 100_000, seconds))
    return parts_in(written)


def parts_in(written: io.BytesIO) -> list[tuple[str, str]]:
    lines = [json.loads(line) for line in written.getvalue().splitlines()]
    return [(line["label"], line["text"]) for line in lines]


def test_each_page_of_a_pdf_is_a_part() -> None:
    content = make_pdf(["Honey costs 12 euros.\nA jar holds 500 g.", "Wax (pure) is rare."])
    assert parts_of(pdf.read, content) == [
        ("page 1", "Honey costs 12 euros.\nA jar holds 500 g."),
        ("page 2", "Wax (pure) is rare."),
    ]


def test_pages_that_hold_no_text_are_counted() -> None:
    content = make_pdf(["Bees", "", ""])
    remark = pdf.read(io.BytesIO(content), Output(io.BytesIO(), 1_000, 5))
    assert remark == "2 of its 3 pages hold no text, as scanned pages do"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (make_pdf(["Bees"], encrypted=True), "is encrypted"),
        (b"%PDF-1.7\nnothing of the kind", "damaged or no PDF"),
    ],
)
def test_a_pdf_that_cannot_be_opened_is_refused(content: bytes, reason: str) -> None:
    with pytest.raises(DamagedError, match=reason):
        parts_of(pdf.read, content)


def test_word_text_has_its_headings_tables_and_pages() -> None:
    table = (
        f"<w:tbl><w:tr><w:tc>{paragraph('Jar')}</w:tc><w:tc>{paragraph('12')}</w:tc></w:tr>"
        f"<w:tr><w:tc>{paragraph('Bucket')}</w:tc><w:tc>{paragraph('90')}</w:tc></w:tr></w:tbl>"
    )
    body = paragraph("Prices", style="Heading2") + table + paragraph("Wax", before=PAGE_END)
    first, second = parts_of(word.read, make_docx(body))

    assert first == ("page 1", "## Prices\n\nJar | 12\nBucket | 90")
    assert second == ("page 2", "Wax")


def test_a_word_file_without_stored_pages_has_none() -> None:
    body = paragraph("One") + '<w:p><w:r><w:br w:type="page"/></w:r></w:p>' + paragraph("Two")
    assert [label for label, _ in parts_of(word.read, make_docx(body))] == [""]


def test_what_word_does_not_show_is_left_out_and_notes_are_read() -> None:
    body = (
        "<w:p><w:del><w:r><w:t>old price</w:t></w:r></w:del><w:r><w:t>new price</w:t></w:r>"
        "<w:r><w:instrText>PAGEREF</w:instrText></w:r></w:p>"
    )
    notes = f'<w:footnotes xmlns:w="{WORD}">{paragraph("As of May.")}</w:footnotes>'
    extra = {
        "word/_rels/document.xml.rels": relations(rId1="footnotes footnotes.xml"),
        "word/footnotes.xml": notes,
    }
    assert parts_of(word.read, make_docx(body, extra=extra)) == [
        ("", "new price"),
        ("footnotes", "As of May."),
    ]


def test_sheets_show_values_as_people_see_them() -> None:
    cells = (
        '<row><c t="s"><v>0</v></c><c t="s"><v>1</v></c></row>'
        '<row><c s="1"><v>45322</v></c><c s="2"><v>45322.75</v></c><c><v>12.5</v></c></row>'
        '<row><c t="b"><v>1</v></c><c t="str"><f>A1</f><v>sum</v></c><c t="s"><v>99</v></c></row>'
    )
    formats = '<xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="22"/>'
    content = make_xlsx(
        {"Costs": cells, "Plan 2": row("Bees", "on roofs")},
        strings=["Jar", "Price"],
        formats=formats,
    )
    assert parts_of(sheets.read, content) == [
        ("sheet Costs", "Jar | Price\n2024-01-31 | 2024-01-31 18:00 | 12.5\nTRUE | sum"),
        ("sheet Plan 2", "Bees | on roofs"),
    ]


@pytest.mark.parametrize(
    ("code", "value", "shown"),
    [
        ("yyyy-mm-dd", "45322", "2024-01-31"),
        ("[$-407]d. mmmm yyyy", "45322", "2024-01-31"),
        ("mmm", "45322", "2024-01-31"),
        ("dd.mm.yy hh:mm", "45322.75", "2024-01-31 18:00"),
        ('0.00" days"', "1.5", "1.5"),
        ("0\\h", "1.5", "1.5"),
        ("General", "1.5", "1.5"),
        ("[Red]#,##0", "1.5", "1.5"),
        ("h:mm", "0.75", "18:00"),
        ("h:mm AM/PM", "1.75", "18:00"),
        ("h:mm:ss", "0.7500115741", "18:00:01"),
        ("mm:ss", "0.0034027778", "04:54"),
        ("[h]:mm", "1.5", "36:00"),
        ("[hh]:mm:ss", "1.5", "36:00:00"),
        ("[h]:mm", "-0.0625", "-1:30"),
        ("[m]", "0.0625", "90"),
        ("[mm]:ss", "0.0625", "90:00"),
        ("[s]", "0.0625", "5400"),
        ("[$-409][h]:mm", "1.5", "36:00"),
        ("0%", "0.125", "13%"),
        ("0.00%;[Red]-0.00%", "-0.5", "-50.00%"),
        ('0" %"', "12", "12"),
        ("0%", "1e300", "1e300"),
        ("0%", "nan", "nan"),
        ("[h]:mm", "1e300", "1e300"),
        ("0%", "n/a", "n/a"),
        ("0." + "0" * 200 + "%", "0.5", f"50.{'0' * 10}%"),
    ],
)
def test_numbers_are_shown_as_their_format_says(code: str, value: str, shown: str) -> None:
    found = read_format(code)
    assert (found.show(value, uses_1904=False) if found else value) == shown


def cell(reference: str, value: str = "") -> str:
    return f'<c r="{reference}" t="str">{f"<v>{value}</v>" if value else ""}</c>'


def test_a_value_stays_below_its_header() -> None:
    rows = [
        [cell("A1", "Jar"), cell("B1", "Price"), cell("C1", "Stock"), cell("D1", "Note")],
        [cell("A2", "500 g"), cell("C2", "7")],
        [cell("A3", "1 kg"), cell("B3"), cell("C3", "9"), cell("D3")],
        [cell("B4", "12"), "<c><v>3</v></c>"],
        [cell("A5"), cell("B5")],
    ]
    content = make_xlsx({"Stock": "".join(f"<row>{''.join(cells)}</row>" for cells in rows)})
    assert parts_of(sheets.read, content) == [
        ("sheet Stock", "Jar | Price | Stock | Note\n500 g |  | 7\n1 kg |  | 9\n| 12 | 3")
    ]


def test_a_value_far_to_the_right_has_the_name_of_its_column() -> None:
    cells = cell("A1", "Jar") + cell("XFD1", "far") + cell("é1", "odd") + cell("B1", "back")
    content = make_xlsx({"A": f"<row>{cells}</row><row>{cell('V2', 'x')}</row>"})
    assert parts_of(sheets.read, content) == [("sheet A", "Jar | XFD: far | odd | back\nV: x")]


def test_a_formula_that_nobody_computed_is_shown_itself() -> None:
    cells = "<c><f>SUM(B1:C1)</f></c><c><f>1+1</f><v>2</v></c><c><f t='shared' si='0'/></c>"
    content = make_xlsx({"Sums": f"<row>{cells}</row>"})

    remark = sheets.read(io.BytesIO(content), Output(io.BytesIO(), 100_000, 5))

    assert remark == "2 cells hold a formula without a stored value; the formula is shown instead"
    assert parts_of(sheets.read, content) == [("sheet Sums", "=SUM(B1:C1) | 2 | (formula)")]


def test_built_in_formats_of_durations_and_percentages_are_known() -> None:
    cells = '<row><c s="0"><v>1.5</v></c><c s="1"><v>0.19</v></c><c s="2"><v>0.19</v></c></row>'
    formats = "".join(f'<xf numFmtId="{number}"/>' for number in (46, 9, 10))
    content = make_xlsx({"Work": cells}, formats=formats)
    assert parts_of(sheets.read, content) == [("sheet Work", "36:00:00 | 19% | 19.00%")]


def test_slides_come_in_the_order_of_the_presentation_with_their_notes() -> None:
    content = make_pptx(["Why bees\nnow", "Prices"], notes={2: "Say it slowly."})
    assert parts_of(slides.read, content) == [
        ("slide 1", "Why bees\nnow"),
        ("slide 2", "Prices\n\nNotes: Say it slowly."),
    ]


def test_more_text_than_may_be_is_cut_and_said_to_be() -> None:
    content = make_docx(paragraph("a" * 60) + paragraph("b" * 60))
    written = io.BytesIO()
    with pytest.raises(FullError, match="its first 100 characters"):
        word.read(io.BytesIO(content), Output(written, 100, 5))
    assert parts_in(written) == [("", f"{'a' * 60}\n\n{'b' * 38}")]


def test_no_page_is_begun_when_the_time_is_over() -> None:
    with pytest.raises(FullError, match=r"only its first 0 of 2 pages could be read"):
        parts_of(pdf.read, make_pdf(["a", "b"]), seconds=-1)


def bomb() -> bytes:
    """An archive of a few KB that unpacks to more than any document has."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("_rels/.rels", relations(rId1="officeDocument word/document.xml"))
        with file.open("word/document.xml", "w") as part:
            part.write(f'<w:document xmlns:w="{WORD}">'.encode())
            for _ in range(40):
                part.write(b" " * 1_048_576)
            part.write(b"</w:document>")
    return archive.getvalue()


def test_a_zip_bomb_is_refused_before_it_is_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(package, "MAX_EXPANDED_BYTES", 20 * 1_048_576)
    content = bomb()
    assert len(content) < 100_000
    with pytest.raises(DamagedError, match="unpacks to more than"):
        parts_of(word.read, content)


# in the header before the file, not in the list at the end
BAD_NAME = make_package(
    {"_rels/.rels": relations(rId1="officeDocument word/ü.xml"), "word/ü.xml": "<a/>"}
).replace("word/ü".encode(), b"word/\x8d\x8d", 1)
LAUGHS = (
    '<!DOCTYPE lol [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]>'
    f'<w:document xmlns:w="{WORD}"><w:t>&b;</w:t></w:document>'
)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (make_docx("")[:-40], "damaged or cut off"),
        (b"PK\x03\x04 and nothing else", "damaged or cut off"),
        (make_docx("<w:p>"), "damaged"),
        (make_docx("", extra={"word/document.xml": LAUGHS}), "declares a document type"),
        (make_docx("<w:p>" * 300 + "</w:p>" * 300), "nested too deep"),
        (make_package({"word/styles.xml": "<a/>"}), "has no word/document.xml"),
        (BAD_NAME, "it is damaged"),
    ],
)
def test_a_broken_word_file_is_refused(content: bytes, reason: str) -> None:
    with pytest.raises(DamagedError, match=reason):
        parts_of(word.read, content)


def test_a_relationship_never_leads_out_of_the_package() -> None:
    assert package._resolve("word", "../../../../etc/passwd") == "etc/passwd"
    assert package._resolve("ppt/slides", "/ppt/media/a.png") == "ppt/media/a.png"


def test_no_character_takes_more_bytes_than_the_process_may_write() -> None:
    written = io.BytesIO()
    output = Output(written, 1_000, 5)
    word.read(io.BytesIO(make_docx(paragraph("\N{CLAPPING HANDS SIGN}" * 800))), output)

    assert len(written.getvalue()) <= 8 * 800
