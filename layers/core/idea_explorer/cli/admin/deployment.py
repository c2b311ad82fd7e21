"""Which deployment an operator means, and what its secrets are called."""

import os
from dataclasses import dataclass

from idea_explorer.domain.errors import ConfigurationError
from idea_explorer.ports import SecretStore
from idea_explorer.settings import Settings
from idea_explorer.wiring.cloud import operator_secrets, stack_outputs

# by variable, as in a function's environment, or by the stack's output
NAMES = {
    "tokens": ("API_TOKENS_SECRET_ID", "ApiTokensSecretId"),
    "github": ("GITHUB_SECRET_ID", "GitHubSecretId"),
    "anthropic": ("ANTHROPIC_SECRET_ID", "AnthropicSecretId"),
    "qdrant": ("QDRANT_SECRET_ID", "QdrantSecretId"),
    "tidal": ("TIDAL_SECRET_ID", "TidalSecretId"),
    "webhook": ("WEBHOOK_SECRET_ID", "WebhookSecretId"),
}


@dataclass(frozen=True)
class Place:
    secrets: SecretStore
    name: str


def place_of(secret: str, stack: str | None) -> Place:
    """Where a deployment keeps a secret; raises ConfigurationError where no deployment is named."""
    settings = Settings.from_environment(os.environ)
    variable, output = NAMES[secret]
    secrets = operator_secrets(settings)
    if given := os.environ.get(variable):
        return Place(secrets, given)
    named = stack or os.environ.get("IDEA_STACK")
    if not named:
        raise ConfigurationError(
            "Which deployment?", hint="Name its stack with --stack or IDEA_STACK."
        )
    outputs = stack_outputs(settings, named)
    if output not in outputs:
        raise ConfigurationError(f"The stack {named} has no output {output}.")
    return Place(secrets, outputs[output])
