"""Follow: sends the events of a run as they happen, until it has ended or a minute is over."""

from idea_explorer.api.app import build_handler
from idea_explorer.lambda_runtime import deployment, handlers

handler = handlers.logged(build_handler(deployment.deps()))
