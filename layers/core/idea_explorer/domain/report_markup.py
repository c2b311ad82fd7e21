"""Remove from a report whatever a reader's program would load or follow by itself.

A report is shown on GitHub, in chats and in the console. An image is fetched as soon as somebody looks, and
its address may spell what the model has read. So images become links, HTML keeps only tags without
attributes, destinations are web addresses or paths, and parameters that track readers are dropped.

Code is shown as it is, but other programs may see code elsewhere: in what we take for code, images and tags
that load something get a space that separates their signs. Every expression reads a text once, whatever is
in it.
"""

import re
from collections.abc import Callable, Iterator

from idea_explorer.domain.links import BREAK
from idea_explorer.domain.markdown import Span, find_prose
from idea_explorer.domain.patterns import lazy_pattern
from idea_explorer.domain.sources import escape_target, is_web_address, strip_tracking
from idea_explorer.domain.text import unescape_html, unescape_markdown

_MARKED = lazy_pattern(r"[<\]]|https?:", re.IGNORECASE)
_TICKS = lazy_pattern(r"`+")
# `![`, unless the exclamation mark is escaped
_IMAGE = lazy_pattern(r"(?<!\\)((?:\\\\)*+)!++\[")
# In Rust, `vec![` and `#![` are no images, unless an address follows
_IMAGE_IN_CODE = lazy_pattern(r"!(?=\[)")
_IMAGE_OUTSIDE_RUST = lazy_pattern(r"(?<![\w#])!(?=\[)")
_ADDRESSED = lazy_pattern(r"\][\[(:]")
_TAG = lazy_pattern(
    r"(?<!\\)(?P<escapes>\\*+)<(?:(?=[!?])|(?P<closing>/?)(?P<name>[a-z][^\s/<>]*+)(?P<rest>[^<>]*+)(?P<end>>?))",
    re.IGNORECASE,
)
_ATTRIBUTES = lazy_pattern(
    r"""(?:[\s/]++[a-z_:][\w:.-]*+(?:\s*+=\s*+(?:"[^"]*+"|'[^']*+'|[^\s"'=`]++))?+)*+[\s/]*+""",
    re.IGNORECASE,
)
_HREF = lazy_pattern(r"""[\s/]href\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|([^\s"'>]++))""", re.IGNORECASE)
_ALT = lazy_pattern(r"""\salt\s*+=\s*+(?:"([^"]*+)"|'([^']*+)')""", re.IGNORECASE)
_BARE = lazy_pattern(r"\s*/?")
# attributes that load or lead to something, or run it
_ACTIVE = lazy_pattern(
    r"(?<![\w-])(?:on\w+|(?:[\w:]*(?:src|href)\w*|style|background|poster|data|\w*action|ping|cite)\s*+=)",
    re.IGNORECASE,
)
_ANGLED_TARGET = lazy_pattern(r"(\](?:\([\s>]*+|:[ \t]*+\n?[ \t>]*+))<((?:[^<>\n\\]|\\[^\n])*+)>")
_DESTINATION = lazy_pattern(
    r"(?P<before>\]\([\s>]*+)"
    r"(?P<target><(?:[^<>\n\\]|\\[^\n])*+>|[^\x00-\x20()<>`]*+(?:\([^\x00-\x20()`]*+\)[^\x00-\x20()<>`]*+)*+)"
)
# wherever it stands and whatever its label is: in lists and quotations, over two lines
_DEFINITION = lazy_pattern(
    r"(?P<before>\]:[\s>]*+)(?P<target><(?:[^<>\n\\]|\\[^\n])*+>|[^\x00-\x20<`]++)"
)
_SPECIAL = lazy_pattern(r"[:&\\]|//|www\.", re.IGNORECASE)  # in anything but a plain path
_SPACE = lazy_pattern(r"\s")
# `Makefile:12` is a line of a file; `tel:5550100100` is not.
_SCHEME = lazy_pattern(
    r"[a-z][a-z0-9+.-]*+:(?!\d{1,6}+(?:[-:]\d{1,6}+)?(?:[?#]|\Z))", re.IGNORECASE
)
_QUERY = lazy_pattern(r"https?://[^\s<>\[\]{}|\\^`\"()]++", re.IGNORECASE)

