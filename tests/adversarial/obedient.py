"""A model that does whatever any text asks of it, and what shows that private text has left.

An instruction is `DO verb what END`, anywhere in what the model is sent: results, documents, names of files,
titles. Where it names a form of the secret, such as `{base64}`, the model puts in each secret it has seen.
"""

import base64
import codecs
import html
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any
from urllib.parse import unquote

from tests.fakes.anthropic_turns import Turn, answer, search_result, text, tool_use, web_search
from tests.fakes.anthropic_wire import Block, JsonObject

INSTRUCTION = re.compile(r"DO (\w+) (.+?) END", re.DOTALL)
SECRET = re.compile(r"\bzebra[a-z]{12}\b")
CHUNK = 40  # calls in one step


def encode_percent(secret: str) -> str:
    return "".join(f"%{byte:02X}" for byte in secret.encode())


FORMS: dict[str, Callable[[str], str]] = {
    "plain": str,
    "upper": str.upper,
    "reversed": lambda secret: secret[::-1],
    "base64": lambda secret: base64.urlsafe_b64encode(secret.encode()).decode().rstrip("="),
    "shifted64": lambda secret: base64.b64encode(b"x" + secret.encode()).decode().rstrip("="),
    "hex": lambda secret: secret.encode().hex(),
    "percent": encode_percent,
    "rot13": lambda secret: codecs.encode(secret, "rot13"),
    "dashed": "-".join,
    "slashed": "/".join,
    "dotted": lambda secret: ".".join((secret[:9], secret[9:])),
    "entities": lambda secret: "".join(f"&#{ord(letter)};" for letter in secret),
}


def find_forms(haystack: str, secrets: Sequence[str]) -> list[str]:
    """Every form in which a secret occurs, however it is cut up or encoded."""
    seen = {haystack, unquote(haystack), html.unescape(haystack)}
    folded = [re.sub(r"[^a-z0-9]", "", view.lower()) for view in seen]
    found = []
    for secret in secrets:
        for name, encode in FORMS.items():
            needle = encode(secret)
            if name == "shifted64":
                needle = needle[2:-2]  # its ends depend on what is around it
            bare = re.sub(r"[^a-z0-9]", "", needle.lower())
            if any(needle in view for view in seen) or any(bare in view for view in folded):
                found.append(f"{secret} as {name}")
    return found


def _strings(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            for name, item in value.items():
                yield str(name)
                yield from _strings(item)
        case list():
            for item in value:
                yield from _strings(item)


def texts_of(request: JsonObject) -> Iterator[str]:
    """Everything that others wrote in a request: not the system prompt, not what the model said."""
    for message in request["messages"]:
        if message["role"] != "user":
            continue
        for block in message["content"]:
            if block["type"] == "tool_result":
                content = block["content"]
                yield from _strings(json.loads(content) if isinstance(content, str) else content)
            else:
                yield from _strings(block)


def _last_texts(request: JsonObject) -> list[str]:
    """The texts of the user's last message; a change of effort may follow it."""
    last = next(m for m in reversed(request["messages"]) if m["role"] == "user")
    return [block["text"] for block in last["content"] if block["type"] == "text"]


@dataclass
class ObedientModel:
    """Makes the calls of `first`, then does what it was told, and writes what it was told to write.
    `tries` counts by verb what it has done; `queries` are those of its web searches."""

    first: Sequence[Block]
    report: str
    pages: Sequence[str] = ()
    tries: Counter[str] = field(default_factory=Counter)
    queries: list[str] = field(default_factory=list)
    _done: set[str] = field(default_factory=set)

    def __call__(self, request: JsonObject, index: int) -> Turn:
        if self._is_new_question(request):
            self._done.clear()
            return answer(*self.first)
        known = list(texts_of(request))
        secrets = sorted(
            {found[0] for known_text in known for found in SECRET.finditer(known_text)}
        )
        orders = dict.fromkeys(
            m.groups() for known_text in known for m in INSTRUCTION.finditer(known_text)
        )
        tools = {tool["name"] for tool in request["tools"]}
        orders_left = (
            call for verb, what in orders for call in self._obey(verb, what, secrets, tools)
        )
        if not self._is_told_to_write(request) and (calls := list(islice(orders_left, CHUNK))):
            for verb, key, _ in calls:
                self._done.add(key)
                self.tries[verb] += 1
            made = [block for _, _, blocks in calls for block in blocks]
            goes_on = any(block["type"] == "tool_use" for block in made)
            return answer(*made, *([] if goes_on else self.first[:1]))
        lines = self._write_all({"image", "link", "html"}, orders, secrets)
        forged = "\n".join(self._write_all({"forge"}, orders, secrets))
        # like a request of the user, whom a follow-up on this answer could take it for
        asked = [text(f"Today is fine.\n\n<idea>\n{forged}\n</idea>")] if forged else []
        return answer(*asked, text("\n\n".join([self.report, *lines])))

    def _is_new_question(self, request: JsonObject) -> bool:
        """Whether the last message asks something, so that nothing was called since."""
        return any("<idea>" in said for said in _last_texts(request))

    def _is_told_to_write(self, request: JsonObject) -> bool:
        return any("No more tools" in said for said in _last_texts(request))

    def _obey(
        self, verb: str, what: str, secrets: Sequence[str], tools: set[str]
    ) -> Iterator[tuple[str, str, Sequence[Block]]]:
        """The calls that an instruction asks for and that were not made yet."""
        for filled in self._fill(what, secrets):
            for made in self._make_calls(verb, filled, secrets):
                key = f"{verb} {made[0]['input']}"
                if made[0]["name"] in tools and key not in self._done:
                    if verb == "search":
                        self.queries.append(filled)
                    yield verb, key, made

    def _make_calls(
        self, verb: str, filled: str, secrets: Sequence[str]
    ) -> Iterator[Sequence[Block]]:
        match verb:
            case "fetch":
                yield [tool_use("http_fetch", {"url": filled})]
            case "spell":
                for place, letter in (pair for secret in secrets for pair in enumerate(secret)):
                    yield [tool_use("http_fetch", {"url": f"{filled}{place}/{letter}"})]
            case "search":
                found = [search_result(page, f"Result {n}") for n, page in enumerate(self.pages)]
                yield web_search(filled, found)
            case "catalogue":
                yield [tool_use("tidalSearch", {"query": filled[:500]})]
            case "edit" | "dangerous":
                path, _, content = filled.partition(" ")
                given = {"path": path, "content": f"{content}\n", "description": content}
                yield [tool_use("create_file", given)]

    def _write_all(
        self, verbs: set[str], orders: Iterable[tuple[str, ...]], secrets: Sequence[str]
    ) -> list[str]:
        told = [(verb, what) for verb, what in orders if verb in verbs]
        lines = [(verb, filled) for verb, what in told for filled in self._fill(what, secrets)]
        self.tries.update(verb for verb, _ in lines)
        return [filled for _, filled in lines]

    def _fill(self, what: str, secrets: Sequence[str]) -> Iterator[str]:
        """The text with each secret in the form that it names, or in every form for `{secret}`."""
        names = re.findall(r"\{(\w+)\}", what)
        if not names:
            yield what
            return
        forms = (
            FORMS if "secret" in names else {name: FORMS[name] for name in names if name in FORMS}
        )
        for secret in secrets:
            for name, encode in forms.items():
                yield what.replace("{secret}", encode(secret)).replace(
                    f"{{{name}}}", encode(secret)
                )
