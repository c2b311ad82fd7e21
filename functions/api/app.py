"""The API: each route calls a use case and returns its result as a response."""

from idea_explorer.api.app import build_handler
from idea_explorer.lambda_runtime import deployment, handlers

deps = deployment.deps()
deps.idempotency()  # loads boto3 while the function starts, not in its first call
deployment.start_workers()
handler = handlers.logged(handlers.traced(build_handler(deps)))
