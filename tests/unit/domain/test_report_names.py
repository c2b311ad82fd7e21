"""What an exploration is called."""

import pytest

from idea_explorer.domain.report_text import name_report


@pytest.mark.parametrize(
    ("report", "name"),
    [
        ("# Bees on roofs\n\nText.", "Bees on roofs"),
        ("Text without a heading.", "Urban bees"),
        ("# Findings\n\n## What does it cost?\n\n- 40 a month.", "Urban bees"),
        ("# Findings of the survey\n\nText.", "Findings of the survey"),
    ],
)
def test_what_branches_found_is_named_by_the_idea(report: str, name: str) -> None:
    assert name_report(report, "Urban bees") == name
