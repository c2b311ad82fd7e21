"""`idea admin dead-letters`: what a deployment could not process."""

import argparse
import json
import os
from collections.abc import Callable

from idea_explorer.cli.admin import stack_output
from idea_explorer.domain.errors import InvalidRequestError, MissingError
from idea_explorer.domain.text import one_line, pluralize
from idea_explorer.ports import DeadLetter, DeadLetters
from idea_explorer.settings import Settings
from idea_explorer.wiring.cloud import cloud_dead_letters

MAX_SHOWN = 200  # characters of a body


def list_letters(arguments: argparse.Namespace) -> int:
    with _dead_letters(arguments).receive_all() as letters:
        if arguments.json:
            print(json.dumps([_as_json(letter) for letter in letters]))
            return 0
        for letter in letters:
            of = letter.function.split(":function:")[-1] if letter.function else "queue"
            print(f"{letter.id}  {letter.sent_at:%Y-%m-%d %H:%M}  {of}")
            print(f"  {letter.reason}")
            print(f"  {one_line(letter.body, MAX_SHOWN)}")
        if not letters:
            print("There is nothing that could not be processed.")
    return 0


def retry_letters(arguments: argparse.Namespace) -> int:
    return _each(arguments, lambda store: store.retry, "retried", "Sent {} again.")


def drop_letters(arguments: argparse.Namespace) -> int:
    return _each(arguments, lambda store: store.drop, "dropped", "Dropped {}.")


def _each(
    arguments: argparse.Namespace,
    choose: Callable[[DeadLetters], Callable[[DeadLetter], None]],
    word: str,
    sentence: str,
) -> int:
    wanted = set(arguments.ids)
    if bool(wanted) == arguments.all:
        raise InvalidRequestError(
            "Say which: ids, or --all.", hint="idea admin dead-letters list shows the ids."
        )
    store = _dead_letters(arguments)
    with store.receive_all() as letters:
        if missing := wanted - {letter.id for letter in letters}:
            raise MissingError(f"There is no dead letter {min(missing)}.")
        chosen = [letter for letter in letters if arguments.all or letter.id in wanted]
        for letter in chosen:
            choose(store)(letter)
    if arguments.json:
        print(json.dumps({word: [letter.id for letter in chosen]}))
    else:
        print(sentence.format(pluralize(len(chosen), "dead letter")))
    return 0


def _as_json(letter: DeadLetter) -> dict[str, str]:
    return {
        "id": letter.id,
        "kind": letter.kind,
        "function": letter.function,
        "reason": letter.reason,
        "sent_at": letter.sent_at.isoformat(),
        "body": letter.body,
    }


def _dead_letters(arguments: argparse.Namespace) -> DeadLetters:
    settings = Settings.from_environment(os.environ)

    def output(name: str) -> str:
        return stack_output(name, arguments.stack, settings)

    return cloud_dead_letters(
        settings,
        queue_url=output("QueueUrl"),
        dead_letter_queue_url=output("DeadLetterQueueUrl"),
        failed_calls_queue_url=output("FailedCallsQueueUrl"),
    )
