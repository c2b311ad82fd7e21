"""The plan of a research run, and its form as Markdown, which a person may edit before the run goes on."""

import re
from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import AfterValidator

from idea_explorer.domain.base import DomainModel
from idea_explorer.domain.depths import Depth
from idea_explorer.domain.errors import InvalidRequestError
from idea_explorer.domain.patterns import lazy_pattern
from idea_explorer.domain.text import fold, one_line, pluralize

WRITE_PLAN = "write_plan"  # the tool
PLAN_FIRST = "plan_first"  # the error type of a call that came before the plan
REJECTED = "The plan was rejected"  # and a colon before the reason, if there is one
PLAN_PATH = "plan.md"  # what a proposed plan is called where a change has its file
MAX_QUESTIONS = 8
MAX_ITEMS = 12  # of every other list
MAX_TEXT = 500  # characters of one item: a sentence or two
MAX_TOOL = 100
MAX_PLAN_CHARS = 40_000  # more than a plan with everything at its limit has


def _put_on_one_line(text: str) -> str:
    return " ".join(text.split())


def _strip_code(text: str) -> str:
    return _put_on_one_line(text).strip("` ")


OneLine = Annotated[str, AfterValidator(_put_on_one_line)]


class SubQuestion(DomainModel, frozen=True):
    """A question to answer first, the tool to answer it with, and what its answer decides."""

    question: OneLine
    tool: Annotated[str, AfterValidator(_strip_code)] = ""
    why: OneLine = ""


class Plan(DomainModel, frozen=True):
    """A model or a person wrote its texts: data. Each is on one line."""

    must_know: tuple[OneLine, ...] = ()
    sub_questions: tuple[SubQuestion, ...]
    known: tuple[OneLine, ...] = ()
    would_turn: tuple[OneLine, ...] = ()


Section = Literal["must_know", "sub_questions", "known", "would_turn"]
TITLE = "Research plan"
TITLES: dict[Section, str] = {
    "must_know": "What we need to know to decide",
    "sub_questions": "Questions",
    "known": "What the team already knows",
    "would_turn": "What would change the verdict",
}
# headings of plans that were written before those above
_EARLIER_TITLES = ("What has to be known to decide", "What would turn the verdict")
# By words of a heading, because people reword them; the first that fits.
_WORDS: tuple[tuple[Section, tuple[str, ...]], ...] = (
    ("would_turn", ("turn", "verdict", "change")),
    ("must_know", ("has to", "have to", "must", "need")),
    ("known", ("already",)),
    ("sub_questions", ("question",)),
    ("known", ("know",)),
)
_LABELS: dict[str, Literal["tool", "why"]] = {
    "tool": "tool",
    "tools": "tool",
    "why": "why",
    "because": "why",
    "reason": "why",
}
_MARKER = lazy_pattern(r"(?P<indent>[ \t]*)(?:(?P<bullet>[-*+•])|\d{1,3}[.)])(?:[ \t]+|$)")
_HEADINGS = "A plan has the headings " + ", ".join(f"'{title}'" for title in TITLES.values()) + "."
_RULE = frozenset("-=*_")  # a line of these divides sections, or underlines a heading


def count_questions(depth: Depth | None) -> int:
    """The most questions that a plan of this depth may ask: one for each branch, if it has branches."""
    return (depth.branches if depth else 0) or MAX_QUESTIONS


def render_plan(plan: Plan) -> str:
    """The plan as Markdown that `parse_plan` reads back. Sections without content are left out."""
    parts = [f"# {TITLE}"]
    for section, title in TITLES.items():
        if section == "sub_questions":
            lines = [
                line
                for number, asked in enumerate(plan.sub_questions, 1)
                for line in _render_question(number, asked)
            ]
        else:
            items: tuple[str, ...] = getattr(plan, section)
            lines = [f"- {item}" for item in items if item]
        if lines:
            parts += [f"## {title}", "\n".join(lines)]
    return "\n\n".join(parts) + "\n"


def _render_question(number: int, asked: SubQuestion) -> list[str]:
    lines = [f"{number}. {asked.question}"]
    if asked.tool:
        lines.append(f"   - Tool: {asked.tool}")
    if asked.why:
        lines.append(f"   - Why: {asked.why}")
    return lines


def parse_plan(text: str, *, most: int = MAX_QUESTIONS, ignore_strays: bool = False) -> Plan:
    """Read a plan that a person edited: sections in any order, any list marks, blank lines anywhere. Raises
    InvalidRequestError where there is no question, where there are more than `most`, and for text that
    belongs to no section unless that is ignored: a text without headings is a list of questions then."""
    if len(text) > MAX_PLAN_CHARS:
        _refuse(f"The plan is longer than {MAX_PLAN_CHARS:,} characters.", "Shorten it.")
    reader = _Reader(ignore_strays=ignore_strays)
    for line in text.removeprefix("\ufeff").splitlines():
        reader.read_line(line)
    found = reader.found
    if not ignore_strays and (stray := reader.stray):
        where = (
            "stands above the first heading" if reader.has_headings else "stands below no heading"
        )
        _refuse(f"'{one_line(stray, 60)}' {where}.", _HEADINGS)
    plan = Plan(
        must_know=_texts(found["must_know"]),
        sub_questions=tuple(
            SubQuestion(question=" ".join(item.text), tool=item.tool, why=" ".join(item.why))
            for item in found["sub_questions"]
        ),
        known=_texts(found["known"]),
        would_turn=_texts(found["would_turn"]),
    )
    _check(plan, most)
    return plan


