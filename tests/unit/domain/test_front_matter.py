"""Front matter is data: text as it is written, or nothing at all."""

import time

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from idea_explorer.domain.front_matter import (
    MAX_DEPTH,
    MAX_FRONT_MATTER,
    MAX_NODES,
    FrontMatterError,
    format_front_matter,
    parse_front_matter,
    split_front_matter,
)
from idea_explorer.domain.markdown import find_headings
from idea_explorer.domain.parsed_documents import parse_document
from tests.fakes.bad_documents import BAD_DOCUMENTS


@pytest.fixture(params=["libyaml", "Python"])
def parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both parsers that PyYAML has: platforms without a wheel have only the second."""
    if request.param == "Python":
        monkeypatch.delattr(yaml, "CSafeLoader")


@pytest.mark.usefixtures("parser")
@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("yes", "yes"),
        ("2026-11-17", "2026-11-17"),
        ("1_000", "1_000"),
        ("0x1F", "0x1F"),
        ("1e999", "1e999"),
        ("12:30:45", "12:30:45"),
        ("'no'", "no"),
        ('"a\\nb"', "a\nb"),
        ("|\n  two\n  lines", "two\nlines\n"),
        ("null and void", "null and void"),
        ("'null'", "null"),
    ],
)
def test_a_value_is_the_text_that_stands_there(written: str, value: str) -> None:
    assert parse_front_matter(f"idea: {written}\n") == {"idea": value}


@pytest.mark.usefixtures("parser")
@pytest.mark.parametrize("nothing", ["", "~", "null", "[a, b]", "{a: b}", "\n  - a\n  - b: c"])
def test_what_is_no_text_is_left_out_and_the_rest_is_read(nothing: str) -> None:
    assert parse_front_matter(f"a: x\nidea: {nothing}\nb: y\n") == {"a": "x", "b": "y"}


@pytest.mark.usefixtures("parser")
@pytest.mark.parametrize("name", BAD_DOCUMENTS)
def test_a_document_whose_front_matter_cannot_be_used_is_all_body_and_says_why(name: str) -> None:
    text = BAD_DOCUMENTS[name]
    began = time.process_time()
    parsed = parse_document(text)

    assert (parsed.matter, parsed.body) == ({}, text)
    assert parsed.problem
    assert time.process_time() - began < 5  # the alias bomb has a billion values


@pytest.mark.parametrize("text", ["", "text", "---", "---\n\ntext", "--- \na: b\n---\n", "----\n"])
def test_a_document_without_front_matter_has_no_problem(text: str) -> None:
    parsed = parse_document(text)
    assert (parsed.matter, parsed.body, parsed.problem) == ({}, text, "")


def test_the_bounds_are_exact() -> None:
    most = "\n".join(f"n{number}: x" for number in range((MAX_NODES - 1) // 2))
    assert len(parse_front_matter(most)) == (MAX_NODES - 1) // 2
    with pytest.raises(FrontMatterError, match="more than"):
        parse_front_matter(f"{most}\na: x")

    assert parse_front_matter(f"a: {'[' * (MAX_DEPTH - 1)}b{']' * (MAX_DEPTH - 1)}\nc: d") == {
        "c": "d"
    }
    with pytest.raises(FrontMatterError, match="deeper"):
        parse_front_matter(f"a: {'[' * MAX_DEPTH}b{']' * MAX_DEPTH}\nc: d")

    longest = f"---\nidea: {'x' * (MAX_FRONT_MATTER - 14)}"
    assert parse_document(f"{longest}\n---\n").matter
    assert not parse_document(f"{longest}x\n---\n").matter


@settings(deadline=None)
@given(st.text(max_size=300))
def test_any_text_is_parsed(text: str) -> None:
    for document in (text, f"---\n{text}\n---\n", f"---\nidea: {text}\n---\n"):
        parsed = parse_document(document)
        assert all(value.encode() for value in parsed.matter.values() if value)


@pytest.mark.parametrize("closing", ["---", "--- \t", "-----", "--", "--- x"])
@pytest.mark.parametrize("rest", ["\n\n# Title\n", ""])
def test_the_front_matter_of_a_document_has_no_headings_whatever_ends_it(
    closing: str, rest: str
) -> None:
    text = f"---\nidea: bees\n\n# a comment\n\n{closing}{rest}"
    matter, _ = split_front_matter(text)

    inside = [heading for heading in find_headings(text) if heading.title == "a comment"]
    assert bool(inside) == (matter is None)
    assert ("Title" in [heading.title for heading in find_headings(text)]) == bool(rest)


def _parse(block: str) -> dict[str, str] | str:
    try:
        return parse_front_matter(block)
    except FrontMatterError as error:
        return str(error)


@settings(max_examples=500, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.text("aZ9_é", min_size=1, max_size=2),
            st.text("aZ0_é漢 ,./()-:#'", max_size=6)
            | st.sampled_from(["null", "~", "''", "'a: b'"]),
        ),
        min_size=1,
        max_size=3,
    )
)
def test_simple_lines_say_what_yaml_reads(pairs: list[tuple[str, str]]) -> None:
    block = "".join(f"{name}: {value}\n" for name, value in pairs)
    # a comment is not simple, so YAML's parser reads the same lines
    assert _parse(block) == _parse(f"# comment\n{block}")


@settings(max_examples=500, deadline=None)
@given(
    st.text("aZ0_é漢 ,./()-:#'1eE+", max_size=8)
    | st.sampled_from(["null", "Yes", "on", "2026-11-18", "12 parts", "1_000", "0x1f", "a" * 99])
    | st.uuids().map(str)
    | st.text("ab ", min_size=60, max_size=120)
    | st.floats()
    | st.none()
)
def test_a_value_is_written_as_yaml_writes_it(value: str | float | None) -> None:
    dumped = yaml.safe_dump({"name": value}, allow_unicode=True, width=100)
    assert format_front_matter({"name": value}) == dumped
