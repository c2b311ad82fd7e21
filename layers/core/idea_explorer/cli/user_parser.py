"""The commands about this program itself: settings, help, completion."""

import argparse
from typing import TYPE_CHECKING

from idea_explorer.cli.flags import add_command, add_json, add_profile, add_research

if TYPE_CHECKING:
    from idea_explorer.cli.flags import Commands

SHELLS = ("bash", "zsh", "fish")
TOPICS = ("exit-codes", "statuses", "verdicts", "ids", "settings", "approvals", "privacy")


def add_user_commands(commands: "Commands") -> None:
    doctor = add_command(
        commands, "doctor", "doctor.run", "check the set-up: what is missing and how to fix it"
    )
    add_research(doctor)
    add_profile(doctor)
    add_json(doctor)
    _add_config(commands)
    completion = add_command(
        commands, "completion", "completion.run", "print a script that completes commands with TAB"
    )
    completion.add_argument("shell", choices=SHELLS, metavar="shell", help="bash, zsh or fish")
    words = completion.add_argument(
        "words",
        nargs=argparse.REMAINDER,
        help="print what may follow these words instead; the scripts call that",
    )
    words.required = False  # which argparse says of every argument that takes the rest
    topics = add_command(commands, "help", "help.run", "explain a topic or a command")
    topics.add_argument("topic", nargs="?", help=f"{', '.join(TOPICS)}, or the name of a command")


def _add_config(commands: "Commands") -> None:
    config = add_command(commands, "config", "config.show", "show and change your settings")
    add_json(config)
    actions = config.add_subparsers(title="what to do", metavar="ACTION")
    add_json(add_command(actions, "list", "config.show", "show the settings of the file"))
    add_command(actions, "path", "config.print_path", "print where the file is")
    get = add_command(actions, "get", "config.get", "print one setting")
    set_ = add_command(
        actions, "set", "config.set_value", "store a setting; a key is read without being shown"
    )
    unset = add_command(actions, "unset", "config.unset", "remove a setting")
    for command in (get, set_, unset):
        command.add_argument("name", help="the name of a variable, as in docs/settings.md")
    set_.add_argument(
        "value", nargs="?", help="its value; a key is read from the terminal or stdin"
    )
    profile = add_command(
        actions, "profile", "config.list_profiles", "the deployments that you work with"
    )
    kinds = profile.add_subparsers(title="what to do", metavar="ACTION")
    add = add_command(
        kinds,
        "add",
        "config.add_profile",
        "store a deployment; its token is read without being shown",
    )
    use = add_command(
        kinds, "use", "config.use_profile", "talk to this deployment from now on; `local` for none"
    )
    remove = add_command(kinds, "remove", "config.remove_profile", "forget a deployment")
    for command in (add, use, remove):
        command.add_argument("profile_name", metavar="NAME", help="a short name")
    add.add_argument("url", metavar="URL", help="the ApiUrl of the deployment")
    add_command(kinds, "list", "config.list_profiles", "list them")
