"""Commit subjects and the texts of pull requests, from what models and people wrote.

GitHub acts on such texts: it notifies whom they mention, closes issues, skips checks, credits authors,
loads images and hides comments. Each of these needs an exact spelling, so a gap in it leaves the text
readable and without effect: a space or a dot in a subject, a zero-width space in markdown. Code
formatting would prevent a mention too (https://github.com/github/cmark-gfm/issues/389 lists both), but the
backticks around it could undo it.
"""

import re

from idea_explorer.domain.patterns import lazy_pattern
from idea_explorer.domain.text import make_printable, one_line

_GAP = "\u200b"

# In each expression, the gap goes behind what it matches.
_MENTION = lazy_pattern(
    r"""
    (?<![^\s*_~(<])(?P<link>https?://(?:[A-Za-z0-9-]{1,63}\.){1,9}[A-Za-z0-9-]{1,63}(?::\d{1,5})?
        (?:/[A-Za-z0-9_.~%&=+?/@\#:-]{0,2000})?)            # a link is shown as one, whatever it holds
    | (?<![A-Za-z0-9])@(?=[A-Za-z0-9])                      # a person or a team
    | (?<![A-Za-z0-9&])\#(?=\d)                             # an issue
    | (?<![A-Za-z0-9_./-])[A-Za-z0-9_.-]{1,39}/[A-Za-z0-9_.-]{1,100}\#(?=\d)  # of another repository
    | \bGH-(?=\d)
    """,
    re.VERBOSE | re.IGNORECASE,
)
# A pull request's text may become a commit message, in which code has effects as well. The words are those
# of GitHub's pages "Linking a pull request to an issue" and "Skipping workflow runs".
_DIRECTIVE = lazy_pattern(
    r"""
    \b(?:close[sd]?|fix|fixe[sd]|resolve[sd]?)[\s:]{1,40}
        (?=\#\d|GH-\d|https?://|[A-Za-z0-9_.-]{1,39}/[A-Za-z0-9_.-]{1,100}\#)
    | \[(?=\s{0,9}(?:skip|no|ci|actions)[\s-]{1,9}(?:ci|actions|skip)\s{0,9}\])
    | \bskip-checks(?=\s{0,9}:)
    | \bThis\ reverts\ commit\ (?=[0-9a-f]{7,64}\b)
    """,
    re.VERBOSE | re.IGNORECASE,
)
_TRAILER = lazy_pattern(
    r"^[ \t]{0,40}[A-Za-z0-9]{1,40}(?:-[A-Za-z0-9]{1,40}){1,8}(?=[ \t]{0,40}:)", re.MULTILINE
)
_MARKUP = lazy_pattern(
    r"""
    ^[ ]{0,3}\[[^\^\[\]][^\[\]]{0,300}\](?=:)               # a definition, which is not shown
    | <(?!https?://[^\s<>`]{1,2000}>)(?=[A-Za-z/!?])        # a tag or a comment
    | !(?=\[)                                               # an image
    | &(?=(?:\#0{0,9}(?:64|35)|\#x0{0,9}(?:40|23)|commat|num);)  # another spelling of @ and \#
    """,
    re.VERBOSE | re.IGNORECASE,
)
_FENCE = lazy_pattern(r"(?P<indent> {0,3})(?P<marks>`{3,}(?=[^`]*$)|~{3,})")
_CLOSING_FENCE = lazy_pattern(r" {0,3}(`{3,}|~{3,})[ \t\r]*")


def clean_subject(text: str, limit: int) -> str:
    """One line for the subject of a commit or the title of a pull request; never empty."""
    # git takes a line that begins with three hyphens for the end of the message
    line = make_printable(one_line(text, limit)).lstrip("- ")
    for effects, gap in ((_MENTION, " "), (_DIRECTIVE, "· "), (_TRAILER, " ")):
        line = _detach(effects, line, gap)
    return one_line(line, limit) or "Update"


def clean_body(markdown: str) -> str:
    """The text of a pull request: the same words, with no effect beyond the page that shows them.

    Code is left as it is only where it is certain to be code. A fence at the start of a line is in no list or
    quotation, which could end before it does. After an indented one, which may be in a list, it is not known
    which of the next fences open and which close.
    """
    lines: list[str] = []
    fence = ""
    is_certain = True
    for line in make_printable(markdown).split("\n"):
        if fence:
            closing = _CLOSING_FENCE.fullmatch(line)
            fence = "" if closing and closing[1].startswith(fence) else fence
            lines.append(line)
            continue
        opening = _FENCE.match(line)
        is_certain = is_certain and not (opening and opening["indent"])
        if opening and is_certain:
            fence = opening["marks"]
            lines.append(line)
        else:
            lines.append(_detach(_MENTION, _detach(_MARKUP, line, _GAP), _GAP))
    return _detach(_TRAILER, _detach(_DIRECTIVE, "\n".join(lines), _GAP), _GAP)


def _detach(effects: re.Pattern[str], text: str, gap: str) -> str:
    def separate(found: re.Match[str]) -> str:
        return found[0] if found.groupdict().get("link") else found[0] + gap

    return effects.sub(separate, text)
