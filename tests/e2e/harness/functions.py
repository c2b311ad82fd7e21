"""Functions as Lambda runs them: an environment for each invocation at a time, warm ones used again."""

import json
import threading
from pathlib import Path
from typing import Any

from tests.e2e.harness.runtime import Answer, Environment, Function, failed

THROTTLED = "TooManyRequestsException"


class Functions:
    """Knows functions by name. Keeps what each of them wrote to its log, and how often it was called."""

    def __init__(self, logs: Path) -> None:
        self.folder = logs
        self._functions: dict[str, Function] = {}
        self._idle: dict[str, list[Environment]] = {}
        self._busy: dict[str, list[Environment]] = {}
        self._lock = threading.Lock()
        self.invocations: dict[str, list[Any]] = {}
        self.most_at_once: dict[str, int] = {}

    def add(self, function: Function) -> None:
        with self._lock:
            self._functions[function.name] = function
            self._idle[function.name] = []
            self._busy[function.name] = []
            self.invocations[function.name] = []
            self.most_at_once[function.name] = 0

    def warm(self, name: str) -> None:
        """Start an environment before it is needed."""
        with self._lock:
            function = self._functions[name]
            self._idle[name].append(Environment(function, self._log_path(name)))

    def invoke(self, name: str, event: Any) -> Answer:
        """Invoke and wait, as the workflow does."""
        environment = self._take(name, event)
        if environment is None:
            return failed(THROTTLED, "Rate Exceeded.")
        try:
            return environment.invoke(json.dumps(event).encode())
        finally:
            self._give_back(environment)

    def kill(self, name: str) -> int:
        """Kill whatever runs of a function now; says how many that were."""
        with self._lock:
            running = list(self._busy[name])
        for environment in running:
            environment.kill()
        return len(running)

    def restart(self, name: str) -> None:
        """End every environment of a function, busy or idle: the next invocation starts a new one."""
        self.kill(name)
        with self._lock:
            idle, self._idle[name] = self._idle[name], []
        for environment in idle:
            environment.close()

    def running(self, name: str) -> int:
        with self._lock:
            return len(self._busy[name])

    def log(self, name: str) -> str:
        path = self._log_path(name)
        return path.read_text("utf-8", "replace") if path.exists() else ""

    def log_lines(self, name: str) -> list[dict[str, Any]]:
        """The structured lines of a function's log."""
        lines = [line for line in self.log(name).splitlines() if line.startswith("{")]
        return [json.loads(line) for line in lines]

    def close(self) -> None:
        with self._lock:
            environments = [
                environment
                for group in (*self._idle.values(), *self._busy.values())
                for environment in group
            ]
            self._functions.clear()
        for environment in environments:
            environment.close()

    def _take(self, name: str, event: Any) -> Environment | None:
        with self._lock:
            function = self._functions[name]
            busy = self._busy[name]
            self.invocations[name].append(event)
            if function.reserved is not None and len(busy) >= function.reserved:
                return None
            idle = self._idle[name]
            environment = idle.pop() if idle else Environment(function, self._log_path(name))
            busy.append(environment)
            self.most_at_once[name] = max(self.most_at_once[name], len(busy))
            return environment

    def _give_back(self, environment: Environment) -> None:
        name = environment.function.name
        with self._lock:
            if environment in self._busy[name]:
                self._busy[name].remove(environment)
            usable = environment.alive and name in self._functions
            if usable:
                self._idle[name].append(environment)
        if not usable:
            environment.close()

    def _log_path(self, name: str) -> Path:
        return self.folder / f"{name}.log"
