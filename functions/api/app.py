"""The API: each route calls a use case and returns its result as a response."""

from idea_explorer.api.app import build_handler
from idea_explorer.lambda_runtime import deployment, handlers

deps = deployment.deps()
deployment.start_workers()
handler = handlers.logged(build_handler(deps))
