"""The API: each route translates a request into a use case and its outcome into an answer."""

from idea_explorer import deployment, serverless
from idea_explorer.api.app import handler_for

handler = serverless.logged(serverless.traced(handler_for(deployment.service())))