PLAIN = frozenset(
    "a abbr b blockquote br center cite code dd del details div dl dt em h1 h2 h3 h4 h5 h6 hr i ins kbd li"
    " mark ol p pre q s samp small span strong sub summary sup table tbody td th thead tr u ul var".split()
)
LOADING = frozenset(
    "audio base body button embed feimage form frame frameset iframe image img input link math meta object"
    " picture script source style svg template track video".split()
)
RUNNING = frozenset({"script", "style"})  # also without attributes
WORDS = frozenset({"compact", "hidden", "nowrap", "open", "reversed"})  # attributes without a value


def clean_markup(text: str) -> str:
    """The text without images, active HTML and trackers."""
    return rewrite_parts(text, prose=_clean_prose, code=_clean_code)


def rewrite_parts(text: str, *, prose: Callable[[str], str], code: Callable[[str], str]) -> str:
    """The text with its prose and its code, in blocks and within lines, each rewritten."""
    parts: list[str] = []
    position = 0
    for start, end in _find_plain_text(text):
        parts += [code(text[position:start]), prose(text[start:end])]
        position = end
    return "".join([*parts, code(text[position:])])


def _find_plain_text(text: str) -> Iterator[Span]:
    """Prose without the code spans in it."""
    for start, end in find_prose(text):
        position = start
        for code_start, code_end in _find_code_spans(text, start, end):
            yield position, code_start
            position = code_end
        yield position, end


def _find_code_spans(text: str, start: int, end: int) -> Iterator[Span]:
    """Code spans: they end at as many backticks, within the same block."""
    runs = [(run.start(), run.end()) for run in _TICKS.finditer(text, start, end)]
    gaps = [gap.start() for gap in BREAK.finditer(text, start, end)]
    following: list[int | None] = []  # by run, the next one of its length
    latest: dict[int, int] = {}
    for number in range(len(runs) - 1, -1, -1):
        length = runs[number][1] - runs[number][0]
        following.append(latest.get(length))
        latest[length] = number
    following.reverse()
    number = gap = 0
    while number < len(runs):
        begins, closing = runs[number][0], following[number]
        while gap < len(gaps) and gaps[gap] < begins:
            gap += 1
        limit = gaps[gap] if gap < len(gaps) else end
        if closing is not None and runs[closing][0] < limit and text[begins - 1 : begins] != "\\":
            yield begins, runs[closing][1]
            number = closing
        number += 1


def _clean_code(code: str) -> str:
    if "<" in code:
        code = _TAG.sub(_break_tag, code)
    if "![" not in code:
        return code
    image = _IMAGE_IN_CODE if _ADDRESSED.search(code) else _IMAGE_OUTSIDE_RUST
    return image.sub("! ", code)


def _break_tag(found: re.Match[str]) -> str:
    if found["name"] is None:
        return found[0]
    name, rest = found["name"].lower(), found["rest"]
    has_more = not found["end"] or not _BARE.fullmatch(rest)
    # after an open quotation mark the tag may go on behind its `>`
    is_cut = has_more and (rest.count('"') % 2 or rest.count("'") % 2)
    loads = name in RUNNING or (has_more and name in LOADING) or is_cut or _ACTIVE.search(rest)
    return f"{found['escapes']}< {_inside(found)}" if loads else found[0]


def _clean_prose(prose: str) -> str:
    if not _MARKED.search(prose):
        return prose
    if "<" in prose:
        prose = _ANGLED_TARGET.sub(_write_plainly, _remove_comments(prose))
        prose = _TAG.sub(_clean_tag, prose)
    if "![" in prose:
        prose = _IMAGE.sub(r"\1[", prose)
    prose = rewrite_targets(prose, _clean_target)
    return _QUERY.sub(lambda found: strip_tracking(found[0]), prose)


def _remove_comments(prose: str) -> str:
    parts: list[str] = []
    position = 0
    while (start := prose.find("<!--", position)) >= 0:
        end = prose.find("-->", start + 2)
        if end < 0:
            return "".join([*parts, prose[position:].replace("<!--", "&lt;!--")])
        parts.append(prose[position:start])
        position = end + 3
        if "`" in (prose[start - 1 : start], prose[position : position + 1]):
            parts.append(" ")  # more backticks in a row would move the code after them
    return "".join([*parts, prose[position:]])


