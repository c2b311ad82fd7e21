"""The API: each route translates a request into a use case and its outcome into an answer."""

import os

from idea_explorer import serverless, wiring
from idea_explorer.api.app import handler_for
from idea_explorer.settings import Settings

service = wiring.service(Settings.from_environment(os.environ), wiring.function_log())
handler = serverless.traced(handler_for(service))
