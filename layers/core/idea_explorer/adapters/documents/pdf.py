"""PDF, by PDFium: the parser of Chrome, which is tested against hostile files all the time."""

from typing import IO

import pypdfium2

from idea_explorer.adapters.documents.output import DamagedError, FullError, Output

MAX_PAGES = 3_000
MANY_EMPTY = 0.1  # more than the pages that books leave empty


def read(stream: IO[bytes], output: Output) -> str:
    try:
        document = pypdfium2.PdfDocument(stream.read())
    except pypdfium2.PdfiumError as error:
        if "password" in str(error).lower():
            raise DamagedError("is encrypted; save it without a password") from error
        raise DamagedError("cannot be read: it is damaged or no PDF") from error
    total = len(document)
    empty = 0
    for index in range(min(total, MAX_PAGES)):
        output.check_time(f"its first {index:,} of {total:,} pages")
        text = _read_page(document, index)
        empty += not text.strip()
        output.add(f"page {index + 1}", text)
    if total > MAX_PAGES:
        raise FullError(f"only its first {MAX_PAGES:,} of {total:,} pages are read")
    if empty > MANY_EMPTY * total:
        return f"{empty:,} of its {total:,} pages hold no text, as scanned pages do"
    return ""


def _read_page(document: pypdfium2.PdfDocument, index: int) -> str:
    """A page that is damaged is empty; the others are read all the same."""
    try:
        page = document[index]
        text = page.get_textpage()
    except pypdfium2.PdfiumError:
        return ""
    try:
        found: str = text.get_text_range()
    finally:
        text.close()
        page.close()
    return found.replace("\r\n", "\n").replace("\ufffe\n", "").replace("\x02", "")
