"""How many tokens the first request of each toolset has: system prompt, tools, and first message.

    python -m tests.performance.tokens

There is no tokenizer for Claude outside of its API, so a token is counted for four characters, as everywhere
in the tests. The research folder is the one in examples/, whose documents on similar ideas are attached.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from idea_explorer.adapters.offline import OfflineModel
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.json import dump_canonical
from idea_explorer.domain.models import PROFILES, ModelChoice
from idea_explorer.domain.request import ExploreRequest
from idea_explorer.settings import Settings
from idea_explorer.usecases.opening import opening
from idea_explorer.usecases.related import find_related
from idea_explorer.wiring.toolsets import toolset_for
from tests.fakes.anthropic_counting import CHARACTERS_PER_TOKEN
from tests.fakes.engine import Bench

EXAMPLES = Path(__file__).parents[2] / "examples" / "ideas"
IDEA = "A subscription box for urban beekeepers"
MODEL = ModelChoice(id="claude-sonnet-5-5", profile=PROFILES["claude-sonnet-5-5"])
REQUESTS: Mapping[str, Mapping[str, str]] = {
    "research business quick": {},
    "research business standard": {"depth": "standard"},
    "research business deep": {"depth": "deep"},
    "research exploration quick": {"mode": "exploration"},
    "assistant": {"toolset": "assistant"},
    "code": {"toolset": "code"},
    "discover": {"toolset": "discover"},
}


@dataclass(frozen=True, slots=True)
class PromptSize:
    """Tokens."""

    system: int
    tools: int
    first_message: int

    @property
    def fixed(self) -> int:
        """What every exploration of this kind begins with."""
        return self.system + self.tools


def measure(fields: Mapping[str, str], folder: Path) -> PromptSize:
    bench = Bench(folder, OfflineModel())
    shutil.copytree(EXAMPLES, folder / "ideas", dirs_exist_ok=True)
    request = ExploreRequest.model_validate({"idea": IDEA, **fields})
    exploration = Exploration.new(request, "tester", at=bench.clock.now())
    settings = Settings(research_dir=folder, data_dir=folder / "data", anthropic_api_key="key")
    tools = toolset_for(settings, bench.log, bench.deps.uploads, exploration, [])
    related = find_related(exploration, None, bench.deps)
    begun = opening(exploration, None, tools, MODEL, related=related)
    tools.close()
    return PromptSize(
        *(_count(dump_canonical([*part])) for part in (begun.system, begun.tools, begun.content))
    )


def _count(text: str) -> int:
    return len(text) // CHARACTERS_PER_TOKEN


def main() -> None:
    print("| | system | tools | first message |\n|---|---|---|---|")
    for name, fields in REQUESTS.items():
        with tempfile.TemporaryDirectory() as folder:
            size = measure(fields, Path(folder))
        print(f"| {name} | {size.system:,} | {size.tools:,} | {size.first_message:,} |")


if __name__ == "__main__":
    main()
