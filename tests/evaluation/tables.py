"""The results as tables: one row per item, a summary, and the size of each prompt."""

import difflib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from statistics import fmean

import yaml

from idea_explorer.agent import prompts
from idea_explorer.observability.logging import SilentLog
from idea_explorer.settings import Settings
from idea_explorer.wiring.toolsets import toolset
from tests.evaluation.recordings import Recording
from tests.evaluation.run import Run
from tests.evaluation.scores import QUALITIES, Score
from tests.fakes.anthropic_counting import CHARACTERS_PER_TOKEN
from tests.fakes.anthropic_wire import canonical, digest

FLOORS = Path(__file__).parent / "floors.yaml"
BEGIN, END = "<!-- written by make eval -->", "<!-- end -->"
Row = Sequence[str]
Floors = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True)
class Summary:
    """The means of the items of one toolset, mode and depth."""

    group: str
    items: int
    qualities: Mapping[str, float | None]
    planted: int
    caught: int
    words: float
    steps: float
    tokens: float
    dollars: float


def summarize(scores: Sequence[Score]) -> list[Summary]:
    groups: dict[str, list[Score]] = defaultdict(list)
    for each in scores:
        groups[each.group].append(each)
    return [_summarize(group, found) for group, found in groups.items()]


def _summarize(group: str, scores: Sequence[Score]) -> Summary:
    qualities: dict[str, float | None] = {}
    for name in QUALITIES:
        values = [value for each in scores if (value := each.quality(name)) is not None]
        qualities[name] = fmean(values) if values else None
    return Summary(
        group=group,
        items=len(scores),
        qualities=qualities,
        planted=sum(each.planted for each in scores),
        caught=sum(each.caught for each in scores),
        words=fmean(each.words for each in scores),
        steps=fmean(each.steps for each in scores),
        tokens=fmean(each.input_tokens + each.output_tokens for each in scores),
        dollars=fmean(each.dollars for each in scores),
    )


def render(scores: Sequence[Score], prompt_rows: Sequence[Row] = ()) -> str:
    """All tables as Markdown."""
    parts = ["### Summary", _table(_SUMMARY_HEAD, [_summary_row(s) for s in summarize(scores)])]
    parts += ["### Items", _table(_ITEM_HEAD, [_item_row(s) for s in scores])]
    if prompt_rows:
        parts += ["### Prompts", _table(_PROMPT_HEAD, prompt_rows)]
    return "\n\n".join(parts)


_SUMMARY_HEAD = ["", "items", *QUALITIES, "planted", "words", "steps", "tokens", "dollars"]
_ITEM_HEAD = [
    "", "", "language", "ended", *QUALITIES, "cited", "marked", "planted", "words", "steps",
    "tokens in", "tokens out", "dollars",
]  # fmt: skip
_PROMPT_HEAD = ["prompt", "tokens", "of tools", "fingerprint"]


def _summary_row(summary: Summary) -> Row:
    return [
        summary.group,
        str(summary.items),
        *(_share(summary.qualities[name]) for name in QUALITIES),
        _of(summary.caught, summary.planted),
        f"{summary.words:,.0f}",
        f"{summary.steps:.1f}",
        f"{summary.tokens:,.0f}",
        f"{summary.dollars:.3f}",
    ]


def _item_row(score: Score) -> Row:
    return [
        score.group,
        score.name,
        score.language,
        score.outcome,
        *(_share(score.quality(name)) for name in QUALITIES),
        str(score.cited),
        str(score.marked or ""),
        _of(score.caught, score.planted),
        f"{score.words:,}",
        str(score.steps),
        f"{score.input_tokens:,}",
        f"{score.output_tokens:,}",
        f"{score.dollars:.3f}",
    ]


