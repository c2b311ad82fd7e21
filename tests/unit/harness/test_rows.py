"""Rows that are one test in a worker."""

import pytest

from tests.rows import expand, join_rows, run_rows


def marks_of(*marks: pytest.MarkDecorator) -> list[pytest.Mark]:
    return [decorator.mark for decorator in marks]


def test_every_row_runs_and_those_that_fail_are_named() -> None:
    ran = []

    def is_even(number: int) -> None:
        ran.append(number)
        assert number % 2 == 0

    rows = [{"number": number} for number in (1, 2, 3, 4)]
    with pytest.raises(BaseExceptionGroup, match="2 rows fail") as failed:
        run_rows(is_even, rows)
    assert ran == [1, 2, 3, 4]
    notes = [failure.__notes__ for failure in failed.value.exceptions]
    assert notes == [["Row: number=1"], ["Row: number=3"]]


def test_one_row_that_fails_does_so_with_its_own_error() -> None:
    def fail(reason: str) -> None:
        if reason:
            pytest.fail(reason)

    with pytest.raises(pytest.fail.Exception, match="broken") as failed:
        run_rows(fail, [{"reason": ""}, {"reason": "broken"}])
    assert failed.value.__notes__ == ["Row: reason='broken'"]


def test_a_row_that_is_skipped_hides_none_that_fails() -> None:
    def run(word: str) -> None:
        if word == "skip":
            pytest.skip(word)
        assert word == "pass"

    with pytest.raises(AssertionError):
        run_rows(run, [{"word": "fail"}, {"word": "skip"}])
    with pytest.raises(AssertionError):
        run_rows(run, [{"word": "skip"}, {"word": "fail"}])
    run_rows(run, [{"word": "skip"}, {"word": "pass"}])
    with pytest.raises(pytest.skip.Exception):
        run_rows(run, [{"word": "skip"}, {"word": "skip"}])


def test_rows_are_what_pytest_would_make_of_them() -> None:
    one = pytest.mark.parametrize("text", ["a", pytest.param("b", id="bee")])
    two = pytest.mark.parametrize(("number", "pair"), [(1, (2, 3))], ids=["x"])
    assert expand(marks_of(one, two)) == [
        {"text": "a", "number": 1, "pair": (2, 3)},
        {"text": "b", "number": 1, "pair": (2, 3)},
    ]


@pytest.mark.parametrize(
    "mark",
    [
        pytest.mark.parametrize("a", [pytest.param(1, marks=pytest.mark.slow)]),
        pytest.mark.parametrize("a", [1], indirect=True),
        pytest.mark.parametrize("a", (number for number in [1])),
    ],
)
def test_rows_with_marks_or_fixtures_or_of_an_iterator_are_left_to_pytest(
    mark: pytest.MarkDecorator,
) -> None:
    assert expand([mark.mark]) is None


@pytest.mark.parametrize("number", [1, 2])
def needs_nothing(number: int) -> None:
    assert number


@pytest.mark.parametrize("number", [1, 2])
def needs_a_folder(number: int, tmp_path: object) -> None:
    assert number


def needs_no_row() -> None:
    pass


def test_only_tests_without_fixtures_are_joined(request: pytest.FixtureRequest) -> None:
    module = request.node.parent
    joined = join_rows(module, "needs_nothing", needs_nothing)
    assert joined is not None
    assert joined.name == "needs_nothing"
    joined.runtest()
    assert join_rows(module, "needs_a_folder", needs_a_folder) is None
    assert join_rows(module, "needs_no_row", needs_no_row) is None
