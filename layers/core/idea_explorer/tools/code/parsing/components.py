"""The scripts of components in Vue and Svelte; all else is blanked, so that lines keep their numbers."""

import re

_SCRIPT = re.compile(rb"<script(?=[\s>])", re.IGNORECASE)
_END = re.compile(rb"</script", re.IGNORECASE)
_LANGUAGE = re.compile(rb"""\blang\s*=\s*["']?(ts|tsx|typescript)\b""", re.IGNORECASE)
_NOT_LINE = re.compile(rb"[^\n]+")
MAX_TAG = 1_000  # of an opening tag
MAX_SCRIPTS = 10  # a component has one or two


def extract_scripts(source: bytes) -> tuple[str, bytes]:
    """The grammar of the scripts, and the source with nothing else in it."""
    grammar = "javascript"
    parts: list[bytes] = []
    done = 0
    for _ in range(MAX_SCRIPTS):
        opening = _SCRIPT.search(source, done)
        if opening is None:
            break
        tag_end = source.find(b">", opening.end(), opening.end() + MAX_TAG)
        if tag_end < 0:
            break
        if language := _LANGUAGE.search(source, opening.end(), tag_end):
            grammar = "tsx" if language[1].lower() == b"tsx" else "typescript"
        closing = _END.search(source, tag_end)
        end = closing.start() if closing else len(source)
        parts += [_blank(source[done : tag_end + 1]), source[tag_end + 1 : end]]
        done = end
    return grammar, b"".join([*parts, _blank(source[done:])])


def _blank(part: bytes) -> bytes:
    return _NOT_LINE.sub(lambda line: b" " * len(line[0]), part)
