"""Spans on their way out: OTLP over HTTP, as the standard OTEL_ variables say.

The provider is ours alone. A global one would have the Anthropic client trace the same calls again, and
send trace headers along. A collector that is slow, or not there, costs a run three seconds at its end.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, OTELResourceDetector, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Tracer

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
        # the SDK's own time limit on flushing is not kept
        thread = threading.Thread(target=provider.force_flush, name="flush-spans", daemon=True)
        thread.start()
        thread.join(FLUSH_SECONDS)

    return Tracing(provider.get_tracer(service), flush)