def _share(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def _of(part: int, whole: int) -> str:
    return f"{part} of {whole}" if whole else ""


def _table(head: Row, rows: Sequence[Row]) -> str:
    """Aligned, so that it reads in a terminal too. Columns of figures are on the right."""
    widths = [max(len(row[n]) for row in (head, *rows)) for n in range(len(head))]
    figures = [n for n in range(len(head)) if all(_is_figure(row[n]) for row in rows)]

    def line(row: Row) -> str:
        cells = [
            cell.rjust(widths[n]) if n in figures else cell.ljust(widths[n])
            for n, cell in enumerate(row)
        ]
        return f"| {' | '.join(cells)} |"

    rule = "|".join("-" * (w + 1) + (":" if n in figures else "-") for n, w in enumerate(widths))
    return "\n".join([line(head), f"|{rule}|", *map(line, rows)])


def _is_figure(cell: str) -> bool:
    return cell.replace(",", "").replace(".", "").replace(" of ", "").isdigit() or not cell


def describe_prompts(recordings: Sequence[Recording], runs: Sequence[Run]) -> list[Row]:
    """One row for each system prompt as it is sent, and for each instruction that may follow. A change of a
    prompt changes its fingerprint."""
    rows: dict[str, Row] = {}
    for recording, run in zip(recordings, runs, strict=True):
        request = run.first_request
        system = "".join(block["text"] for block in request["system"])
        rows.setdefault(
            recording.group, _prompt_row(recording.group, system, canonical(request["tools"]))
        )
    for name in ("code", "discover"):
        tools = canonical(toolset(Settings(), name, log=SilentLog()).definitions)
        rows[name] = _prompt_row(name, _read_prompt(name), tools)
    ours = sorted(prompts.SHARED - {"common"})
    return [*rows.values(), *(_instruction_row(name) for name in ours)]


def _instruction_row(name: str) -> Row:
    return _prompt_row(f"instruction {name}", _read_prompt(name), "")


def _read_prompt(name: str) -> str:
    """As it is written, with its placeholders."""
    return (resources.files(prompts) / f"{name}.md").read_text("utf-8")


def _prompt_row(name: str, text: str, tools: str) -> Row:
    return [
        name,
        f"{len(text) // CHARACTERS_PER_TOKEN:,}",
        f"{len(tools) // CHARACTERS_PER_TOKEN:,}" if tools else "",
        digest(text + tools)[:8],
    ]


def find_failures(summaries: Sequence[Summary], floors: Floors) -> list[str]:
    """Every mean that is below its floor, and every group that has none."""
    failures: list[str] = []
    known = {summary.group: summary for summary in summaries}
    failures += [f"{group}: there is no floor for it" for group in known if group not in floors]
    for group, floor in floors.items():
        if group not in known:
            failures.append(f"{group}: nothing was run, but there is a floor for it")
            continue
        for name, least in floor.items():
            value = known[group].qualities[name]
            if value is None or round(value, 4) < least:
                shown = "nothing" if value is None else f"{value:.4f}"
                failures.append(f"{group}: {name} is {shown}, below its floor of {least}")
    return failures


def load_floors(path: Path = FLOORS) -> Floors:
    floors: Floors = yaml.safe_load(path.read_text("utf-8"))
    return floors


def read_stored(page: Path) -> str:
    """The tables that the page holds now."""
    text = page.read_text("utf-8") if page.exists() else ""
    return text.partition(BEGIN)[2].partition(END)[0].strip()


def write_stored(page: Path, tables: str) -> None:
    text = page.read_text("utf-8")
    before, _, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    assert end, f"{page} has no place for the tables"
    page.write_text(f"{before}{BEGIN}\n\n{tables}\n\n{END}{after}", "utf-8")


def compare(stored: str, tables: str) -> str:
    """The rows that changed, each as it was and as it is; a change of a column's width is none."""

    def rows(text: str) -> list[str]:
        lines = [" ".join(line.split()) for line in text.splitlines()]
        return [line for line in lines if line and not line.startswith("|-")]

    changed = difflib.unified_diff(rows(stored), rows(tables), "stored", "now", n=0, lineterm="")
    return "\n".join(line for line in changed if not line.startswith("@@"))
