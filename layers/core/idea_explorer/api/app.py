"""The API's Lambda handler: routes an API Gateway event and returns a proxy response."""

import threading
import traceback
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from aws_lambda_powertools.event_handler import APIGatewayRestResolver, Response
from aws_lambda_powertools.event_handler.exceptions import NotFoundError
from aws_lambda_powertools.utilities.data_classes import APIGatewayProxyEvent

from idea_explorer.api.console import CONSOLE_ROUTES
from idea_explorer.api.http import (
    SECURITY_HEADERS,
    ApiCall,
    ApiResponse,
    LambdaContext,
    RequestError,
)
from idea_explorer.api.routes import ROUTES, Route
from idea_explorer.ports import Log
from idea_explorer.usecases.deps import Deps

Handler: TypeAlias = Callable[[Mapping[str, Any], LambdaContext], dict[str, Any]]


class Resolver(APIGatewayRestResolver):
    """Powertools keeps the current event on the class, because Lambda handles one call at a time.
    `idea serve` handles many at once, so each thread has a resolver with its own event."""

    def __init__(self, deps: Deps) -> None:
        super().__init__(debug=False)
        self.matched = ""
        for route in (*ROUTES, *CONSOLE_ROUTES):
            self.route(route.path, method=route.method)(self._wrap(route, deps))
        self.exception_handler(Exception)(lambda error: _respond_to_error(error, deps.log))

    def _wrap(self, route: Route, deps: Deps) -> Callable[..., Response[str]]:
        def serve(**path: str) -> Response[str]:
            self.matched = route.path
            call = ApiCall.from_event(self.current_event, path, self.lambda_context, route.max_body)
            if not route.public and not call.owner:
                raise RequestError(401)
            return _to_proxy_response(route.handle(call, deps))

        return serve

    def _to_proxy_event(self, event: dict[str, Any]) -> APIGatewayProxyEvent:
        self.current_event = APIGatewayProxyEvent(event)
        return self.current_event


class _Threads(threading.local):
    def __init__(self, deps: Deps) -> None:
        self.resolver = Resolver(deps)


def build_handler(deps: Deps) -> Handler:
    """Every response has our error shape and security headers, whatever the request was."""
    threads = _Threads(deps)

    def handle(event: Mapping[str, Any], context: LambdaContext) -> dict[str, Any]:
        resolver = threads.resolver
        began = deps.clock.monotonic()
        resolver.matched = ""
        resolver.lambda_context = context  # type: ignore[assignment]  # only the part that we use
        response = resolver.resolve(event, resolver.lambda_context)
        deps.log.info(
            "request",
            route=f"{event.get('httpMethod')} {resolver.matched or 'unknown'}",
            status=response["statusCode"],
            durationMs=round((deps.clock.monotonic() - began) * 1_000),
        )
        return response

    return handle


def _to_proxy_response(response: ApiResponse) -> Response[str]:
    return Response(
        status_code=response.status,
        content_type=response.content_type if response.body is not None else None,
        body=response.text(),
        headers={**SECURITY_HEADERS, **response.headers},
    )


def _respond_to_error(error: Exception, log: Log) -> Response[str]:
    if isinstance(error, NotFoundError):
        error = RequestError(404, "No such route.")
    refused = RequestError.of(error)
    if refused.status >= 500:
        # only the stack frames: the message may quote what was sent in
        frames = traceback.format_tb(error.__traceback__)
        log.error("request_failed", errorType=type(error).__name__, traceback="".join(frames))
    headers = {"WWW-Authenticate": "Bearer"} if refused.status == 401 else {}
    body = refused.to_response().model_dump(exclude_none=True)
    return _to_proxy_response(ApiResponse(refused.status, body, headers=headers))
