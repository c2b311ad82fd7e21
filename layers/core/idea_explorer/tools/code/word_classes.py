r"""`\w`, `\s` and `\b` for text in any script. RE2 means ASCII letters by them.

RE2's own classes of letters have over a thousand instructions, too many to repeat. These have about a
hundred: exact for what programs and their comments are written in, coarse for rare scripts and symbols.
"""

import re

_WORD = (
    "30-39 41-5A 5F 61-7A AA B5 BA C0-D6 D8-F6 F8-2C1 300-374 376-37D 386 388-481 483-559 560-588 591-5F2"
    " 610-669 66E-6D3 6D5-963 966-1FFC 20D0-20F0 2160-2188 2C00-2DFF 3005-3007 3021-3029 3041-30FA"
    " 30FC-31FF 3400-D7FB F900-FE2F FE70-FEFC FF10-FF19 FF21-FF3A FF41-FF5A FF66-FFDC 10000-1CFFF"
    " 1D400-1EFFF 20000-E01EF"
)
_SPACE = "9-D 20 85 A0 1680 2000-200A 2028-2029 202F 205F 3000"
_LAST = 0x10FFFF
# Instructions that RE2 makes of each, upper case being the negation.
CLASS_SIZES = {r"\w": 120, r"\W": 110, r"\s": 25, r"\S": 45}
MAX_BOUNDARIES = 10  # each costs about as much as a class; beyond that, they are RE2's own

_IN_SET = re.compile(r"\\.", re.DOTALL)
_WORD_TOKEN = re.compile(r"[0-9A-Za-z_\u00c0-\u024f\u0370-\u1fff\u3041-\ud7fb]|\\w")
_FLAGS = re.compile(r"\(\?[a-zA-Z]+\)")


def _ranges(text: str) -> list[tuple[int, int]]:
    ends = (part.partition("-") for part in text.split())
    return [(int(first, 16), int(last or first, 16)) for first, _, last in ends]


def _negate(ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    starts = [0, *(last + 1 for _, last in ranges)]
    ends = [*(first - 1 for first, _ in ranges), _LAST]
    return [*zip(starts, ends, strict=True)]


def _spell(ranges: list[tuple[int, int]]) -> str:
    return "".join(rf"\x{{{first:x}}}-\x{{{last:x}}}" for first, last in ranges)


_INSIDE = {
    r"\w": _spell(_ranges(_WORD)),
    r"\W": _spell(_negate(_ranges(_WORD))),
    r"\s": _spell(_ranges(_SPACE)),
    r"\S": _spell(_negate(_ranges(_SPACE))),
}
_NOT_WORD = f"[{_spell(_negate(_ranges(_WORD)))}]"
_NOT_FOREIGN_WORD = f"[{_spell(_negate([r for r in _ranges(_WORD) if r[0] > 0x7F]))}]"


def widen_token(token: str) -> str:
    """A token of a pattern, with its classes for all scripts."""
    if token in _INSIDE:
        return f"[{_INSIDE[token]}]"
    if len(token) > 1 and token.startswith("["):
        return _IN_SET.sub(lambda escape: _INSIDE.get(escape[0], escape[0]), token)
    return token


def widen_boundaries(tokens: list[str]) -> list[str]:
    r"""A `\b` at either end of a pattern, or of one of its alternatives, for all scripts. It then takes one
    character more, which does no harm there. Elsewhere it stays RE2's."""
    if tokens.count(r"\b") > MAX_BOUNDARIES:
        return tokens
    widened = [*tokens]
    depth = 0
    for at, part in enumerate(tokens):
        depth += (part == "(") - (part == ")")
        if part != r"\b" or depth:
            continue
        if _begins(tokens, at):
            is_word = at + 1 < len(tokens) and _WORD_TOKEN.fullmatch(tokens[at + 1])
            widened[at] = f"(?:^|{_NOT_WORD})" if is_word else rf"(?:^|{_NOT_FOREIGN_WORD})\b"
        elif at + 1 == len(tokens) or tokens[at + 1] == "|":
            before = tokens[at - 2 if tokens[at - 1] == "+" and at > 1 else at - 1]
            is_word = _WORD_TOKEN.fullmatch(before)
            widened[at] = f"(?:$|{_NOT_WORD})" if is_word else rf"\b(?:$|{_NOT_FOREIGN_WORD})"
    return widened


def _begins(tokens: list[str], at: int) -> bool:
    """Whether nothing is before a token but flags, or the token ends another alternative."""
    before = "".join(tokens[:at])
    return not before or tokens[at - 1] == "|" or _FLAGS.fullmatch(before) is not None
