"""The API: each route calls a use case and returns its result as a response."""

from idea_explorer import deployment, serverless
from idea_explorer.api.app import handler_for

handler = serverless.logged(serverless.traced(handler_for(deployment.service())))
