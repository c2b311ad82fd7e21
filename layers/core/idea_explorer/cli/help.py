"""`idea help`: short pages about what the commands say, and the help of a command."""

import argparse

from idea_explorer.cli import EXIT_INTERRUPTED
from idea_explorer.cli.columns import DEFAULT_COLUMNS, fit_page
from idea_explorer.cli.command_parser import suggest
from idea_explorer.cli.failures import BAD_USAGE
from idea_explorer.cli.output import EXIT, name_status, terminal_width
from idea_explorer.cli.parser import build_parser
from idea_explorer.cli.streams import say
from idea_explorer.cli.user_parser import TOPICS
from idea_explorer.domain.errors import InvalidRequestError

PAGES = {
    "exit-codes": """\
Exit codes

{exit_codes}

`explore`, `resume`, `watch` and `submit --watch` end with the code of the run.
Other commands end with 0 if they did what was asked, and with 1 if not: `idea
tool` if the tool failed, `idea doctor` if there is a problem, `idea approve` if
something could not be written or nothing was decided, `idea replay` if the
report came out differently.""",
    "statuses": """\
Statuses of an exploration

  queued                 waits for a worker
  running                at work
  waiting for approval   a person has to decide: idea approve ID --list
  completed              done; a report is published
  partial                ended early; idea resume ID continues from there
  timed out              reached its deadline; idea resume ID continues
  cancelled              somebody stopped it; what was found is kept
  failed                 nothing is published; idea report ID shows any text

`idea list --status` takes each of them. JSON spells two of them
`awaiting_approval` and `timed_out`; `--status` takes that, too.""",
    "verdicts": """\
Verdicts of a research report

  STRONG YES        the problem is proven, and nothing found stands in the way
  CONDITIONAL YES   worth doing if the conditions hold that the report names,
                    with a test for each
  PIVOT             not as stated, but the research points to a related idea
  PASS              the time is better spent elsewhere; the report says what
                    would have to change

A verdict is the model's reading of the sources that it cites, in the mode
`business`. Where a source does not support a sentence, the report marks it. The
offline model has no verdict of its own: it repeats the most common one of the
team's related research, and says so.""",
    "ids": """\
How to name an exploration

  0199a1b2-c3d4-7…   its id, as `idea list --quiet` prints it
  d5e6f7a8           its end, as `idea list` shows it on a terminal, or its
                     beginning: at least four characters, and no other id has
                     them there
  last, -1           the newest one
  -2, -3, …          the ones before it

The same names work for --continue-from. On this machine they are about the
folder that --research names, or the current one; with IDEA_API_URL or a
profile, about that deployment.""",
    "settings": """\
Where settings come from

  1. the options of a command
  2. variables of the environment; an empty one turns a setting off
  3. the file that `idea config path` prints, written by `idea config set`
  4. defaults

Keys are never in that file: `idea config set ANTHROPIC_API_KEY` reads the key
without showing it and stores it encrypted. The key to that is in the system's
keyring or, where there is none, in a file that only you can read.

  idea config profile add work URL     a deployment, with its token
  idea config profile use work         talk to it from now on
  idea list --profile work             or only this once
  idea list --local                    or to this machine""",
    "approvals": """\
Deciding on changes and plans

  idea approve ID --list                    what is proposed, in numbered hunks
  idea approve ID                           approve everything that is pending
  idea approve ID APPROVAL --hunks 1,3      only a part of one change
  idea approve ID APPROVAL --content FILE   an edited version of it, in a file
  idea reject ID --reason "…"               the model reads the reason
  idea resume ID                            the run continues, on this machine

Try it without a key, in a folder of your own:
  idea explore --toolset code 'Replace "colour" with "color" in notes.md'""",
    "privacy": """\
Private text

A run that has read your uploaded files or your team's research has "read
private text". From then on it opens only web pages that the request names,
pages that its searches found and domains that IDEA_FETCH_DOMAINS lists: the
address of any other page could carry what was read to a stranger.
--allow-fetch-after-private lifts that for one run, and
IDEA_SEARCH_WITH_PRIVATE_TEXT=false takes web search away as well.""",
}


def run(arguments: argparse.Namespace) -> int:
    if arguments.topic is None:
        build_parser().print_help()
        print()
        say(f"topics: {', '.join(TOPICS)}")
        return 0
    if page := PAGES.get(arguments.topic):
        page = page.replace("{exit_codes}", _list_exit_codes())
        print(fit_page(page, terminal_width() or DEFAULT_COLUMNS))
        return 0
    commands = build_parser().commands
    command = commands.get(arguments.topic)
    if command is None:
        meant = suggest(arguments.topic, [*TOPICS, *commands]) or "."
        raise InvalidRequestError(
            f'There is no topic or command "{arguments.topic}"{meant}',
            hint=f"Topics are: {', '.join(TOPICS)}.",
        )
    command.print_help()
    return 0


def _list_exit_codes() -> str:
    codes: dict[int, list[str]] = {
        BAD_USAGE: ["the command was used incorrectly, or the configuration is wrong"],
        EXIT_INTERRUPTED: ["interrupted with Ctrl-C before there was anything to keep"],
    }
    for status, code in EXIT.items():
        codes.setdefault(code, []).append(name_status(status))
    return "\n".join(f"  {code:<3}   {', '.join(codes[code])}" for code in sorted(codes))
