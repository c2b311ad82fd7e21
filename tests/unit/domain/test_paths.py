import pytest

from idea_explorer.domain.errors import ToolError
from idea_explorer.domain.paths import check_research_path


@pytest.mark.parametrize("path", ["market/2024-06.md", "competitor-analysis.md", "a", "a" * 200])
def test_a_good_path_is_taken_as_it_is(path: str) -> None:
    assert check_research_path(path) == path


def test_a_path_is_trimmed_as_javascript_does() -> None:
    assert check_research_path("\ufeff\u2028 market.md\u3000") == "market.md"


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("", "empty"),
        (" \ufeff", "empty"),
        ("\x1cmarket.md", "control characters"),
        ("market\x00.md", "control characters"),
        ("%2e%2e/secrets", "'%'"),
        ("/etc/passwd", "absolute"),
        ("../secrets", "'..'"),
        ("market/..", "'..'"),
        ("foo\\bar.md", "backslash"),
        ("ideas/market.md", "'ideas/'"),
        ("market/", "ends with '/'"),
        ("market//file.md", "'//'"),
        ("a" * 201, "200 characters"),
        ("-rf", "letters, digits"),
        ("café.md", "letters, digits"),
        (".hidden", "letters, digits"),
        ("market.md\n", None),
    ],
)
def test_a_bad_path_names_the_rule_it_breaks(path: str, reason: str | None) -> None:
    if reason is None:
        assert check_research_path(path) == path.strip()
        return
    with pytest.raises(ToolError, match=reason) as caught:
        check_research_path(path)
    assert caught.value.error_type == "path_validation"


def test_the_first_broken_rule_decides() -> None:
    with pytest.raises(ToolError, match="'%'"):
        check_research_path("/%2e%2e/../x\\")
