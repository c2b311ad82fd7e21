"""Commands against a deployment: the same as here, by its API."""
