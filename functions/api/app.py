"""The API: each route translates a request into a use case and its outcome into an answer."""

from idea_explorer import deployment, serverless, wiring
from idea_explorer.api.app import handler_for

service = wiring.service(deployment.settings(), serverless.log())
handler = serverless.traced(handler_for(service))
