"""Text rules shared by requests, paths and reports."""

import hashlib
import re

# ECMAScript's WhiteSpace and LineTerminator. Python's strip() also takes U+001C to U+001F, which are
# control characters here, and leaves U+FEFF, which is not.
_JS_SPACES = (
    "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)
MAX_SLUG_LENGTH = 50  # a folder name that still reads in a terminal and a URL
_NAMING = 2_000  # characters of an idea: more than a name can hold
_SIGNS = re.compile(r"(?<=\w)[+#]+")
_SPELLED = {"+": " plus ", "#": " sharp "}


def trim(text: str) -> str:
    """Trim as JavaScript's trim does, so that every client agrees on what is blank."""
    return text.strip(_JS_SPACES)


def is_blank(text: str) -> bool:
    return not trim(text)


def slug(idea: str) -> str:
    """A folder name from the idea's words: deterministic and never empty."""
    return _slug(idea, spell_out_signs(idea[:_NAMING]))


def slugs(idea: str) -> set[str]:
    """Every folder name the idea may have: signs did not count in the names of older folders."""
    return {slug(idea), _slug(idea, idea[:_NAMING])}


def _slug(idea: str, naming: str) -> str:
    from slugify import slugify

    words = slugify(naming, max_length=MAX_SLUG_LENGTH, word_boundary=True, save_order=True)
    if words:
        return str(words)
    return f"idea-{hashlib.sha256(idea.encode('utf-8', 'surrogatepass')).hexdigest()[:12]}"


def spell_out_signs(text: str) -> str:
    """The text with the signs that belong to a word as words: C, C++ and C# are three languages."""
    return _SIGNS.sub(lambda found: "".join(_SPELLED[sign] for sign in found[0]), text)


def one_line(text: str, limit: int) -> str:
    """The text on one line of at most `limit` characters, for titles and progress."""
    flat = re.sub(r"\s+", " ", text).strip()
    return flat if len(flat) <= limit else flat[: limit - 1].rstrip() + "…"


def pluralize(number: int, thing: str, things: str | None = None) -> str:
    """`1 step`, `2 steps`."""
    return f"{number:,} {thing if number == 1 else things or thing + 's'}"


# Marks, underscores at the edge of a word, and what would be read as the name of a character.
_MARKUP = re.compile(r"[\\`*~\[\]<>|]|(?<![^\W_])_|_(?![^\W_])|&(?=#?\w+;)")


def escape_markdown(text: str) -> str:
    """The text as markdown that shows it as it is: no links, emphasis, code, tables or HTML."""
    return _MARKUP.sub(r"\\\g<0>", text)


def unescape_markdown(markdown: str) -> str:
    """Markdown's text without the backslashes that kept it from being markup."""
    return re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", markdown)


def strip_control_characters(text: str) -> str:
    """The text without what could steer a terminal: models, pages and files choose these words."""
    return "".join(char for char in text if char.isprintable() or char in "\n\t")


def is_header_safe(key: str) -> bool:
    """Whether a key or token can stand in a header: ASCII that shows, without spaces or line ends."""
    return bool(key) and all("!" <= char <= "~" for char in key)
