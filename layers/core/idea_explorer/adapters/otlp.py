"""Spans on their way out: OTLP over HTTP, as the standard OTEL_ variables say.

The provider is ours alone. A global one would have the Anthropic client trace the same calls again, and
send trace headers along. A collector that is slow, or not there, costs a run three seconds at its end.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, OTELResourceDetector, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Tracer

from idea_explorer.domain.time_limit import run_with_time_limit

FLUSH_SECONDS = 3.0  # a frozen Lambda sends nothing, but a run must not wait for its spans


@dataclass(frozen=True, slots=True)
class Tracing:
    tracer: Tracer
    flush: Callable[[], None]


@cache  # one provider for the process: it has a thread that sends
def otlp_tracing(service: str) -> Tracing:
    """OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES go before what is said here."""
    named = Resource.create().merge(Resource({SERVICE_NAME: service}))
    provider = TracerProvider(
        resource=named.merge(OTELResourceDetector().detect()), shutdown_on_exit=False
    )
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))

    def flush() -> None:
        # the SDK ignores its own time limit on flushing; and no run fails because of its spans
        with suppress(Exception):
            run_with_time_limit(provider.force_flush, FLUSH_SECONDS, name="flush-spans")

    return Tracing(provider.get_tracer(service), flush)
