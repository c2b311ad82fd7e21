"""The HTTP API: one handler for API Gateway and for `idea serve`."""
