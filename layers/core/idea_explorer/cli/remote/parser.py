"""The commands against a deployment, and their flags."""

import argparse
from collections.abc import Callable

Add = Callable[[str, str, str], argparse.ArgumentParser]


def add_remote_commands(
    add: Add, add_request_flags: Callable[[argparse.ArgumentParser], None]
) -> None:
    """`add` takes a command's name, its module and its help."""
    submit = add("submit", "remote.submit", "send an idea to a deployment")
    submit.add_argument("idea", nargs="?", help="the idea; read from stdin when left out or '-'")
    add_request_flags(submit)
    submit.add_argument("--watch", action="store_true", help="follow it to its end")
    submit.add_argument(
        "--idempotency-key", metavar="KEY", help="the same key starts the same exploration once"
    )
    _for_scripts(submit)

    listing = add("list", "remote.listing", "list your explorations, newest first")
    listing.add_argument("--status", help="only those in this status")
    listing.add_argument("--mode", help="only those of this mode")
    listing.add_argument("--toolset", help="only those of this toolset")
    listing.add_argument("--limit", type=int, metavar="N", help="1 to 100, default 20")
    listing.add_argument("--cursor", help="go on where an earlier list ended")
    _for_scripts(listing)

    webhook = add("webhook", "remote.webhook", "send the message of an exploration once more")
    webhook.add_argument("action", choices=["resend"])
    webhook.add_argument("id", help="the exploration's id")
    _on_this_machine(webhook)
    _for_scripts(webhook)

    revert = add("revert", "revert", "undo what an exploration wrote, by a pull request")
    revert.add_argument("id", help="the exploration's id")
    _on_this_machine(revert)
    _for_scripts(revert)

    for name, text in ONE.items():
        command = add(name, f"remote.{name}", text)
        command.add_argument("id", help="the exploration's id")
        if name == "resume":
            command.add_argument(
                "--max-steps", type=int, metavar="N", help="model calls from now on"
            )
            command.add_argument("--max-cost-usd", type=float, metavar="USD", help="for all runs")
            command.add_argument("--deadline-seconds", type=int, metavar="S", help="for this run")
            command.add_argument("--watch", action="store_true", help="follow it to its end")
        if name in {"report", "resume"}:
            _on_this_machine(command)
        _for_scripts(command)

    for name, text in DECISIONS.items():
        command = add(name, "decisions", text)
        command.set_defaults(approves=name == "approve")
        command.add_argument("id", help="the exploration's id")
        command.add_argument("approval", nargs="?", help="which change; left out, all that wait")
        if name == "approve":
            command.add_argument("--content", metavar="FILE", help="approve this content instead")
        else:
            command.add_argument("--reason", help="why not; the model is told")
        command.add_argument("--list", action="store_true", help="show the changes, decide nothing")
        _on_this_machine(command)
        _for_scripts(command)


ONE = {
    "status": "show how far an exploration has come",
    "watch": "follow an exploration live",
    "report": "print the report",
    "cancel": "stop an exploration soon, keeping what is there",
    "resume": "go on with one that ended early",
}


DECISIONS = {
    "approve": "approve changes that a run proposes",
    "reject": "reject changes that a run proposes",
}


def _on_this_machine(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--research", metavar="DIR", help="without IDEA_API_URL: the folder of the exploration"
    )


def _for_scripts(command: argparse.ArgumentParser) -> None:
    command.add_argument("--json", action="store_true", help="print JSON instead")
    command.add_argument("--quiet", action="store_true", help="only what a script needs")
