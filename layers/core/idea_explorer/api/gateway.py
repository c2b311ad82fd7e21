"""API Gateway's events, made from the HTTP requests that reach the API on this machine."""

import base64
from collections.abc import Mapping
from typing import Any
from urllib.parse import SplitResult, parse_qs, urlsplit

from idea_explorer.api.http import RequestError
from idea_explorer.domain.dataclass import dataclass

CALL_SECONDS = 29.0  # API Gateway's limit
LOCAL_ARN = "arn:aws:execute-api:local:000000000000:local/local/*/*"


@dataclass(frozen=True)
class LocalContext:
    """`streams`: whether the response may be sent in parts, each when it is there."""

    function_name: str = "api"
    streams: bool = False

    def get_remaining_time_in_millis(self) -> int:
        return int(CALL_SECONDS * 1_000)


def build_gateway_event(
    method: str, target: str, headers: Mapping[str, str], body: bytes, owner: str | None
) -> dict[str, Any]:
    """The event that API Gateway's Lambda proxy integration sends for a request."""
    parts = split_target(target)
    query = parse_qs(parts.query, keep_blank_values=True)
    return {
        "httpMethod": method,
        "path": parts.path,
        "resource": parts.path,
        "headers": dict(headers),
        "multiValueHeaders": {name: [value] for name, value in headers.items()},
        "queryStringParameters": {name: values[-1] for name, values in query.items()} or None,
        "multiValueQueryStringParameters": query or None,
        "pathParameters": None,
        "stageVariables": None,
        "requestContext": {
            "path": parts.path,
            "stage": "local",
            "httpMethod": method,
            "requestId": "local",
            "authorizer": {"owner": owner} if owner else None,
        },
        "body": base64.b64encode(body).decode() if body else None,
        "isBase64Encoded": bool(body),
    }


def split_target(target: str) -> SplitResult:
    try:
        return urlsplit(target)
    except ValueError as error:
        raise RequestError(400, "The address is not valid.") from error
