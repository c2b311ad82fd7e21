"""The summary as a chart: SVG that is readable on a light and on a dark page."""

from collections.abc import Sequence
from html import escape

from tests.evaluation.scores import QUALITIES, Score
from tests.evaluation.tables import Summary, summarize

LABEL, PANEL, GAP, ROW = 232, 124, 58, 42  # pixels: names, width of a panel, between panels, row
TOP, BOTTOM = 96, 40
BAR = 12
TITLES = {
    "structure": "Structure",
    "verdict": "Verdict present",
    "precision": "Citation precision",
    "warned": "Unsupported marked",
    "coverage": "Rubric covered",
    "dollars": "Dollars a run",
}
STYLE = """
svg { font: 13px system-ui, -apple-system, "Segoe UI", Helvetica, Arial, sans-serif; }
.page { fill: #ffffff; } .text { fill: #1f2328; } .dim { fill: #59636e; } .track { fill: #eaeef2; }
.grid { stroke: #d1d9e0; } .score { fill: #0969da; } .cost { fill: #8250df; }
.item { fill: #ffffff; stroke: #1f2328; stroke-width: 1.2; }
.title { font-size: 17px; font-weight: 600; } .head { font-weight: 600; } .small { font-size: 11.5px; }
@media (prefers-color-scheme: dark) {
  .page { fill: #0d1117; } .text { fill: #f0f6fc; } .dim { fill: #9198a1; } .track { fill: #21262d; }
  .grid { stroke: #3d444d; } .score { fill: #4493f8; } .cost { fill: #ab7df8; }
  .item { fill: #0d1117; stroke: #f0f6fc; }
}
"""


def draw(scores: Sequence[Score], title: str) -> str:
    """A row for each group, a panel for each quality and one for the cost. A bar is the mean of a group, a
    ring an item."""
    groups = summarize(scores)
    panels = [*QUALITIES, "dollars"]
    width = LABEL + len(panels) * (PANEL + GAP) + 4
    height = TOP + len(groups) * ROW + BOTTOM
    most = max((each.dollars for each in scores), default=0.0) or 1.0
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}"'
        f' height="{height}" role="img" aria-label="{escape(title)}">',
        f"<style>{STYLE}</style>",
        f'<rect class="page" width="{width}" height="{height}" rx="6"/>',
        f'<text class="text title" x="20" y="34">{escape(title)}</text>',
    ]
    for row, group in enumerate(groups):
        y = TOP + row * ROW
        parts.append(f'<text class="text" x="20" y="{y + 16}">{escape(group.group)}</text>')
        count = f"{group.items} item{'s' if group.items != 1 else ''}"
        parts.append(f'<text class="dim small" x="20" y="{y + 31}">{count}</text>')
    for column, panel in enumerate(panels):
        x = LABEL + column * (PANEL + GAP)
        scale = most if panel == "dollars" else 1.0
        parts += _draw_panel(panel, x, groups, scores, scale)
    parts.append(
        f'<text class="dim small" x="20" y="{height - 16}">Bar: mean of the group. Ring: one item.'
        " Qualities are shares from 0 to 1. No bar: nothing to score.</text>"
    )
    return "\n".join([*parts, "</svg>", ""])


def _draw_panel(
    panel: str, x: int, groups: Sequence[Summary], scores: Sequence[Score], scale: float
) -> list[str]:
    bottom = TOP + len(groups) * ROW - 8
    parts = [f'<text class="text head" x="{x}" y="{TOP - 24}">{TITLES[panel]}</text>']
    for share in (0.0, 0.5, 1.0):
        at = x + share * PANEL
        label = (f"${share * scale:.2f}" if share else "$0") if panel == "dollars" else f"{share:g}"
        anchor = {0.0: "start", 0.5: "middle", 1.0: "end"}[share]
        parts.append(
            f'<text class="dim small" x="{at:g}" y="{TOP - 8}" text-anchor="{anchor}">{label}</text>'
        )
        parts.append(
            f'<line class="grid" x1="{at:g}" y1="{TOP - 3}" x2="{at:g}" y2="{bottom}"'
            ' stroke-dasharray="2 3"/>'
        )
    for row, group in enumerate(groups):
        y = TOP + row * ROW + 8
        mean = group.dollars if panel == "dollars" else group.qualities[panel]
        if mean is None:
            continue
        kind = "cost" if panel == "dollars" else "score"
        length = max(mean / scale * PANEL, 1.5)
        shown = f"{mean:.3f}" if panel == "dollars" else f"{mean:.2f}"
        parts += [
            f'<rect class="track" x="{x}" y="{y}" width="{PANEL}" height="{BAR}" rx="3"/>',
            f'<rect class="{kind}" x="{x}" y="{y}" width="{length:.1f}" height="{BAR}" rx="3"/>',
            f'<text class="text small" x="{x + PANEL + 8}" y="{y + BAR - 2}">{shown}</text>',
        ]
        parts += _draw_items(panel, x, y, [s for s in scores if s.group == group.group], scale)
    return parts


def _draw_items(panel: str, x: int, y: int, scores: Sequence[Score], scale: float) -> list[str]:
    """Rings below the bar; where several are at the same place, the second stands below the first."""
    placed: dict[int, int] = {}
    rings: list[str] = []
    values = [s.dollars if panel == "dollars" else s.quality(panel) for s in scores]
    for value in sorted(v for v in values if v is not None):
        at = round(x + value / scale * PANEL)
        slot = at // 7
        level = placed[slot] = placed.get(slot, 0) + 1
        if level <= 2:
            rings.append(
                f'<circle class="item" cx="{at}" cy="{y + BAR + 6 + (level - 1) * 7}" r="2.8"/>'
            )
    return rings
