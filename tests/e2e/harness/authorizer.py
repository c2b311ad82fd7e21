"""A Lambda authorizer as API Gateway runs it: what it answers is kept by token, and applied to each call.

The whole policy is kept, so one that names a single route denies the next. A denial is kept as well;
an error is not. https://docs.aws.amazon.com/apigateway/latest/developerguide/apigateway-use-lambda-authorizer.html
"""

import re
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from tests.e2e.harness.runtime import Answer
from tests.e2e.harness.template import listed

INVOKE = "execute-api:Invoke"
DEFAULT_SECONDS = 300
Refusal = Literal["UNAUTHORIZED", "ACCESS_DENIED", "AUTHORIZER_FAILURE"]


@dataclass(frozen=True)
class Policy:
    """What an authorizer answered: whose call it is, and what that principal may do."""

    principal: str
    statements: tuple[Mapping[str, Any], ...]
    context: Mapping[str, Any]

    def allows(self, method_arn: str) -> bool:
        """As IAM decides: a denial beats every permission, and without one nothing is allowed."""
        effects = {
            statement["Effect"] for statement in self.statements if _covers(statement, method_arn)
        }
        return effects == {"Allow"}


class Authorizer:
    """Decides on calls by asking the function of the authorizer, or by what it said before."""

    def __init__(
        self,
        ask: Callable[[dict[str, Any]], Answer],
        declared: Mapping[str, Any],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if declared.get("FunctionPayloadType", "TOKEN") != "TOKEN":
            raise ValueError("only authorizers of the type TOKEN are known here")
        identity = declared.get("Identity", {})
        self.header = str(identity.get("Header", "Authorization")).lower()
        self._seconds = float(identity.get("ReauthorizeEvery", DEFAULT_SECONDS))
        self._expression = identity.get("ValidationExpression")
        self._ask = ask
        self._clock = clock
        self._known: dict[str, tuple[float, Policy]] = {}
        self._lock = threading.Lock()

    def decide(self, token: str | None, method_arn: str) -> dict[str, Any] | Refusal:
        """What the API function is told of the caller, or the gateway response that it is spared."""
        if not token or (self._expression and not re.fullmatch(self._expression, token)):
            return "UNAUTHORIZED"  # without asking the function
        policy = self._find(token) or self._request(token, method_arn)
        if not isinstance(policy, Policy):
            return policy
        if not policy.allows(method_arn):
            return "ACCESS_DENIED"
        said = {name: _as_text(value) for name, value in policy.context.items()}
        return {**said, "principalId": policy.principal, "integrationLatency": 0}

    def _find(self, token: str) -> Policy | None:
        with self._lock:
            until, policy = self._known.get(token, (0.0, None))
        return policy if self._clock() < until else None

    def _request(self, token: str, method_arn: str) -> Policy | Refusal:
        event = {"type": "TOKEN", "authorizationToken": token, "methodArn": method_arn}
        answer = self._ask(event)
        if not answer.ok:
            message = answer.payload.get("errorMessage")
            return "UNAUTHORIZED" if message == "Unauthorized" else "AUTHORIZER_FAILURE"
        policy = _read_policy(answer.payload)
        if policy is None:
            return "AUTHORIZER_FAILURE"
        if self._seconds:
            with self._lock:
                self._known[token] = (self._clock() + self._seconds, policy)
        return policy


def _read_policy(payload: Any) -> Policy | None:
    """None for what API Gateway cannot use."""
    match payload:
        case {"principalId": str(principal), "policyDocument": {"Statement": statements}}:
            context = payload.get("context") or {}
        case _:
            return None
    if not all(isinstance(value, str | int | float | bool) for value in context.values()):
        return None
    return Policy(principal, tuple(listed(statements)), context)


def _covers(statement: Mapping[str, Any], method_arn: str) -> bool:
    return any(_matches(action, INVOKE) for action in listed(statement["Action"])) and any(
        _matches(resource, method_arn) for resource in listed(statement["Resource"])
    )


def _matches(pattern: str, value: str) -> bool:
    escaped = re.escape(pattern).replace(r"\*", ".*").replace(r"\?", ".")
    return re.fullmatch(escaped, value, re.DOTALL) is not None


def _as_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
