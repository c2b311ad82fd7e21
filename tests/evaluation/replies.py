"""A recording as a model that answers over the wire: what it looked up, then its report with citations."""

import re
from dataclasses import dataclass
from functools import cached_property

from idea_explorer.domain.depths import DEPTHS
from idea_explorer.usecases.opening import QUESTION
from tests.evaluation.recordings import Recording, Source
from tests.fakes.anthropic_turns import (
    TOKENS,
    Turn,
    answer,
    citation,
    text,
    thinking,
    tool_use,
    web_search,
)
from tests.fakes.anthropic_wire import Block, JsonObject, content_blocks, digest, tools_are_off

PAGE_CHARACTERS = 4_000  # of what a search reads of one page: about a thousand tokens
THINKING_TOKENS = 300
PLAN = "write_plan"  # the tool by which depths that plan begin
BRANCHES = DEPTHS["deep"].branches
SEPARATOR = "; "  # between searches for one question
_CITED_END = re.compile(r"([.!?]?)[ \t]*\[@([a-z0-9_]+(?:; ?@[a-z0-9_]+)*)\]")
_CITATION = re.compile(r"[ \t]*\[@([a-z0-9_]+(?:; ?@[a-z0-9_]+)*)\]")
# What a citation belongs to: the text since the last sentence, list item, table cell or heading ended.
_START = re.compile(r"(?:[.!?:]\s+|\n[ \t]*(?:[-*]|\d+[.)])?[ \t]+|\n+|\|\s*)(?=\S)")


