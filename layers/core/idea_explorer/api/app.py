"""The API's Lambda handler: routes an API Gateway event and returns a proxy response.

Without Powertools' resolver, which loads the classes of all event sources, asyncio and its own OpenAPI
(ADR 12).
"""

import traceback
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

from idea_explorer.api.http import (
    SECURITY_HEADERS,
    ApiCall,
    ApiResponse,
    LambdaContext,
    RequestError,
)
from idea_explorer.api.routes import CONSOLE_ROUTES, ROUTES, Route
from idea_explorer.ports import Log
from idea_explorer.usecases.deps import Deps

Handler: TypeAlias = Callable[[Mapping[str, Any], LambdaContext], dict[str, Any]]


def build_handler(deps: Deps) -> Handler:
    """Every response has our error shape and security headers, whatever the request was."""

    def handle(event: Mapping[str, Any], context: LambdaContext) -> dict[str, Any]:
        began = deps.clock.monotonic()
        method, address = str(event.get("httpMethod")), str(event.get("path") or "/")
        route, path = _find_route(method, address)
        try:
            response = _serve(route, path, event, context, deps)
        except Exception as error:  # noqa: BLE001  whatever it was, the caller gets our shape
            response = _respond_to_error(error, deps.log)
        deps.log.info(
            "request",
            route=f"{method} {route.path if route else 'unknown'}",
            status=response.status,
            durationMs=round((deps.clock.monotonic() - began) * 1_000),
        )
        return _to_proxy_response(response)

    return handle


def _serve(
    route: Route | None,
    path: Mapping[str, str],
    event: Mapping[str, Any],
    context: LambdaContext,
    deps: Deps,
) -> ApiResponse:
    if route is None:
        raise RequestError(404, "No such route.")
    call = ApiCall.from_event(event, path, context, route.max_body)
    if not route.public and not call.owner:
        raise RequestError(401)
    return route.handle(call, deps)


def _find_route(method: str, address: str) -> tuple[Route | None, dict[str, str]]:
    """The route of an address, and the parts of it that the route names. A slash at the end is ignored."""
    given = address.rstrip("/").split("/")
    for route in (*ROUTES, *CONSOLE_ROUTES):
        wanted = route.path.rstrip("/").split("/")
        if route.method == method and len(wanted) == len(given):
            parts = list(zip(wanted, given, strict=True))
            if all(part == here or (here and part.startswith("<")) for part, here in parts):
                return route, {part[1:-1]: here for part, here in parts if part.startswith("<")}
    return None, {}


def _to_proxy_response(response: ApiResponse) -> dict[str, Any]:
    headers = {**SECURITY_HEADERS, **response.headers}
    body = response.body
    if body is not None:
        headers["Content-Type"] = response.content_type
    return {
        "statusCode": response.status,
        "multiValueHeaders": {name: [value] for name, value in headers.items()},
        "body": body if isinstance(body, Iterator) else response.text(),
        "isBase64Encoded": False,
    }


def _respond_to_error(error: Exception, log: Log) -> ApiResponse:
    refused = RequestError.of(error)
    if refused.status >= 500:
        # only the stack frames: the message may quote what was sent in
        frames = traceback.format_tb(error.__traceback__)
        log.error("request_failed", errorType=type(error).__name__, traceback="".join(frames))
    headers = {"WWW-Authenticate": "Bearer"} if refused.status == 401 else {}
    body = refused.to_response().model_dump(exclude_none=True)
    return ApiResponse(refused.status, body, headers=headers)
