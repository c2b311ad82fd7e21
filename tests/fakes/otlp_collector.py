"""A collector that takes spans by OTLP over HTTP and keeps them."""

from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans

from tests.fakes.serving import Serving


@dataclass(frozen=True)
class Export:
    path: str
    headers: dict[str, str]
    resource_spans: list[ResourceSpans]


class FakeCollector(Serving):
    _server: ThreadingHTTPServer

    def __init__(self) -> None:
        self.exports: list[Export] = []
        exports = self.exports

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                sent = ExportTraceServiceRequest.FromString(body)
                headers = {name.lower(): value for name, value in self.headers.items()}
                exports.append(Export(self.path, headers, list(sent.resource_spans)))
                self.send_response(200)
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    @property
    def sent(self) -> list[ResourceSpans]:
        return [spans for export in self.exports for spans in export.resource_spans]

    @property
    def names(self) -> list[str]:
        scopes = [scope for spans in self.sent for scope in spans.scope_spans]
        return [span.name for scope in scopes for span in scope.spans]

    @property
    def services(self) -> set[str]:
        said = [attribute for spans in self.sent for attribute in spans.resource.attributes]
        return {each.value.string_value for each in said if each.key == "service.name"}
