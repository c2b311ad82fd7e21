"""Functions of the harness without processes: their handlers are called right here."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

from tests.e2e.harness.functions import Functions
from tests.e2e.harness.runtime import Answer, Function, failed
from tests.e2e.harness.streams import Sink

Handler = Callable[[Any], Any]
Traced = Callable[[Any, str], Any]


def in_lambda(name: str, handler: Handler) -> Traced:
    """With the variables by which the SDK knows that it is in Lambda. They are the whole process's: not
    for handlers that run at once."""

    def run(event: Any, trace: str) -> Any:
        variables = {"AWS_LAMBDA_FUNCTION_NAME": name, "_X_AMZN_TRACE_ID": trace}
        with patch.dict(os.environ, variables):
            return handler(event)

    return run


class InProcessFunctions(Functions):
    def __init__(self) -> None:
        self._handlers: dict[str, Traced] = {}
        super().__init__(Path(), lambda function, _: InProcess(function, self._handlers))  # type: ignore[arg-type,return-value]

    def serve(self, name: str, handler: Handler, *, alone: bool = False, **settings: Any) -> None:
        """`alone` is for handlers that use the SDK, one at a time."""
        self._handlers[name] = (
            in_lambda(name, handler) if alone else lambda event, _: handler(event)
        )
        self.add(Function(name, Path(), timeout=1, memory=128, environment={}, **settings))


class InProcess:
    """As `runtime.Environment`."""

    alive = True

    def __init__(self, function: Function, handlers: dict[str, Traced]) -> None:
        self.function = function
        self._handler = handlers[function.name]

    def invoke(self, event: bytes, trace: str, sink: Sink | None = None) -> Answer:
        """Where the response is streamed, a handler returns its parts."""
        try:
            result = self._handler(json.loads(event), trace)
            if sink is None:
                return Answer(result)
            for part in result:
                sink(part)
            return Answer(None)
        except Exception as error:  # noqa: BLE001  # whatever a handler raises
            return failed(type(error).__name__, str(error))

    def close(self) -> None:
        """Nothing to end."""
