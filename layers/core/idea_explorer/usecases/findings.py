"""What the branches of a run have found, as the run continues with it."""

from collections.abc import Sequence
from dataclasses import replace

from idea_explorer.agent.budget import FINDINGS_BYTES
from idea_explorer.agent.fresh_start import cut_text, gather_passages
from idea_explorer.agent.prompts import prompt
from idea_explorer.agent.state import State
from idea_explorer.domain.branches import BranchFindings, BranchTask
from idea_explorer.domain.errors import MissingError
from idea_explorer.domain.exploration import Exploration
from idea_explorer.domain.json import Block, document_block
from idea_explorer.domain.private_text import has_private_text
from idea_explorer.domain.report_text import FINDINGS
from idea_explorer.domain.transcript import BranchesFinished, BranchesStarted
from idea_explorer.usecases.deps import Deps

HEADING = f"# {FINDINGS}"  # with which a branch begins, as its prompt says
NEVER_STARTED = "It was never started."
NOTHING_FOUND = "It ended without findings."


def collect_findings(started: BranchesStarted, deps: Deps) -> BranchesFinished:
    """The findings of branches that have all ended."""
    findings = tuple(_findings_of(task, deps) for task in started.branches)
    if not any(found.text for found in findings):
        asked: Block = {"type": "text", "text": prompt("no_findings")}
        return BranchesFinished(findings=findings, content=[asked])
    documents = [document_block(f"Question {found.number}", _render(found)) for found in findings]
    text = prompt("synthesis", missing=_name_missing(findings))
    return BranchesFinished(findings=findings, content=[*documents, {"type": "text", "text": text}])


def _findings_of(task: BranchTask, deps: Deps) -> BranchFindings:
    empty = BranchFindings(
        number=task.number,
        id=task.id,
        question=task.question,
        status="failed",
        error=NEVER_STARTED,
    )
    try:
        branch = deps.explorations.load(task.id)
    except MissingError:
        return empty
    entries = deps.transcripts.open(branch.id, branch.lease).entries
    receipt = branch.run.receipt
    ended = replace(empty, status=branch.status, error=receipt.message if receipt else "")
    if not entries:
        return ended
    state, text = State(entries), _text_of(branch, deps)
    return replace(
        ended,
        text=text,
        error=ended.error or ("" if text else NOTHING_FOUND),
        steps=state.steps,
        billed=tuple(state.billed),
        confirmed=tuple(call.usage for call in state.confirmed),
        passages=tuple(gather_passages(state)),
        records=tuple(state.records),
        private_text=has_private_text(entries),
    )


def _text_of(branch: Exploration, deps: Deps) -> str:
    try:
        text = deps.reports.load_report(branch.id)
    except MissingError:
        return ""
    return text.removeprefix(HEADING).strip()


def _render(found: BranchFindings) -> str:
    """A question with its findings, cut to the size that the budget of the run counts on."""
    text = f"{found.question}\n\n{found.text or f'No findings. {found.error}'}"
    return cut_text(text, FINDINGS_BYTES)


def _name_missing(findings: Sequence[BranchFindings]) -> str:
    """The sentence that names the questions without an answer. By their numbers: their text is data."""
    missing = [str(found.number) for found in findings if not found.text]
    if not missing:
        return ""
    verb = "has" if len(missing) == 1 else "have"
    return (
        f"Of these questions, {' and '.join(missing)} {verb} no findings: say in the report, in the section"
        " concerned, that this could not be researched and which conclusion depends on it.\n\n"
    )
