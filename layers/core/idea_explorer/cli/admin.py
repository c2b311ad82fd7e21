"""`idea admin`: the tokens and secrets of a deployment, and whether it starts explorations."""

import argparse
import json
import os
from dataclasses import dataclass

from idea_explorer.cli.arguments import read_secret
from idea_explorer.cli.streams import say, warn
from idea_explorer.domain.errors import ConfigurationError, InvalidRequestError
from idea_explorer.domain.text import pluralize
from idea_explorer.ports import SecretStore
from idea_explorer.settings import Settings
from idea_explorer.usecases import manage_tokens
from idea_explorer.wiring.cloud import cloud_admission, operator_secrets, stack_outputs
from idea_explorer.wiring.local import system_clock

# the variable of a function's environment and the stack's output that name each secret
NAMES = {
    "tokens": ("API_TOKENS_SECRET_ID", "ApiTokensSecretId"),
    "github": ("GITHUB_SECRET_ID", "GitHubSecretId"),
    "anthropic": ("ANTHROPIC_SECRET_ID", "AnthropicSecretId"),
    "qdrant": ("QDRANT_SECRET_ID", "QdrantSecretId"),
    "tidal": ("TIDAL_SECRET_ID", "TidalSecretId"),
    "webhook": ("WEBHOOK_SECRET_ID", "WebhookSecretId"),
}
# outputs that a stack has only where this parameter is set
CONDITIONAL = {
    "QdrantSecretId": "QdrantUrl",
    "TidalSecretId": "UseTidal",
    "WebhookSecretId": "WebhookUrl",
}


@dataclass(frozen=True)
class StoredSecret:
    store: SecretStore
    name: str


def require_action(arguments: argparse.Namespace) -> int:
    raise InvalidRequestError("Say what to do.", hint=f"Try: {arguments.examples}.")


def add_token(arguments: argparse.Namespace) -> int:
    secret = _locate("tokens", arguments.stack)
    token = manage_tokens.add_token(arguments.owner, secret.store, secret.name, system_clock())
    if arguments.json:
        print(json.dumps({"owner": arguments.owner, "token": token}))
        return 0
    print(token)
    warn("Save this token now; it is not shown again.")
    return 0


def revoke_tokens(arguments: argparse.Namespace) -> int:
    secret = _locate("tokens", arguments.stack)
    count = manage_tokens.revoke_tokens(
        arguments.owner, secret.store, secret.name, keep_newest=arguments.keep_newest
    )
    if arguments.json:
        print(json.dumps({"owner": arguments.owner, "revoked": count}))
    else:
        tokens = pluralize(count, "token")
        say(f"Revoked {tokens} of {arguments.owner}. This takes effect within six minutes.")
    return 0


def list_tokens(arguments: argparse.Namespace) -> int:
    secret = _locate("tokens", arguments.stack)
    tokens = manage_tokens.list_tokens(arguments.owner, secret.store, secret.name)
    if arguments.json:
        print(json.dumps([{"owner": t.owner, "created": t.created.isoformat()} for t in tokens]))
        return 0
    for token in tokens:
        print(f"{token.owner:<20} since {token.created:%Y-%m-%d}")
    return 0


def set_secret(arguments: argparse.Namespace) -> int:
    """From stdin, so that it appears in no shell history and no process list."""
    secret = _locate(arguments.name, arguments.stack)
    secret.store.write(secret.name, read_secret(arguments.name))
    text = f"The {arguments.name} secret is set. It is used within five minutes, without a deploy."
    print(json.dumps({"set": arguments.name}) if arguments.json else text)
    return 0


def pause(arguments: argparse.Namespace) -> int:
    return _set_paused(arguments, paused=True)


def unpause(arguments: argparse.Namespace) -> int:
    return _set_paused(arguments, paused=False)


def _set_paused(arguments: argparse.Namespace, *, paused: bool) -> int:
    admission = cloud_admission(find_table(arguments.stack))
    admission.set_paused(paused)
    running, waiting = len(admission.slots().holders), admission.count_waiting()
    if arguments.json:
        print(json.dumps({"paused": paused, "running": running, "waiting": waiting}))
        return 0
    backlog = f"{running} running, {waiting} waiting."
    if paused:
        say(f"Paused: no exploration is started until 'idea admin unpause'. {backlog}")
    else:
        say(f"Explorations are started again, within a minute. {backlog}")
    return 0


def find_table(stack: str | None) -> Settings:
    """The settings with the table of the named stack, or of a function's environment."""
    settings = Settings.from_environment(os.environ)
    named = stack or os.environ.get("IDEA_STACK")
    table = (None if named else settings.table_name) or stack_output("TableName", stack, settings)
    return settings.model_copy(update={"table_name": table})


def find_owners(stack: str | None) -> list[str]:
    """Who has a token of the deployment."""
    secret = _locate("tokens", stack)
    tokens = manage_tokens.list_tokens(None, secret.store, secret.name)
    return sorted({token.owner for token in tokens})


def _locate(secret: str, stack: str | None) -> StoredSecret:
    """Where a deployment stores a secret; raises ConfigurationError where no deployment is named. A stack
    that is named wins over the variables of a function's environment."""
    settings = Settings.from_environment(os.environ)
    variable, output = NAMES[secret]
    store = operator_secrets(settings)
    named = stack or os.environ.get("IDEA_STACK")
    name = (None if named else os.environ.get(variable)) or stack_output(output, stack, settings)
    return StoredSecret(store, name)


def stack_output(name: str, stack: str | None, settings: Settings) -> str:
    """An output of the named stack; raises ConfigurationError where no deployment is named."""
    stack = stack or os.environ.get("IDEA_STACK")
    if not stack:
        raise ConfigurationError(
            "Which deployment?", hint="Name its stack with --stack or IDEA_STACK."
        )
    outputs = stack_outputs(settings, stack)
    if name not in outputs:
        hint = "Is it a stack of Idea Explorer?"
        if "TableName" in outputs and name in CONDITIONAL:
            hint = f"It has one where the parameter {CONDITIONAL[name]} is set."
        raise ConfigurationError(f"The stack {stack} has no output {name}.", hint=hint)
    return outputs[name]
