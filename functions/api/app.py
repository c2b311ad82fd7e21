"""The API: each route translates a request into a use case and its outcome into an answer."""

from idea_explorer.api.app import build_handler
from idea_explorer.lambda_runtime import deployment, handlers

handler = handlers.logged(handlers.traced(build_handler(deployment.service())))
