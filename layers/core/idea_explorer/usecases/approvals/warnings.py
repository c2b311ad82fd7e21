"""What the reviewer of a pull request has to know about the changes in it before reading the rest."""

from collections.abc import Iterator, Sequence

from idea_explorer.domain.approvals import Approval
from idea_explorer.domain.diffs import added_lines, unified_diff
from idea_explorer.domain.text import escape_markdown, make_printable, pluralize

MAX_LINES = 20
MAX_LINE = 200
CARE = "> **Review these changes with care.** They take effect without anybody opening the file:"
HIDDEN = (
    "> **These lines hold characters that GitHub hides or takes for line ends.**"
    " They are spelled out here:"
)


def list_warnings(approvals: Sequence[Approval]) -> str:
    """Markdown that goes before the text of the pull request; "" if there is nothing to warn of."""
    approved = [a for a in approvals if a.decision == "approve" and a.changes]
    return _list_dangerous_changes(approved) + _list_hidden_characters(approved)


def _list_dangerous_changes(approved: Sequence[Approval]) -> str:
    lines = [
        f"> - {escape_markdown(f'{p.path} {p.danger}')}"
        for a in approved
        if (p := a.proposal).danger
    ]
    return "\n".join([CARE, ">", *dict.fromkeys(lines)]) + "\n\n" if lines else ""


def _list_hidden_characters(approved: Sequence[Approval]) -> str:
    lines = [line for approval in approved for line in _find_hidden(approval)]
    if not lines:
        return ""
    shown = lines[:MAX_LINES]
    if rest := len(lines) - len(shown):
        shown.append(f"… and {pluralize(rest, 'more line', 'more lines')}")
    code = "\n".join(shown)
    fence = "```"
    while fence in code:
        fence += "`"
    return f"{HIDDEN}\n\n{fence}text\n{code}\n{fence}\n\n"


def _find_hidden(approval: Approval) -> Iterator[str]:
    """The lines that the change adds and that do not look like what they hold."""
    path = approval.proposal.new_path or approval.proposal.path
    try:
        diff = approval.approved_diff
    except ValueError:  # of an older version, without a diff that leads back
        diff = unified_diff(path, None, approval.approved_content)
    for number, line in added_lines(diff):
        text = line.removesuffix("\r")  # the file's own line end
        if (printable := make_printable(text)) != text:
            yield f"{path}:{number}: {printable[:MAX_LINE]}"
