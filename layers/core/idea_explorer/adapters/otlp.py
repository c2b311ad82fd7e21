"""Exports spans: OTLP over HTTP, configured by the standard OTEL_ variables.

The provider is not the global one, with which the Anthropic client would trace the same calls again and
send trace headers. A slow or missing collector costs a run three seconds at its end.
"""

from collections.abc import Callable
from contextlib import suppress
from functools import cache

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, OTELResourceDetector, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Tracer

from idea_explorer.domain.dataclass import dataclass
from idea_explorer.domain.deadline import run_with_time_limit

FLUSH_SECONDS = 3.0  # a frozen Lambda sends nothing, but no run may wait long for its spans


@dataclass(frozen=True, slots=True)
class Tracing:
    tracer: Tracer
    flush: Callable[[], None]


@cache  # one provider per process, because it has a thread that exports
def otlp_tracing(service: str) -> Tracing:
    """OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES take precedence over `service`."""
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