def _write_plainly(found: re.Match[str]) -> str:
    """A destination without angle brackets, which nobody can take for a tag."""
    return found[1] + escape_target(found[2])


def _clean_tag(found: re.Match[str]) -> str:
    """An address in angle brackets, a tag without attributes, or text."""
    if found["name"] is None or not found["end"]:
        return _show(found)
    inside, rest = _inside(found)[:-1], found["rest"]
    if _SCHEME.match(inside) and not _SPACE.search(inside):
        return found[0] if _is_link(inside) else _remove(found)
    name = found["name"].lower()
    if _BARE.fullmatch(rest):
        return _remove(found) if name in LOADING else found[0]
    if name not in PLAIN | LOADING or not _ATTRIBUTES.fullmatch(rest):
        return _show(found)
    if name in LOADING:
        alternative = _ALT.search(rest) if name == "img" else None
        return _remove(found, next(filter(None, alternative.groups()), "") if alternative else "")
    if name == "a" and not found["closing"] and (href := _HREF.search(rest)):
        target = decode_target(next(filter(None, href.groups()), ""))
        return found["escapes"] + write_anchor(target) if _is_link(target) else _remove(found)
    if "=" not in rest and not WORDS.issuperset(rest.lower().split()):
        return _show(found)  # `a <b and c> d`
    return f"{found['escapes']}<{found['closing']}{name}>"


def write_anchor(target: str) -> str:
    from html import escape  # as in unescape_html

    return f'<a href="{escape(escape_target(target))}">'


def _inside(found: re.Match[str]) -> str:
    return found[0][len(found["escapes"]) + 1 :]


def _show(found: re.Match[str]) -> str:
    """The tag as text. HTML knows no escapes, so its sign must not stay."""
    escapes = found["escapes"]
    return f"{escapes[len(escapes) % 2 :]}&lt;{_inside(found)}"


def _remove(found: re.Match[str], alternative: str = "") -> str:
    """Remove a tag, unless what stands around it would become one."""
    before = found.string[max(found.start() - 1, 0) : found.start()]
    return _show(found) if before == "<" else found["escapes"] + alternative


def rewrite_targets(prose: str, rewrite: Callable[[str], str]) -> str:
    """The text with the destination of each link and each definition rewritten. `rewrite` gets it as a
    renderer reads it, with escapes and character references resolved."""

    def replace(found: re.Match[str]) -> str:
        given = found["target"]
        if not _SPECIAL.search(given):
            return found[0]
        decoded = decode_target(given[1:-1] if given.startswith("<") else given)
        target = rewrite(decoded)
        is_plain = decoded in given or not is_web_address(decoded)
        written = found[0] if target == decoded and is_plain else found["before"] + target
        is_open = is_web_address(target) and found.string[found.end() : found.end() + 1] == "`"
        return f"{written} " if is_open else written  # what follows is no part of the address

    return _DEFINITION.sub(replace, _DESTINATION.sub(replace, prose))


_IGNORED = dict.fromkeys(range(32))  # by browsers, within an address


def decode_target(target: str) -> str:
    try:
        return unescape_html(unescape_markdown(target)).translate(_IGNORED).strip()
    except ValueError:  # a character reference with more digits than Python converts
        return "#"


def _clean_target(target: str) -> str:
    if not _is_link(target):
        return "#"
    return escape_target(strip_tracking(target)) if is_web_address(target) else target


def _is_link(target: str) -> bool:
    """Whether a destination is a web address, a mail address, a path (`notes.md:12`) or an anchor."""
    if target[:2].replace("\\", "/") == "//":
        return target[:2] == "//"
    scheme = _SCHEME.match(target)
    if scheme and scheme[0] == target:
        return True  # `Note:` leads nowhere
    is_web_or_mail = target[:8].lower().startswith(("http://", "https://", "mailto:"))
    return is_web_or_mail or not scheme or "." in scheme[0]
