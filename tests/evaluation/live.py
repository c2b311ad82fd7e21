"""The evaluation with the real model, as the product runs it on this machine, and a judge. It costs money,
and never more than its cap: each run gets what is left as its budget, less what judging it can cost."""

import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from idea_explorer.agent.state import State
from idea_explorer.domain.errors import ConfigurationError, ExplorerError
from idea_explorer.domain.request import ExploreRequest
from idea_explorer.observability.logging import SilentLog
from idea_explorer.settings import Settings
from idea_explorer.usecases.explore import explore
from idea_explorer.usecases.jobs import explore_with_branches
from idea_explorer.usecases.submit import submit
from idea_explorer.wiring.deps import local_deps
from idea_explorer.wiring.engine import claude
from idea_explorer.wiring.local import LOCAL_OWNER, local_uploads, system_clock
from tests.evaluation.chart import draw
from tests.evaluation.claims import find_claims
from tests.evaluation.judge import Judge, JudgementError
from tests.evaluation.recordings import Recording
from tests.evaluation.scores import Score, score
from tests.evaluation.tables import BEGIN, END, compare, read_stored, render, write_stored

LEAST_USD = 0.25  # a run with one search and a short report, and its judgement
JUDGE_USD = 0.10  # set aside for judging before a run begins
PAGE = f"""# Live evaluation

Reports by the real model, scored by a judge model. [evaluation.md](evaluation.md) says what is scored.

![Summary of the live reports](images/evaluation-live.svg)

{BEGIN}

{END}
"""


@dataclass
class LiveEvaluation:
    settings: Settings
    judge: Judge
    cap_usd: float
    spent_usd: float = 0.0
    problems: list[str] = field(default_factory=list)

    @classmethod
    def from_environment(cls, judge: str, cap_usd: float) -> "LiveEvaluation":
        settings = Settings.from_environment(os.environ)
        if not settings.uses_claude:
            raise ConfigurationError(
                "There is no key for Claude.", hint="Set ANTHROPIC_API_KEY for a live evaluation."
            )
        if judge not in settings.models:
            known = ", ".join(settings.models)
            raise ConfigurationError(
                f"There is no model '{judge}'.", hint=f"Choose one of: {known}."
            )
        model_id = settings.models[judge]
        price = settings.prices[model_id]
        return cls(settings, Judge(claude(settings), model_id, price, system_clock()), cap_usd)

    def run(self, recordings: Sequence[Recording], docs: Path) -> int:
        """0 if every item was run and judged."""
        scores: list[Score] = []
        for recording in recordings:
            if self.cap_usd - self.spent_usd < LEAST_USD:
                self.problems.append(f"{recording.name}: not run, the cap is reached")
                continue
            try:
                scores.append(self._run(recording))
            except (ExplorerError, JudgementError) as error:
                self.problems.append(f"{recording.name}: {error}")
        tables = render(scores)
        print(f"{tables}\n\nSpent ${self.spent_usd:.2f} of ${self.cap_usd:.2f}.")
        print("\n".join(f"PROBLEM: {problem}" for problem in self.problems))
        if scores:
            _store(docs, scores, tables)
        return 1 if self.problems else 0

    def _run(self, recording: Recording) -> Score:
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            for path, text in recording.research.items():
                target = root / "ideas" / path
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(text, encoding="utf-8")
            settings = self.settings.model_copy(
                update={"research_dir": root, "github_repository": None, "github_token": None}
            )
            deps = local_deps(settings, SilentLog())
            uploads = local_uploads(settings)
            files = [
                uploads.add(LOCAL_OWNER, name, text.encode())
                for name, text in recording.files.items()
            ]
            budget = self.cap_usd - self.spent_usd - JUDGE_USD
            wanted = {"idea": recording.idea, "files": files, "max_cost_usd": round(budget, 4)}
            request = ExploreRequest.model_validate({**wanted, **recording.fields})
            queued = submit(request, LOCAL_OWNER, deps)
            done = explore_with_branches(queued.id, queued.run.number, deps, explore)
            self.spent_usd += done.run.stats.cost_usd or 0.0
            report = deps.reports.load_report(done.id)
            state = State(deps.transcripts.open(done.id, done.lease).entries)
        scored = score(recording, done, report, state)
        claims = find_claims(report, state)
        worst = self.judge.worst_cost(recording, report, claims)
        if self.spent_usd + worst > self.cap_usd:
            raise JudgementError("not judged, the cap is reached")
        self.spent_usd += worst  # a call that fails may have been billed
        judged = self.judge.judge(recording, report, claims)
        self.spent_usd += judged.cost_usd - worst
        return replace(scored, coverage=judged.coverage, precision=judged.precision)


def _store(docs: Path, scores: Sequence[Score], tables: str) -> None:
    page = docs / "evaluation-live.md"
    changed = compare(read_stored(page), tables)
    print(f"\nChanged since the stored tables:\n{changed}" if changed else "\nNothing changed.")
    if not page.exists():
        page.write_text(PAGE, "utf-8")
    write_stored(page, tables)
    (docs / "images" / "evaluation-live.svg").write_text(draw(scores, "Live reports"), "utf-8")
