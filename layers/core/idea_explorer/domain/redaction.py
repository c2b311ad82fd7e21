"""Masks what looks like a key or a password in text that a model or a reader gets.

A mask is as long as what it hides, so places and lines stay where they are, and equal keys have equal masks.
It holds three digits of a hash: enough to tell the keys of a file apart and to put them back where a model
returns the text, too few to find out a key by. Everything is searched for by fixed words first, and looked at
only there: the time is linear, and a text without such words costs next to nothing.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterator
from math import log2

from idea_explorer.domain.patterns import lazy_pattern

_LEAST = 12  # characters: what is shorter has no room for a mask
_MASK = lazy_pattern(rb"\[masked:[0-9a-f]{3}\**+\]")
_WORD = frozenset(b"_0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")

Span = tuple[int, int]


def _token(pattern: str) -> re.Pattern[bytes]:
    return lazy_pattern(rb"(?P<secret>%b)" % pattern.encode())


# What services give their keys to begin with.
_TOKENS: dict[bytes, re.Pattern[bytes]] = {
    b"AKIA": _token(r"AKIA[0-9A-Z]{16}(?![0-9A-Za-z])"),
    b"ASIA": _token(r"ASIA[0-9A-Z]{16}(?![0-9A-Za-z])"),
    b"ghp_": _token(r"ghp_[0-9A-Za-z]{30,255}+"),
    b"gho_": _token(r"gho_[0-9A-Za-z]{30,255}+"),
    b"ghu_": _token(r"ghu_[0-9A-Za-z]{30,255}+"),
    b"ghs_": _token(r"ghs_[0-9A-Za-z]{30,255}+"),
    b"ghr_": _token(r"ghr_[0-9A-Za-z]{30,255}+"),
    b"github_pat_": _token(r"github_pat_[0-9A-Za-z_]{22,255}+"),
    b"glpat-": _token(r"glpat-[0-9A-Za-z_-]{20,100}+"),
    b"xox": _token(r"xox[abeoprs]-[0-9A-Za-z-]{10,250}+"),
    b"sk-ant-": _token(r"sk-ant-[0-9A-Za-z_-]{20,200}+"),
    b"sk-proj-": _token(r"sk-proj-[0-9A-Za-z_-]{20,200}+"),
    b"sk-": _token(r"sk-[0-9A-Za-z]{32,200}+"),
    b"sk_live_": _token(r"sk_live_[0-9A-Za-z]{16,200}+"),
    b"sk_test_": _token(r"sk_test_[0-9A-Za-z]{16,200}+"),
    b"rk_live_": _token(r"rk_live_[0-9A-Za-z]{16,200}+"),
    b"whsec_": _token(r"whsec_[0-9A-Za-z+/=]{24,200}+"),
    b"GOCSPX-": _token(r"GOCSPX-[0-9A-Za-z_-]{20,100}+"),
    b"AIza": _token(r"AIza[0-9A-Za-z_-]{35}"),
    b"npm_": _token(r"npm_[0-9A-Za-z]{36}"),
    b"pypi-": _token(r"pypi-[0-9A-Za-z_-]{50,250}+"),
    b"hf_": _token(r"hf_[0-9A-Za-z]{30,100}+"),
    b"dop_v1_": _token(r"dop_v1_[0-9a-f]{64}"),
    b"SG.": _token(r"SG\.[0-9A-Za-z_-]{16,32}+\.[0-9A-Za-z_-]{32,64}+"),
    b"eyJ": _token(
        r"eyJ[0-9A-Za-z_-]{10,400}+\.eyJ[0-9A-Za-z_-]{10,2000}+\.[0-9A-Za-z_-]{10,600}+"
    ),
}
_ADDRESS = b"://"
_SCHEME = b"+-.0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_IN_ADDRESS = lazy_pattern(
    rb"://(?P<user>[^\s/:@\"'\[]{0,100}):(?P<secret>[^\s/:@\"'{}$<>\[]{4,200})@"
)
# Whoever knows such an address may write to its channel.
_HOOK = b"hooks.slack.com/"
_IN_HOOK = lazy_pattern(rb"hooks\.slack\.com/[a-z]{1,20}/(?P<secret>[0-9A-Za-z/_-]{20,200}+)")
# Names that a value is assigned to, in lower case.
_NAMES = (
    *(b"password", b"passwd", b"secret", b"token", b"api_key", b"apikey", b"api-key"),
    *(b"access_key", b"accesskey", b"account_key", b"accountkey", b"private_key", b"auth_key"),
    b"credential",
)
_VALUE = rb"[0-9A-Za-z+/_=.~!@#%^&*-]{16,200}+"
_QUOTED = lazy_pattern(
    rb"[\w.-]{0,40}[\"']?\]?[ \t]{0,8}(?:=>|:=|=|:)[ \t]{0,8}(?P<quote>[\"'])(?P<secret>%b)(?P=quote)"
    % _VALUE
)
_BARE = lazy_pattern(
    rb"[\w.-]{0,40}[ \t]{0,8}[=:][ \t]{0,8}(?P<secret>[0-9A-Za-z+/=-]{16,200}+)(?=[\s,;\"'&]|\Z)"
)
_IN_QUERY = lazy_pattern(rb"=(?P<secret>[0-9A-Za-z+/_=.~%-]{16,200}+)(?=[\s&#\"'`<>)\]]|\Z)")
_QUERY_NAME = 40  # characters of the name of a parameter before the word that is known
_BEGIN = b"PRIVATE KEY-----"
_BASE64 = lazy_pattern(rb"[0-9A-Za-z+/=]{12,}+")
_PEM_LINE = 40  # characters of base64 that a whole line of a key has at least
_PEM_OTHERS = 6  # lines before the key: empty ones, and those that say how it is encrypted
_PEM_PART = 8_192  # bytes of a line that are looked at together


def mask_secrets(text: str) -> str:
    data = text.encode("utf-8", "surrogatepass")
    masked = mask_bytes(data)
    return text if masked is data else masked.decode("utf-8", "surrogatepass")


def mask_bytes(data: bytes) -> bytes:
    """As long as the data; the same object if nothing in it looks like a key."""
    spans = find_secrets(data)
    if not spans:
        return data
    pieces: list[bytes] = []
    at = 0
    for start, end in spans:
        pieces += [data[at:start], _mask(data[start:end])]
        at = end
    return b"".join([*pieces, data[at:]])


def has_masks(text: str) -> bool:
    return "[masked:" in text


def restore_secrets(text: str, original: bytes) -> str:
    """Put the keys of the original back in the place of their masks. Raises ValueError for a mask that
    stands for none of them, or for one of several."""
    hidden: dict[bytes, set[bytes]] = {}
    for start, end in find_secrets(original):
        secret = original[start:end]
        hidden.setdefault(_mask(secret), set()).add(secret)

    def restore(found: re.Match[bytes]) -> bytes:
        secrets = hidden.get(found[0], set())
        if len(secrets) == 1:
            return next(iter(secrets))
        if not secrets and found[0] in original:
            return found[0]  # the file itself speaks of masks
        raise ValueError(found[0].decode())

    data = text.encode("utf-8", "surrogatepass")
    return _MASK.sub(restore, data).decode("utf-8", "surrogatepass")


def find_secrets(data: bytes) -> list[Span]:
    """Where something looks like a key, in order and apart from one another."""
    finders = (_find_tokens, _find_in_addresses, _find_assigned, _find_pem)
    found = sorted(span for find in finders for span in find(data))
    spans: list[Span] = []
    for start, end in found:
        if spans and start < spans[-1][1]:
            spans[-1] = (spans[-1][0], max(end, spans[-1][1]))
        else:
            spans.append((start, end))
    return spans


def _mask(secret: bytes) -> bytes:
    tag = hashlib.sha256(secret).hexdigest()[:3].encode()
    return b"[masked:" + tag + b"*" * (len(secret) - _LEAST) + b"]"


def _positions(data: bytes, word: bytes) -> Iterator[int]:
    at = data.find(word)
    while at >= 0:
        yield at
        at = data.find(word, at + 1)


def _find_tokens(data: bytes) -> Iterator[Span]:
    for word, pattern in _TOKENS.items():
        for at in _positions(data, word):
            if (at == 0 or data[at - 1] not in _WORD) and (found := pattern.match(data, at)):
                yield found.span("secret")


def _find_in_addresses(data: bytes) -> Iterator[Span]:
    for at in _positions(data, _ADDRESS):
        if (found := _IN_ADDRESS.match(data, at)) and _is_password(found["secret"], found["user"]):
            start, end = _widen(data, found)
            if end - start >= _LEAST:
                yield start, end
    for at in _positions(data, _HOOK):
        if found := _IN_HOOK.match(data, at):
            yield found.span("secret")


def _is_password(value: bytes, user: bytes) -> bool:
    """A short one that is a single word, as in `postgres:postgres`, is an example."""
    if len(value) >= _LEAST:
        return True
    is_word = value.isalpha() and (value.islower() or value.isupper())
    return value != user and not is_word and not value.isdigit()


def _widen(data: bytes, found: re.Match[bytes]) -> Span:
    """The password; with the user and then the scheme before it, and the sign after it, where it has no room
    for a mask."""
    end = found.end("secret")
    before = data[max(found.start() - 20, 0) : found.start()]
    scheme = found.start() - len(before) + len(before.rstrip(_SCHEME))
    for start in (found.start("secret"), found.start("user"), scheme):
        if end - start >= _LEAST:
            return start, end
    return scheme, found.end()


def _find_assigned(data: bytes) -> Iterator[Span]:
    lower = data.lower()
    for name in _NAMES:
        for at in _positions(lower, name):
            end = at + len(name)
            for pattern, is_key in ((_QUOTED, _is_random), (_BARE, _is_very_random)):
                if (found := pattern.match(data, end)) and is_key(found["secret"]):
                    yield found.span("secret")
            found = _IN_QUERY.match(data, end) if _is_parameter(data, at) else None
            if found and _is_random(found["secret"]):
                yield found.span("secret")


def _is_parameter(data: bytes, at: int) -> bool:
    """Whether the name at this place is one in the query of an address."""
    before = data[max(at - _QUERY_NAME, 0) : at]
    return before.rstrip(bytes(_WORD)).endswith((b"?", b"&", b"&amp;"))


def _is_random(value: bytes) -> bool:
    """Unlike words, names and examples: letters and digits, hardly any of them repeated."""
    digits = sum(chr(byte).isdigit() for byte in value)
    letters = sum(chr(byte).isalpha() for byte in value)
    return digits >= 2 and letters >= 2 and _entropy(value) >= 3.2


def _is_very_random(value: bytes) -> bool:
    """Without quotation marks a value may be code."""
    text = value.decode("ascii")
    is_mixed = not text.islower() and not text.isupper()
    is_hex = all(character in "0123456789abcdefABCDEF" for character in text)
    return _is_random(value) and (is_mixed or (is_hex and len(text) >= 32))


def _entropy(value: bytes) -> float:
    """Bits per character."""
    counts = Counter(value).values()
    return -sum(n / len(value) * log2(n / len(value)) for n in counts)


def _find_pem(data: bytes) -> Iterator[Span]:
    """The lines of private keys, also where a string holds one with its line ends spelled out."""
    done = 0
    for at in _positions(data, _BEGIN):
        if at < done or b"-----BEGIN " not in data[max(at - 40, 0) : at]:
            continue
        done = at + len(_BEGIN)
        others, in_key = 0, False
        while done < len(data) and others < _PEM_OTHERS:
            end = data.find(b"\n", done, done + _PEM_PART) + 1 or done + _PEM_PART
            stop = data.find(b"-----END", done, end)
            last = end if stop < 0 else stop
            runs = [found.span() for found in _BASE64.finditer(data, done, last)]
            done = last
            is_line = any(to - start >= _PEM_LINE for start, to in runs)
            if is_line or in_key:
                yield from runs
            if stop >= 0 or (in_key and not is_line):
                break
            in_key = in_key or is_line
            others += not is_line