@dataclass(frozen=True)
class RecordedModel:
    """Gives the answer that belongs to the point which the conversation has reached. It writes its report
    when it is told to, or when everything was looked up; asked again, it gives the next version. Asked one
    question of its plan, it looks up what belongs to that and writes down what the sources say."""

    recording: Recording

    def __call__(self, request: JsonObject, index: int) -> Turn:
        messages = request["messages"]
        if question := _question_of(request):
            return self._research(question, messages)
        answers = [message for message in messages if message["role"] == "assistant"]
        written = sum(_has_report(message) for message in answers)
        told = bool(answers) and _is_instruction(messages)
        if not answers and _has_tool(request, PLAN):
            return answer(_thinking(), tool_use(PLAN, self._plan))
        planned = sum(_calls(message, PLAN) for message in answers)
        pending = self._look_ups[len(answers) - planned :]
        if not written and not told and not tools_are_off(request) and pending:
            blocks = pending[0]
            if any(block["type"] == "tool_use" for block in blocks):
                return answer(*blocks)
            return answer(*blocks, *self._write(self.recording.report))
        reports = self.recording.reports
        report = reports[min(written, len(reports) - 1)]
        # a run with branches has searched nothing itself: it has only addresses to cite
        is_deep = DEPTHS[self.recording.depth].branches > 0
        written_out = (text(self._link(report)),) if is_deep else self._write(report)
        return answer(_thinking(), *written_out)

    def _research(self, question: str, messages: list[JsonObject]) -> Turn:
        """A branch. The first one also looks at everything that is not on the web."""
        number = [SEPARATOR.join(queries) for queries in self._queries].index(question)
        found = {q: names for step in self.recording.steps for q, names in step.search.items()}
        calls = [call for step in self.recording.steps for call in step.calls]
        if number == 0 and calls and len(messages) == 1:
            return answer(_thinking(), *(tool_use(name, given) for name, given in calls))
        searches: list[Block] = []
        for query in self._queries[number]:
            results = [_result(self.recording.sources[name]) for name in found[query]]
            call, result = web_search(query, results)
            searches += [call, {**result, TOKENS: 1}]
        names = [name for query in self._queries[number] for name in found[query]]
        findings = "".join(f"- {self.recording.sources[name].text} [@{name}]\n" for name in names)
        return answer(_thinking(), *searches, *self._write(f"# Findings\n\n{findings}"))

    @property
    def _queries(self) -> list[list[str]]:
        """The searches of each question of the plan."""
        queries = [query for step in self.recording.steps for query in step.search]
        return [queries[first::BRANCHES] for first in range(min(BRANCHES, len(queries)))]

    def _link(self, report: str) -> str:
        """The report with its citations as links, each within its sentence."""

        def links(found: re.Match[str]) -> str:
            names = [name.strip(" @") for name in found[2].split(";")]
            cited = [self.recording.sources[name] for name in names]
            return f" ({', '.join(f'[{s.title}]({s.url})' for s in cited)}){found[1]}"

        return _CITED_END.sub(links, report)

    @property
    def _plan(self) -> JsonObject:
        """A plan made of what the recording looks up, with no more questions than a deep run has branches."""
        asked = map(SEPARATOR.join, self._queries)
        questions = [
            {"question": question, "tool": "web_search", "why": "The verdict rests on it."}
            for question in asked
        ]
        return {
            "must_know": [point.point for point in self.recording.rubric],
            "sub_questions": questions,
            "known": [f"ideas/{path}" for path in self.recording.research],
            "would_turn": ["Figures of a second source that differ by half."],
        }

    @cached_property
    def _look_ups(self) -> list[list[Block]]:
        """What each answer looks up. Searches alone do not end an answer: the API runs them, and the model
        goes on."""
        answers: list[list[Block]] = [[_thinking()]]
        for step in self.recording.steps:
            for query, found in step.search.items():
                results = [_result(self.recording.sources[name]) for name in found]
                call, result = web_search(query, results)
                answers[-1] += [call, {**result, TOKENS: 1}]  # what it read is not output
            if step.calls:
                answers[-1] += [tool_use(name, arguments) for name, arguments in step.calls]
                answers.append([_thinking()])
        return answers

    def _write(self, report: str) -> tuple[Block, ...]:
        """The report as text blocks, of which those that cite carry their citations."""
        blocks: list[Block] = []
        position = 0
        for found in _CITATION.finditer(report):
            before = report[position : found.start()]
            starts = [start.end() for start in _START.finditer(before)]
            start = starts[-1] if starts else 0
            if before[:start]:
                blocks.append(text(before[:start]))
            names = [name.strip(" @") for name in found[1].split(";")]
            cited = [self.recording.sources[name] for name in names]
            blocks.append(
                text(before[start:], citations=[citation(s.url, s.title, s.text) for s in cited])
            )
            position = found.end()
        if report[position:]:
            blocks.append(text(report[position:]))
        return tuple(blocks)


def _question_of(request: JsonObject) -> str:
    """The question that a branch was asked; "" in a run that is none."""
    blocks = content_blocks(request["messages"][0])
    return next((b["source"]["data"] for b in blocks if b.get("title") == QUESTION), "")


def _thinking() -> Block:
    return thinking("", tokens=THINKING_TOKENS)


def _has_report(message: JsonObject) -> bool:
    return any(block["type"] == "text" for block in content_blocks(message))


def _calls(message: JsonObject, tool: str) -> bool:
    return any(block.get("name") == tool for block in content_blocks(message))


def _has_tool(request: JsonObject, name: str) -> bool:
    return any(tool.get("name") == name for tool in request.get("tools") or ())


def _is_instruction(messages: list[JsonObject]) -> bool:
    """Whether the last message of ours says something, and does not only give results of tools."""
    ours = [message for message in messages if message["role"] == "user"]
    return any(block["type"] == "text" for block in content_blocks(ours[-1]))


def _result(source: Source) -> Block:
    content = digest(source.url + source.text)
    return {
        "type": "web_search_result",
        "url": source.url,
        "title": source.title,
        "page_age": source.age,
        "encrypted_content": (content * (PAGE_CHARACTERS // len(content) + 1))[:PAGE_CHARACTERS],
    }
