"""The routes of the API as API Gateway resolves them: a tree of resources, each with its methods.

A path goes to the most specific resource, and if that has no such method, to none: API Gateway does not
document that it would try a less specific one.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.e2e.harness.limits import API_SECONDS
from tests.e2e.harness.template import properties

ANY = "ANY"


@dataclass(frozen=True)
class Route:
    """`seconds` is how long API Gateway waits, for a stream's last part too."""

    path: str
    method: str
    function: str
    is_open: bool = False
    streams: bool = False
    seconds: float = API_SECONDS


@dataclass
class _Resource:
    children: dict[str, "_Resource"] = field(default_factory=dict)
    methods: dict[str, Route] = field(default_factory=dict)


class Routes:
    def __init__(self, routes: Iterable[Route]) -> None:
        self._root = _Resource()
        for route in routes:
            resource = self._root
            for part in _split(route.path):
                resource = resource.children.setdefault(part, _Resource())
            resource.methods[route.method] = route

    def find(self, method: str, path: str) -> Route | None:
        resource = self._root
        for part in _split(path):
            names = [name for name in resource.children if name.startswith("{")]
            greedy = [name for name in names if name.endswith("+}")]
            variable = [name for name in names if name not in greedy]
            exact = [part] if part in resource.children else []
            chosen = [*exact, *variable, *greedy]
            if not chosen:
                return None
            resource = resource.children[chosen[0]]
            if chosen[0] in greedy:
                break
        return resource.methods.get(method) or resource.methods.get(ANY)


def declared_routes(names: Mapping[str, str], seconds: float) -> Iterable[Route]:
    """The routes that the template gives to the functions in `names`, by their logical ids."""
    for resource, function in names.items():
        for event in properties(resource)["Events"].values():
            given: dict[str, Any] = event["Properties"]
            streams = given.get("ResponseTransferMode") == "RESPONSE_STREAM"
            timeout = given.get("TimeoutInMillis")
            yield Route(
                path=given["Path"],
                method=given["Method"],
                function=function,
                is_open=given.get("Auth", {}).get("Authorizer") == "NONE",
                streams=streams,
                seconds=timeout / 1_000 if timeout else seconds,
            )


def _split(path: str) -> list[str]:
    return [part for part in path.split("/") if part]
