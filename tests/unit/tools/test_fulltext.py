import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from idea_explorer.adapters.documents.process import ChildProcessReader
from idea_explorer.domain.errors import UnreadableFileError
from idea_explorer.ports import UploadedFile
from idea_explorer.tools.fulltext import (
    MAX_FILE_CHARS,
    PASSAGE_CHARS,
    FullText,
    UploadIndex,
    cut_passage,
    extract_text,
    split_passages,
)

READER = ChildProcessReader()


def words(count: int, seed: int = 0) -> str:
    chosen = random.Random(seed)
    return " ".join(chosen.choice(["alpha", "beta", "gamma", "delta"]) for _ in range(count))


@pytest.mark.parametrize(
    ("name", "content", "text"),
    [
        ("a.txt", "grün".encode(), "grün"),
        ("a.txt", "grün".encode("latin-1"), "grün"),
        ("a.txt", "grün".encode("utf-16"), "grün"),
        ("A.MD", b"# Title", "# Title"),
        ("a.csv", b"a;b\r\n1;2", "a;b\r\n1;2"),
        ("a.json", b'{"a": 1}', '{"a": 1}'),
        ("a.html", b"<title>x</title><script>no</script><p>yes", "yes"),
        ("main.py", b"print(1)", "print(1)"),
        ("LICENSE", b"MIT", "MIT"),
        ("a.txt", b"", ""),
        ("a.docx", b"PK\x03\x04\x00\x00", None),
        ("a.png", b"\x89PNG\r\n", None),
        ("a.bin", b"\xff\xfa\xfb", None),
        ("a.txt", b"text\x00with a zero", None),
        ("a.c", "/* grün */".encode("latin-1"), "/* grün */"),
        ("a.txt", "grün".encode("utf-32"), "grün"),
    ],
)
def test_the_content_decides_what_is_text(name: str, content: bytes, text: str | None) -> None:
    file = UploadedFile(name, content)
    if text is None:
        with pytest.raises(UnreadableFileError):
            extract_text(file, READER)
    else:
        assert [part.text for part in extract_text(file, READER).parts] == [text]


@settings(deadline=None)
@given(st.text(alphabet=st.sampled_from("ab \n"), max_size=5_000))
def test_passages_hold_the_whole_text_in_pieces_of_bounded_length(text: str) -> None:
    pieces = list(split_passages(text))
    assert all(0 < len(piece) <= PASSAGE_CHARS for piece in pieces)
    assert "".join("".join(pieces).split()) == "".join(text.split())


def test_passages_end_between_paragraphs_else_words() -> None:
    paragraph = words(60).strip()
    pieces = list(split_passages("\n\n".join([paragraph] * 6)))
    assert all(piece.startswith(paragraph[:20]) for piece in pieces)
    assert all(piece.split()[-1] in {"alpha", "beta", "gamma", "delta"} for piece in
               split_passages(words(1_000)))  # fmt: skip


def test_every_excerpt_holds_the_match() -> None:
    text = f"{words(2_000)} needle {words(2_000, 1)}"
    index = UploadIndex(
        READER, [UploadedFile("hay.txt", text.encode()), UploadedFile("b.txt", b"nothing")]
    )
    found, total = index.search("needle", 5)
    assert total == 1
    assert found[0].name == "hay.txt"
    assert "needle" in found[0].excerpt
    assert len(found[0].excerpt) <= PASSAGE_CHARS


def test_a_file_is_not_found_by_its_name_alone() -> None:
    index = UploadIndex(READER, [UploadedFile("needle passage0.txt", b"some hay")])
    assert index.search("needle", 5) == ([], 0)


def test_the_best_passage_comes_first_and_all_are_counted() -> None:
    files = [
        UploadedFile("one.md", b"The API has one endpoint. " + words(300).encode()),
        UploadedFile("two.md", b"API endpoints: GET /users, POST /users are the API endpoints."),
        UploadedFile("three.md", b"Nothing of that kind."),
    ]
    found, total = UploadIndex(READER, files).search("api endpoints", 1)
    assert [finding.name for finding in found] == ["two.md"]
    assert total == 2


def test_what_is_not_searched_is_told() -> None:
    long = ("word " * (MAX_FILE_CHARS // 5)).encode() + b"beyond"
    index = UploadIndex(
        READER, [UploadedFile("a.png", b"\x89PNG\r\n"), UploadedFile("long.txt", long)]
    )
    assert index.names == ["long.txt"]
    assert set(index.remarks) == {"a.png", "long.txt"}
    assert index.search("beyond", 5)[1] == 0


def test_an_excerpt_is_from_the_passage_that_says_most() -> None:
    text = f"Tea here. {words(3_000)} black tea and milk {words(3_000, 1)}"
    index = FullText([("a.md", "Drinks", text), ("b.md", "Tea", "Nothing else.")])
    hits, total = index.search("black tea milk", 5)

    assert total == 2
    excerpts = {hit.name: hit.excerpt for hit in hits}
    assert "black tea and milk" in excerpts["a.md"]
    assert excerpts["b.md"] == "Nothing else."  # only its title matches


def test_a_page_that_is_mostly_markup_is_cut_and_that_is_told() -> None:
    page = b"<!--" + b" " * MAX_FILE_CHARS + b"--><p>beyond"
    index = UploadIndex(READER, [UploadedFile("a.html", page)])
    assert set(index.remarks) == {"a.html"}
    assert index.search("beyond", 5)[1] == 0


def test_a_name_that_is_not_unicode_can_be_searched() -> None:
    index = FullText([("caf\udce9.md", "half \ud800", "tea")])
    assert index.search("tea", 5)[1] == 1


def test_an_excerpt_is_of_its_own_text_whatever_was_cut_before() -> None:
    first, second = "Bees are on roofs.", "Tea is in rooms."
    alone = cut_passage(first, "bees tea")

    assert cut_passage(second, "bees tea") == second
    assert cut_passage(first, "tea") == cut_passage(first, "") == first
    assert cut_passage(first, "bees tea") == alone == first
