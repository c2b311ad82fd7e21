"""From API Gateway's event to a response."""

import threading
import traceback
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from aws_lambda_powertools.event_handler import APIGatewayRestResolver, Response
from aws_lambda_powertools.event_handler.exceptions import NotFoundError
from aws_lambda_powertools.utilities.data_classes import APIGatewayProxyEvent

from idea_explorer.api.answer import Answer
from idea_explorer.api.call import Context, call_from
from idea_explorer.api.console import CONSOLE_ROUTES
from idea_explorer.api.errors import RequestError, request_error
from idea_explorer.api.routes import ROUTES, Route
from idea_explorer.ports import Log
from idea_explorer.usecases.service import Service

Handler: TypeAlias = Callable[[Mapping[str, Any], Context], dict[str, Any]]


class Resolver(APIGatewayRestResolver):
    """Powertools stores the current event on a class, because Lambda runs one at a time. `idea serve`
    answers many at once: each thread has a resolver, and each resolver its own event."""

    def __init__(self, service: Service) -> None:
        super().__init__(debug=False)
        self.matched = ""
        for route in (*ROUTES, *CONSOLE_ROUTES):
            self.route(route.path, method=route.method)(self._serving(route, service))
        self.exception_handler(Exception)(lambda error: _failed(error, service.log))

    def _serving(self, route: Route, service: Service) -> Callable[..., Response[str]]:
        def serve(**path: str) -> Response[str]:
            self.matched = route.path
            call = call_from(self.current_event, path, self.lambda_context, route.max_body)
            if not route.open and not call.owner:
                raise RequestError(401)
            return _response(route.handle(call, service))

        return serve

    def _to_proxy_event(self, event: dict[str, Any]) -> APIGatewayProxyEvent:
        self.current_event = APIGatewayProxyEvent(event)
        return self.current_event


class _Threads(threading.local):
    def __init__(self, service: Service) -> None:
        self.resolver = Resolver(service)


def handler_for(service: Service) -> Handler:
    """The API of a service. Whatever the request, the response has our shape and our headers."""
    threads = _Threads(service)

    def handle(event: Mapping[str, Any], context: Context) -> dict[str, Any]:
        resolver = threads.resolver
        began = service.clock.monotonic()
        resolver.matched = ""
        resolver.lambda_context = context  # type: ignore[assignment]  # the part of it we use
        answer = resolver.resolve(event, resolver.lambda_context)
        service.log.info(
            "request",
            route=f"{event.get('httpMethod')} {resolver.matched or 'unknown'}",
            status=answer["statusCode"],
            durationMs=round((service.clock.monotonic() - began) * 1_000),
        )
        return answer

    return handle


def _response(answer: Answer) -> Response[str]:
    return Response(
        status_code=answer.status,
        content_type=answer.content_type if answer.body is not None else None,
        body=answer.text(),
        headers=dict(answer.all_headers()),
    )


def _failed(error: Exception, log: Log) -> Response[str]:
    if isinstance(error, NotFoundError):
        error = RequestError(404, "There is no such route.")
    answered = request_error(error)
    if answered.status >= 500:
        # the frames, not the message: a message may quote what was sent in
        frames = traceback.format_tb(error.__traceback__)
        log.error("request_failed", errorType=type(error).__name__, traceback="".join(frames))
    headers = {"WWW-Authenticate": "Bearer"} if answered.status == 401 else {}
    return _response(
        Answer(answered.status, answered.answer.model_dump(exclude_none=True), headers=headers)
    )
