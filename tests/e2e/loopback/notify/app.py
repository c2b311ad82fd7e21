"""The notify function, but for where it may send to: a receiver on this machine, at the port that the
webhook's address names. Everything else is the deployed code."""

import dataclasses
import importlib.util
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from idea_explorer.adapters.clock import SystemClock
from idea_explorer.adapters.http.connections import WEBHOOK_RULES, is_public_or_loopback
from idea_explorer.adapters.http.public import PublicHttp
from idea_explorer.lambda_runtime import deployment
from idea_explorer.usecases.deps import Deps

DEPLOYED = Path(__file__).parents[4] / "functions" / "notify" / "app.py"
RULES = dataclasses.replace(WEBHOOK_RULES, schemes=frozenset({"http"}), allow=is_public_or_loopback)


class LoopbackPosts:
    def post(self, url: str, body: bytes, headers: Mapping[str, str], timeout: float) -> int:
        here = f"http://127.0.0.1:{urlsplit(url).port}/hook"
        return PublicHttp(SystemClock(), post_rules=RULES).post(here, body, headers, timeout)


deployed = deployment.deps


def deps() -> Deps:
    return dataclasses.replace(deployed(), webhooks=LoopbackPosts)


deployment.deps = deps  # type: ignore[assignment]
spec = importlib.util.spec_from_file_location("deployed_notify", DEPLOYED)
assert spec is not None
assert spec.loader is not None
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
handler = module.handler
