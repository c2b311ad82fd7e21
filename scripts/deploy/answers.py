"""What a deployment needs to know from a person: from the environment, or asked in a terminal."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from idea_explorer.domain.errors import ConfigurationError, InvalidRequestError
from idea_explorer.domain.text import is_header_safe


@dataclass(frozen=True)
class Question:
    """`variable` is where the answer may be given. An answer to a secret one is neither shown nor logged."""

    name: str
    variable: str
    text: str
    secret: bool = False
    may_be_empty: bool = False


@dataclass
class Answers:
    """Collects answers. Without a terminal nothing is asked: what is missing is listed at once."""

    environment: Mapping[str, str] = field(repr=False)
    is_terminal: bool
    ask: Callable[[str], str]
    ask_secret: Callable[[str], str]
    found: dict[str, str] = field(default_factory=dict, repr=False)

    def collect(self, questions: list[Question]) -> None:
        """Raises ConfigurationError that lists every answer that is missing."""
        missing: list[Question] = []
        for question in questions:
            answer = self._find(question)
            if answer is None:
                missing.append(question)
            else:
                self.found[question.name] = answer
        if missing:
            names = ", ".join(question.variable for question in missing)
            raise ConfigurationError(
                f"There is no terminal to ask in, and {names} {'is' if len(missing) == 1 else 'are'}"
                " not set.",
                hint="Set each in the environment and deploy again.",
            )

    def _find(self, question: Question) -> str | None:
        given = self.environment.get(question.variable)
        if given or (given is not None and question.may_be_empty):
            return self._check(question, given.strip())
        if not self.is_terminal:
            return None
        read = self.ask_secret if question.secret else self.ask
        while not (answer := read(f"{question.text}: ").strip()) and not question.may_be_empty:
            pass
        return self._check(question, answer)

    def _check(self, question: Question, answer: str) -> str:
        if question.secret and not is_header_safe(answer):
            raise InvalidRequestError(
                f"{question.variable} holds characters that no key has.",
                hint="It is one word without spaces.",
            )
        return answer
