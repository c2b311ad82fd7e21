"""Asking a person at a terminal what to do with a proposed change."""

import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from idea_explorer.cli.endings import named
from idea_explorer.domain.approvals import Approval
from idea_explorer.domain.exploration import Exploration
from idea_explorer.ports import Approvals
from idea_explorer.usecases.approvals.decide import DecisionRequest, decide
from idea_explorer.usecases.deps import Deps

Decide = Callable[[Exploration], bool]  # asks, and says whether everything is decided
QUESTION = "[a]pprove, [e]dit, [r]eject, or leave it [w]aiting? "
COLOURS = {"+++": "bold", "---": "bold", "+": "green", "-": "red", "@@": "cyan"}
ANSI = {"bold": "1", "green": "32", "red": "31", "cyan": "36"}


def at_terminal(deps: Deps) -> Decide | None:
    """Asks about each change in turn; None where nobody is there to be asked."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return None
    return lambda exploration: _decided(exploration, deps, input)


def pending(approvals: Approvals, exploration: Exploration) -> list[Approval]:
    return [a for a in approvals.approvals(exploration.id) if a.decision is None]


def how_to_decide(exploration: Exploration, paths: Sequence[str], research: str | None) -> str:
    """One sentence for whoever was not asked."""
    it = named(exploration.id, research)
    return (
        f"Your decision is needed on {', '.join(dict.fromkeys(paths))}: see it with"
        f" `idea approve {it} --list`, decide with `idea approve {it}` or"
        f' `idea reject {it} --reason "…"`, then go on with `idea resume {it}`.'
    )


def shown(path: str, description: str, diff: str, *, coloured: bool) -> str:
    """A change as a person reads it. What a model wrote cannot steer the terminal."""
    lines = [f"{path}: {_plain(description)}", *map(_plain, diff.splitlines())]
    return "\n".join(_coloured(line) if coloured else line for line in lines)


def _decided(exploration: Exploration, deps: Deps, ask: Callable[[str], str]) -> bool:
    for approval in pending(deps.approvals, exploration):
        try:
            request = _asked(approval, ask)
        except (EOFError, KeyboardInterrupt):
            request = None
        if request is None:
            return False
        decide(
            exploration.id,
            approval.id,
            request,
            exploration.owner,
            deps,
        )
    return True


def _asked(approval: Approval, ask: Callable[[str], str]) -> DecisionRequest | None:
    proposal = approval.proposal
    text = shown(proposal.path, proposal.description, proposal.diff, coloured=True)
    print(f"\n{text}\n", file=sys.stderr)
    while True:
        print(QUESTION, end="", file=sys.stderr, flush=True)
        match ask("").strip().lower()[:1]:
            case "a":
                return DecisionRequest(decision="approve")
            case "e":
                edited = _edited(proposal.content, proposal.path)
                if edited is not None:
                    return DecisionRequest(decision="approve", content=edited)
            case "r":
                print("Why? ", end="", file=sys.stderr, flush=True)
                return DecisionRequest(decision="reject", reason=ask("").strip() or None)
            case "w":
                return None
            case _:
                pass


def _edited(content: str, path: str) -> str | None:
    """The content as the person leaves it in their editor; None where that did not work."""
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    with tempfile.TemporaryDirectory(prefix="idea-") as folder:
        file = Path(folder) / Path(path).name
        file.write_text(content, "utf-8", newline="")
        try:
            # the person's own choice of program, on their own machine
            done = subprocess.run([*shlex.split(editor), str(file)], check=False)  # noqa: S603
            if done.returncode == 0:
                return file.read_bytes().decode("utf-8")
        except (OSError, ValueError) as error:
            print(f"idea: {editor} did not work: {error}.", file=sys.stderr)
    return None


def _plain(line: str) -> str:
    return "".join(c if c == "\t" or c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in line)


def _coloured(line: str) -> str:
    colour = next((COLOURS[start] for start in COLOURS if line.startswith(start)), None)
    return f"\x1b[{ANSI[colour]}m{line}\x1b[0m" if colour else line
