"""What is asked, where from, and that no key is ever shown."""

import pytest

from idea_explorer.domain.errors import ConfigurationError, InvalidRequestError
from scripts.deploy.answers import Answers, Question

EMAIL = Question("AlarmEmail", "ALARM_EMAIL", "E-mail", may_be_empty=True)
KEY = Question("anthropic", "ANTHROPIC_API_KEY", "Anthropic key", secret=True)


class Terminal:
    """Types these answers, one by one."""

    def __init__(self, *answers: str) -> None:
        self._answers = list(answers)
        self.shown: list[str] = []
        self.hidden: list[str] = []

    def ask(self, prompt: str) -> str:
        self.shown.append(prompt)
        return self._answers.pop(0)

    def ask_secret(self, prompt: str) -> str:
        self.hidden.append(prompt)
        return self._answers.pop(0)


def answers(environment: dict[str, str], terminal: Terminal | None) -> Answers:
    typed = terminal or Terminal()
    return Answers(environment, terminal is not None, typed.ask, typed.ask_secret)


def test_the_environment_answers_first_also_with_nothing_where_that_is_an_answer() -> None:
    given = answers({"ALARM_EMAIL": "", "ANTHROPIC_API_KEY": "sk-1\n"}, None)

    given.collect([EMAIL, KEY])

    assert given.found == {"AlarmEmail": "", "anthropic": "sk-1"}
    assert "sk-1" not in repr(given)


def test_a_terminal_is_asked_and_keys_are_read_without_echo() -> None:
    terminal = Terminal("ops@example.com", "", "sk-2")
    given = answers({"ANTHROPIC_API_KEY": ""}, terminal)

    given.collect([EMAIL, KEY])

    assert given.found == {"AlarmEmail": "ops@example.com", "anthropic": "sk-2"}
    assert terminal.shown == ["E-mail: "]
    assert terminal.hidden == ["Anthropic key: "] * 2  # a key is asked for until there is one


def test_without_a_terminal_one_sentence_lists_all_that_is_missing() -> None:
    with pytest.raises(ConfigurationError) as missing:
        answers({}, None).collect([EMAIL, KEY])

    assert missing.value.message == (
        "There is no terminal to ask in, and ALARM_EMAIL, ANTHROPIC_API_KEY are not set."
    )


def test_what_is_no_key_is_refused_without_repeating_it() -> None:
    with pytest.raises(InvalidRequestError) as refused:
        answers({"ANTHROPIC_API_KEY": "two words"}, None).collect([KEY])

    assert "two words" not in refused.value.sentence
