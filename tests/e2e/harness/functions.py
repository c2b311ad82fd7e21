"""Functions as Lambda runs them: an environment for each invocation at a time, warm ones used again."""

import json
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.e2e.harness.account import Account
from tests.e2e.harness.limits import SYNC_REQUEST_BYTES
from tests.e2e.harness.lineage import MAX_RUNS, count_runs, next_trace
from tests.e2e.harness.runtime import Answer, Environment, Function
from tests.e2e.harness.streams import Sink

THROTTLED = "TooManyRequestsException"
RECURSIVE = "RecursiveInvocationException"
# how Lambda answers to an invocation that it does not run
STATUSES = {
    THROTTLED: 429,
    RECURSIVE: 400,
    "RequestTooLargeException": 413,
    "ResourceNotFoundException": 404,
}


def refused(error: str, message: str, reason: str | None = None) -> Answer:
    """What Lambda says when it does not run a function."""
    said = {"Type": "User", "message": message, **({"Reason": reason} if reason else {})}
    return Answer(said, error, STATUSES[error])


def name_in(reference: str) -> str:
    """The function's name in a name or an ARN, without the version or alias that either may end in."""
    _, found, rest = reference.rpartition("function:")
    return (rest if found else reference).partition(":")[0]


class Functions:
    """Knows functions by name. Keeps what each of them wrote to its log, how often it was called, and how
    many of its invocations were dropped as a recursive loop (`RecursiveInvocationsDropped`)."""

    def __init__(
        self, logs: Path, start: Callable[[Function, Path], Environment] = Environment
    ) -> None:
        """`start` makes an execution environment; its log goes to the file."""
        self.folder = logs
        self._start = start
        self._functions: dict[str, Function] = {}
        self._idle: dict[str, list[Environment]] = {}
        self._busy: dict[str, list[Environment]] = {}
        self._lock = threading.Lock()
        self.invocations: dict[str, list[Any]] = {}
        self.most_at_once: dict[str, int] = {}
        self.recursive_drops: Counter[str] = Counter()
        self._accounts: dict[str, Account] = {}

    def open_account(self, name: str, limit: int) -> Account:
        """An account of its own for some functions. Those of one that was never opened share a new one."""
        with self._lock:
            return self._accounts.setdefault(name, Account(limit))

    def account(self, name: str) -> Account:
        with self._lock:
            return self._accounts.setdefault(name, Account())

    def exists(self, name: str) -> bool:
        with self._lock:
            return name_in(name) in self._functions

    def add(self, function: Function) -> None:
        if function.reserved is not None:
            self.account(function.account).reserve(function.name, function.reserved)
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
            self._idle[name].append(self._start(function, self._log_path(name)))

    def invoke(
        self, reference: str, event: Any, trace: str | None = None, sink: Sink | None = None
    ) -> Answer:
        """Invoke and wait, as the workflow does. `trace` is the trace header that the call came with; `sink`
        gets the parts of a response that is streamed."""
        name, sent = name_in(reference), json.dumps(event).encode()
        if not self.exists(name):
            return refused("ResourceNotFoundException", f"Function not found: {reference}")
        if len(sent) > SYNC_REQUEST_BYTES:
            message = f"Request must be smaller than {SYNC_REQUEST_BYTES} bytes"
            return refused("RequestTooLargeException", message)
        if count_runs(trace, name) >= MAX_RUNS:
            self.recursive_drops[name] += 1
            return refused(RECURSIVE, "Lambda has detected a recursive loop and stopped it.")
        account = self.account(self._functions[name].account)
        if reason := account.enter(name):
            return refused(THROTTLED, "Rate Exceeded.", reason)
        try:
            environment = self._take(name, event)
            try:
                return environment.invoke(sent, next_trace(trace, name), sink)
            finally:
                self._give_back(environment)
        finally:
            account.leave(name)

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

    def _take(self, name: str, event: Any) -> Environment:
        with self._lock:
            function = self._functions[name]
            self.invocations[name].append(event)
            idle = self._idle[name]
            environment = idle.pop() if idle else None
        if environment is None:  # others need not wait for a cold start
            environment = self._start(function, self._log_path(name))
        with self._lock:
            busy = self._busy[name]
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