def _check(plan: Plan, most: int) -> None:
    asked = plan.sub_questions
    if not asked:
        _refuse(
            "The plan has no question.",
            f"List at least one below the heading '## {TITLES['sub_questions']}'.",
        )
    if len(asked) > most:
        _refuse(
            f"The plan has {len(asked)} questions, and this exploration researches"
            f" {pluralize(most, 'question')} at most.",
            "Remove or combine some.",
        )
    lists: dict[Section, Sequence[str]] = {
        "must_know": plan.must_know,
        "known": plan.known,
        "would_turn": plan.would_turn,
    }
    for section, items in lists.items():
        if len(items) > MAX_ITEMS:
            _refuse(f"'{TITLES[section]}' has more than {MAX_ITEMS} items.", "Remove some.")
    texts = [item for items in lists.values() for item in items]
    texts += [text for one in asked for text in (one.question, one.why)]
    too_long = next((text for text in texts if len(text) > MAX_TEXT), None)
    too_long = too_long or next((one.tool for one in asked if len(one.tool) > MAX_TOOL), None)
    if too_long:
        most_characters = MAX_TEXT if len(too_long) > MAX_TEXT else MAX_TOOL
        _refuse(
            f"'{one_line(too_long, 60)}' is longer than {most_characters} characters.",
            "Shorten it.",
        )


def _refuse(message: str, hint: str) -> None:
    raise InvalidRequestError(message, hint=hint, fields={"content": f"{message} {hint}"})


class _Item:
    """One item of a list, whose parts may be spread over several lines."""

    def __init__(self, first: str) -> None:
        self.text = [first]
        self.tools: list[str] = []
        self.why: list[str] = []
        self.last = self.text  # where a line that goes on belongs

    @property
    def tool(self) -> str:
        return " ".join(self.tools)

    def add_label(self, label: Literal["tool", "why"], value: str) -> None:
        self.last = self.tools if label == "tool" else self.why
        self.last.append(value)


def _texts(items: Sequence[_Item]) -> tuple[str, ...]:
    return tuple(" ".join(item.text) for item in items)


class _Reader:
    """Collects the items of each section, line by line."""

    def __init__(self, *, ignore_strays: bool) -> None:
        self._ignores_strays = ignore_strays
        self._sections: dict[Section, list[_Item]] = {section: [] for section in TITLES}
        self._before: list[_Item] = []  # any heading
        self._section: Section | None = None
        self._indent = 0  # of the items of this section
        self._after_blank = True

    @property
    def found(self) -> dict[Section, list[_Item]]:
        if self._section is None:
            return {**self._sections, "sub_questions": self._before}
        return self._sections

    @property
    def stray(self) -> str:
        """Text above the first heading of a section."""
        return " ".join(self._before[0].text) if self._before else ""

    @property
    def has_headings(self) -> bool:
        return self._section is not None

    def read_line(self, line: str) -> None:
        text = line.strip()
        if not text or text.startswith(("```", "~~~")) or _RULE.issuperset(text):
            self._after_blank = True
            return
        marker = _MARKER.match(line)
        if marker is None and _is_heading(text):
            self._read_heading(text)
            self._after_blank = True
            return
        items = self._before if self._section is None else self._sections[self._section]
        if marker:
            self._read_item(items, marker, line[marker.end() :].strip())
        else:
            self._read_text(items, text, is_indented=line[0].isspace())
        self._after_blank = False

    def _read_heading(self, text: str) -> None:
        title = text.strip("# ")
        is_first = text.startswith("# ") and self._section is None and not self._before
        if section := _find_section(text):
            self._section = section
        elif title and title != TITLE and not (is_first or self._ignores_strays):
            _refuse(f"'{one_line(title, 60)}' is no heading of a plan.", _HEADINGS)

    def _read_item(self, items: list[_Item], marker: re.Match[str], text: str) -> None:
        indent = len(marker["indent"].expandtabs(4))
        if not items:
            self._indent = indent
        is_nested = bool(items) and indent > self._indent + 1
        if items and self._asks and (is_nested or marker["bullet"]) and (label := _label(text)):
            items[-1].add_label(*label)
        elif is_nested and self._asks:
            items[-1].last.append(text)
        elif text:
            items.append(_Item(text))

    def _read_text(self, items: list[_Item], text: str, *, is_indented: bool) -> None:
        if items and self._asks and (label := _label(text)):
            items[-1].add_label(*label)
        elif items and (is_indented or not self._after_blank):
            items[-1].last.append(text)
        elif not text.endswith(":"):  # which introduces a list
            items.append(_Item(text))

    @property
    def _asks(self) -> bool:
        return self._section in {None, "sub_questions"}


def _is_heading(text: str) -> bool:
    """Whether a line is a heading. One without `#` is, if it is one of ours."""
    if text.startswith("#"):
        return True
    plain = fold(text.strip("*_: "))
    return any(plain == fold(title) for title in (*TITLES.values(), *_EARLIER_TITLES))


def _find_section(heading: str) -> Section | None:
    title = fold(heading)
    return next(
        (section for section, words in _WORDS if any(word in title for word in words)), None
    )


def _label(text: str) -> tuple[Literal["tool", "why"], str] | None:
    """`Tool: web_search`, also with the label in bold."""
    before, colon, value = text.partition(":")
    mark = before[: len(before) - len(before.lstrip("*_"))]
    label = _LABELS.get(before.strip("*_ ").lower())
    if label is None or not colon:
        return None
    is_open = mark and not before.rstrip().endswith(mark)  # closed after the colon: **Tool:** x
    return label, (value.removeprefix(mark) if is_open else value).strip()
