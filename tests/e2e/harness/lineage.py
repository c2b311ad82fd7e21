"""Recursive-loop detection as Lambda does it, by the lineage in the X-Ray trace header.

Lambda counts in the header how often a chain of requests has run a function, the SDK sends the header
with every call, and a service that takes part hands it to the next function. SQS, SNS, S3 and direct
invocations take part; with any other service in the chain (DynamoDB, Step Functions, EventBridge) the
count starts anew. After about 16 runs of a function the next one is refused.
https://docs.aws.amazon.com/lambda/latest/dg/invocation-recursion.html
"""

import uuid
import zlib
from urllib.parse import unquote

TRACE_HEADER = "X-Amzn-Trace-Id"
MAX_RUNS = 16  # "approximately 16 times in the same chain of requests"
_LINEAGE = "Lineage"


def count_runs(trace: str | None, function: str) -> int:
    """How often the chain behind a trace header has run a function already."""
    return _lineage(trace).get(_short(function), 0)


def next_trace(trace: str | None, function: str) -> str:
    """The trace header that a function's invocation gets: the chain so far and this run of it."""
    lineage = _lineage(trace)
    lineage[_short(function)] = lineage.get(_short(function), 0) + 1
    root = _fields(trace).get("Root") or f"1-{uuid.uuid4().hex[:8]}-{uuid.uuid4().hex[:24]}"
    chain = "|".join(f"{name}:{runs}" for name, runs in lineage.items())
    return f"Root={root};Parent={uuid.uuid4().hex[:16]};Sampled=1;{_LINEAGE}={chain}"


def merge_traces(traces: list[str | None]) -> str | None:
    """One trace header for a batch: of each function the longest chain."""
    lineage: dict[str, int] = {}
    for trace in traces:
        for name, runs in _lineage(trace).items():
            lineage[name] = max(runs, lineage.get(name, 0))
    if not lineage:
        return next(iter(traces), None)
    root = next(root for trace in traces if (root := _fields(trace).get("Root")))
    return f"Root={root};{_LINEAGE}=" + "|".join(f"{name}:{runs}" for name, runs in lineage.items())


def _fields(trace: str | None) -> dict[str, str]:
    parts = [part.partition("=") for part in unquote(trace or "").split(";")]  # the SDK quotes it
    return {name: value for name, _, value in parts}


def _lineage(trace: str | None) -> dict[str, int]:
    entries = [entry for entry in _fields(trace).get(_LINEAGE, "").split("|") if entry]
    return {name: int(runs) for name, _, runs in (entry.partition(":") for entry in entries)}


def _short(function: str) -> str:
    return f"{zlib.crc32(function.encode()):08x}"
