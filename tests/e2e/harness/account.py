"""How many functions may run at once in an account, and what Lambda does beyond that."""

import threading
from collections import Counter

NEW_ACCOUNT = 10  # new accounts have reduced concurrency; AWS raises it with use
MIN_UNRESERVED = 100  # on an account with fewer, all of them: nothing can be reserved there


class InvalidParameterValueError(Exception):
    """What PutFunctionConcurrency answers, and so the deployment fails."""


class Account:
    """The concurrent executions that all functions of an account share. A function with reserved
    concurrency has its own, taken out of the account's for as long as it is reserved."""

    def __init__(self, limit: int = NEW_ACCOUNT) -> None:
        self.limit = limit
        self.throttles: Counter[str] = Counter()
        self.most_at_once = 0
        self._running: Counter[str] = Counter()
        self._reserved: dict[str, int] = {}
        self._lock = threading.Lock()

    def reserve(self, function: str, executions: int) -> None:
        """Refused if it leaves the others too few.
        https://docs.aws.amazon.com/lambda/latest/api/API_PutFunctionConcurrency.html"""
        with self._lock:
            reserved = {**self._reserved, function: executions}
            minimum = min(MIN_UNRESERVED, self.limit)
            if executions and self.limit - sum(reserved.values()) < minimum:
                raise InvalidParameterValueError(
                    "Specified ReservedConcurrentExecutions for function decreases account's "
                    f"UnreservedConcurrentExecution below its minimum value of [{minimum}]."
                )
            self._reserved = reserved

    def enter(self, function: str) -> str | None:
        """Take an execution, or give the reason why the invocation is throttled."""
        with self._lock:
            reason = self._find_reason(function)
            if reason:
                self.throttles[function] += 1
                return reason
            self._running[function] += 1
            self.most_at_once = max(self.most_at_once, self._running.total())
            return None

    def leave(self, function: str) -> None:
        with self._lock:
            self._running[function] -= 1

    def _find_reason(self, function: str) -> str | None:
        if function in self._reserved:
            if self._running[function] < self._reserved[function]:
                return None
            return "ReservedFunctionConcurrentInvocationLimitExceeded"
        shared = sum(
            running for name, running in self._running.items() if name not in self._reserved
        )
        if shared < self.limit - sum(self._reserved.values()):
            return None
        return "ConcurrentInvocationLimitExceeded"
