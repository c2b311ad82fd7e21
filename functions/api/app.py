"""The API: each route translates a request into a use case and its outcome into an answer."""

import os

from aws_lambda_powertools import Tracer

from idea_explorer import wiring
from idea_explorer.api.app import handler_for
from idea_explorer.settings import Settings

# what comes in and goes out is not captured: it may be an idea or a report
traced = Tracer(patch_modules=("botocore",)).capture_lambda_handler(
    capture_response=False, capture_error=False
)
handler = traced(
    handler_for(wiring.service(Settings.from_environment(os.environ), wiring.function_log()))
)
