"""Check what a report states against the passages that it cites.

By rule: numbers, dates, names and quotations that stand in none of the passages. A rule cannot say whether
the rest of a sentence follows from them; that is for a model to judge.
"""

from idea_explorer.domain.verification.evidence import Evidence
from idea_explorer.domain.verification.rules import Unsupported, find_unsupported

__all__ = ["Evidence", "Unsupported", "find_unsupported"]
