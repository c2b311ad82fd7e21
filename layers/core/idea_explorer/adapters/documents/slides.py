"""PPTX: the text of each slide in the order of the presentation, with the speaker's notes."""

from collections.abc import Mapping
from typing import IO

from idea_explorer.adapters.documents.output import Output
from idea_explorer.adapters.documents.package import OfficePackage

MAIN = "ppt/presentation.xml"


def read(stream: IO[bytes], output: Output) -> str:
    package = OfficePackage(stream, output)
    main = package.main_part(MAIN)
    order: list[str] = []

    def start(name: str, values: Mapping[str, str]) -> None:
        if name == "sldId":
            order.append(values.get("r:id", ""))

    package.read(main, start)
    targets = package.targets(main)
    slides = [targets[found][1] for found in order if found in targets]
    for number, slide in enumerate(slides, 1):
        output.check_time(f"its first {number - 1:,} of {len(slides):,} slides")
        output.add(f"slide {number}", _read_slide(package, slide, output.left))
    return ""


def _read_slide(package: OfficePackage, slide: str, most: int) -> str:
    text = _read_text(package, slide, most)
    related = package.targets(slide).values()
    notes = [target for kind, target in related if kind == "notesSlide" and package.has(target)]
    said = "".join(_read_text(package, target, most) for target in notes[:1]).strip()
    return f"{text}\nNotes: {said}\n" if said else text


def _read_text(package: OfficePackage, part: str, most: int) -> str:
    """At most a little more than fits: the rest would be dropped."""
    pieces: list[str] = []
    length = 0
    is_text = False

    def start(name: str, _: Mapping[str, str]) -> None:
        nonlocal is_text
        is_text = name == "t"
        if name == "br":
            pieces.append("\n")

    def end(name: str) -> None:
        nonlocal is_text
        is_text = False
        if name == "p":
            pieces.append("\n")

    def add(text: str) -> None:
        nonlocal length
        if is_text and length <= most:
            pieces.append(text)
            length += len(text)

    package.read(part, start, end, add)
    return "".join(pieces)
