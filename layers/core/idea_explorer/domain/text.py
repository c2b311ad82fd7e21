"""Rules for text, shared by requests, paths and reports."""

import re
import unicodedata

from idea_explorer.domain.patterns import lazy_pattern

# ECMAScript's WhiteSpace and LineTerminator. Python's strip() also removes U+001C to U+001F, which count
# as control characters here, but not U+FEFF.
_JS_SPACES = (
    "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)
MAX_SLUG_LENGTH = 50  # a folder name that is readable in a terminal and a URL
_SLUG_SOURCE = 2_000  # characters of an idea that can affect its slug
# CPython sorts a run of accents by insertion, in quadratic time. Their order does not matter here, so a
# text is decomposed in pieces.
_NOT_ASCII = lazy_pattern(r"[^\x00-\x7f]{1,256}")
_SIGNS = lazy_pattern(r"(?<=\w)[+#]+")
_SIGN_NAMES = {"+": " plus ", "#": " sharp "}


def trim(text: str) -> str:
    """Trim as JavaScript does, so that every client agrees on what is blank."""
    return text.strip(_JS_SPACES)


def is_blank(text: str) -> bool:
    return not trim(text)


def hash_text(text: str) -> str:
    import hashlib  # with OpenSSL, which printing help does not need

    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def hash_idea(idea: str) -> str:
    """Equal for ideas that differ only in case, spaces and punctuation. The signs in C++ and C# count."""
    words = " ".join(re.findall(r"\w+", spell_out_signs(idea.casefold()))) or idea
    return hash_text(words)[:32]


def fold(text: str) -> str:
    """Remove case and accents, for comparing."""
    folded = text.casefold()
    if folded.isascii():
        return folded
    return _NOT_ASCII.sub(_drop_accents, folded)


def _drop_accents(found: re.Match[str]) -> str:
    decomposed = unicodedata.normalize("NFKD", found[0])
    return "".join(char for char in decomposed if not unicodedata.combining(char))


def slug(idea: str) -> str:
    """A folder name from the idea's words: deterministic and never empty."""
    return _slug(idea, spell_out_signs(idea[:_SLUG_SOURCE]))


def slugs(idea: str) -> set[str]:
    """Every folder name the idea may have: older ones ignore the signs + and #."""
    return {slug(idea), _slug(idea, idea[:_SLUG_SOURCE])}


def _slug(idea: str, source: str) -> str:
    words = source.lower().split()
    joined = "-".join(words)
    if len(joined) <= MAX_SLUG_LENGTH and joined.isascii() and "".join(words).isalnum():
        return joined  # what the library would make of it, which is slow to load
    from slugify import slugify

    made = slugify(source, max_length=MAX_SLUG_LENGTH, word_boundary=True, save_order=True)
    return str(made) or f"idea-{hash_text(idea)[:12]}"


def spell_out_signs(text: str) -> str:
    """Replace signs that are part of a word by words: C, C++ and C# are three languages."""
    return _SIGNS.sub(lambda found: "".join(_SIGN_NAMES[sign] for sign in found[0]), text)


def one_line(text: str, limit: int) -> str:
    """Put a text on one line of at most `limit` characters."""
    flat = " ".join(text.split())
    return flat if len(flat) <= limit else flat[: limit - 1].rstrip() + "…"


def pluralize(number: int, thing: str, things: str | None = None) -> str:
    """`1 step`, `2 steps`."""
    return f"{number:,} {thing if number == 1 else things or thing + 's'}"


# Punctuation of markdown, underscores at the edge of a word, and the `&` of character references.
_MARKUP = lazy_pattern(r"[\\`*~\[\]<>|]|(?<![^\W_])_|_(?![^\W_])|&(?=#?\w+;)")


def escape_markdown(text: str) -> str:
    """Escape a text so that markdown shows it literally: no links, emphasis, code, tables or HTML."""
    return _MARKUP.sub(r"\\\g<0>", text)


def unescape_markdown(markdown: str) -> str:
    return re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", markdown)


def unescape_html(text: str) -> str:
    """As `html.unescape`, whose table of 2,231 names is loaded when a text first refers to a character."""
    if "&" not in text:
        return text
    from html import unescape

    return unescape(text)


_ESCAPED_OR_CODE = lazy_pattern(r"\\([!-/:-@\[-`{-~])|`[^`\n]+`")


def unescape_prose(line: str) -> str:
    """A line of Markdown as a person reads it: without the backslashes that keep signs from being markup.
    Those of code are its own."""
    return _ESCAPED_OR_CODE.sub(_drop_backslash, line)


def _drop_backslash(found: re.Match[str]) -> str:
    return found[1] or found[0]


# What a terminal obeys, or what changes or hides how a person sees a text: control characters but tab and
# line feed, line separators, direction marks, characters without a shape, tags and lone surrogates.
UNSAFE_CHARACTERS = (
    r"\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f"
    r"\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff"
    r"\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_JOINERS = "\u200c\u200d"  # in emoji, and in words of Persian and of Indian languages
_SUSPECT = lazy_pattern(f"[{UNSAFE_CHARACTERS}{_JOINERS}]")
_SAFE_ASCII = bytes([*b"\t\n", *range(0x20, 0x7F)])


def make_printable(text: str) -> str:
    r"""Spell out every character that a terminal would obey or hide, such as `\x1b` and `\u202e`.

    Models, web pages, files and servers chose this text. The spelling is that of JSON wherever JSON lets
    the character through, so that JSON stays the same JSON. Applying it twice changes nothing.
    """
    # most of what is printed; a pattern would take ten times as long to find nothing in it
    if text.isascii() and not text.encode("ascii").translate(None, _SAFE_ASCII):
        return text
    return _SUSPECT.sub(_spell_out, text)


def _spell_out(found: re.Match[str]) -> str:
    char, code = found[0], ord(found[0])
    before = found.string[found.start() - 1 : found.start()]
    if char == "\r" and found.string[found.end() : found.end() + 1] == "\n":
        return char
    if char in _JOINERS and _takes_joiner(before):
        return char
    if "\U000e0100" <= char <= "\U000e01ef" and _is_ideograph(before):
        return char  # a variant of the ideograph before it
    if code < 0x20:
        return f"\\x{code:02x}"
    units = char.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))


def _takes_joiner(before: str) -> bool:
    """Whether a joiner after this character shapes a word or an emoji; elsewhere it only hides."""
    return before > "\x7f" and unicodedata.category(before) in _JOINED


# letters without case, marks, emoji, skin tones
_JOINED = frozenset({"Lo", "Mn", "Mc", "So", "Sk"})


def _is_ideograph(char: str) -> bool:
    return "\u3400" <= char <= "\u9fff" or "\U00020000" <= char <= "\U0003ffff"


def is_header_safe(key: str) -> bool:
    """Whether a key or token can be sent in a header: printable ASCII without spaces."""
    return bool(key) and all("!" <= char <= "~" for char in key)
