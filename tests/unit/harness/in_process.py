"""Functions of the harness without processes: their handlers are called right here."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

from tests.e2e.harness.functions import Functions
from tests.e2e.harness.runtime import Answer, Function, failed

Handler = Callable[[Any], Any]


class InProcessFunctions(Functions):
    def __init__(self) -> None:
        self._handlers: dict[str, Handler] = {}
        super().__init__(Path(), lambda function, _: InProcess(function, self._handlers))  # type: ignore[arg-type,return-value]

    def serve(self, name: str, handler: Handler, **settings: Any) -> None:
        self._handlers[name] = handler
        self.add(Function(name, Path(), timeout=1, memory=128, environment={}, **settings))


class InProcess:
    """As `runtime.Environment`. The variables are those by which the SDK knows that it is in Lambda."""

    alive = True

    def __init__(self, function: Function, handlers: dict[str, Handler]) -> None:
        self.function = function
        self._handler = handlers[function.name]

    def invoke(self, event: bytes, trace: str) -> Answer:
        variables = {"AWS_LAMBDA_FUNCTION_NAME": self.function.name, "_X_AMZN_TRACE_ID": trace}
        with patch.dict(os.environ, variables):
            try:
                return Answer(self._handler(json.loads(event)))
            except Exception as error:  # noqa: BLE001  # whatever a handler raises
                return failed(type(error).__name__, str(error))

    def close(self) -> None:
        """Nothing to end."""
