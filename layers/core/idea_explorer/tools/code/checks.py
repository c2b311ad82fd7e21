"""run_checks, which tells what the repository's own tests and linters say about the approved changes."""

from typing import Annotated

from pydantic import Field

from idea_explorer.agent.toolset import Arguments, Rule, tool
from idea_explorer.domain.checks import CheckName, have_passed, summarize
from idea_explorer.domain.errors import ConfigurationError, ToolError
from idea_explorer.domain.json import JsonObject
from idea_explorer.domain.tools import ToolResult
from idea_explorer.ports import Checks


class RunChecks(Arguments):
    check: Annotated[
        CheckName | None,
        Field(description="Only this one; default: all that the repository names"),
        Rule("test or lint"),
    ] = None


class CheckCalls:
    def __init__(self, checks: Checks) -> None:
        self._checks = checks

    @tool(example={"check": "test"}, reads_only=False, time_limit=600.0)
    def run_checks(self, arguments: RunChecks) -> ToolResult:
        """Run the repository's own checks on the files with all approved changes, and get the end of what
        they printed; of a repository on GitHub, read the checks of the branch with the approved changes.
        Use it AFTER changes were approved, and once for several of them. A person may have to allow the
        commands first. NOT for running any other command."""
        try:
            proposal = self._checks.ask_first()
            if proposal:
                return ToolResult.success(
                    {"decision": "pending", "commands": proposal.content},
                    "Asked to allow the repository's checks",
                    proposal=proposal,
                )
            results = self._checks.run(arguments.check)
        except ConfigurationError as error:
            raise ToolError("checks_unavailable", error.sentence) from error
        shown: list[JsonObject] = [
            result.model_dump(mode="json", exclude_defaults=True) for result in results
        ]
        return ToolResult.success(
            {"checks": [*shown], "passed": have_passed(results)},
            summarize(results),
            result_count=len(results),
        )
