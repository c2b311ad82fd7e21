"""Check what a report states against the passages that it cites.

By rule: numbers, dates, names and quotations that stand in none of the passages. A rule cannot say whether
the rest of a sentence follows from them; that is for a model to judge. The rules are loaded with the first
sentence that they check: a report that cites nothing does without them.
"""
