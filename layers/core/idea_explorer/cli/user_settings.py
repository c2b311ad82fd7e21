"""What the user has configured, put into the environment of one command. The environment itself wins."""

import argparse
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from idea_explorer.cli.streams import warn

if TYPE_CHECKING:
    from idea_explorer.domain.user_config import UserConfig

# Commands that are about the configuration, or about nothing at all.
WITHOUT_SETTINGS = ("config.", "completion.", "help.")


@contextmanager
def user_settings(arguments: argparse.Namespace) -> Iterator[None]:
    """An empty variable is one that the environment sets: it turns off what the file says."""
    before = dict(os.environ)
    if not arguments.run.startswith(WITHOUT_SETTINGS):
        os.environ.update(_read_variables(arguments))
    try:
        yield
    finally:
        added = os.environ.keys() - before.keys()
        for name in added:
            del os.environ[name]
        os.environ.update(before)


def would_use_deployment() -> bool:
    """Whether the next command, without options, is about a deployment and not about this machine."""
    from idea_explorer.wiring.local import user_config_store

    if "IDEA_API_URL" in os.environ:
        return bool(os.environ["IDEA_API_URL"])
    return user_config_store().load().profile is not None


def _read_variables(arguments: argparse.Namespace) -> dict[str, str]:
    from idea_explorer.domain.errors import ConfigurationError
    from idea_explorer.domain.user_config import KEYS, token_name
    from idea_explorer.wiring.local import user_config_store

    store = user_config_store()
    config = store.load()
    variables = {n: v for n, v in config.variables.items() if n not in os.environ}
    for name in store.key_names():
        if name in KEYS and name not in os.environ:
            if key := store.load_key(name):
                variables[name] = key
            else:
                warn(f"The stored {name} cannot be decrypted: unlock the system's keyring.")
    if profile := _choose_profile(arguments, config):
        url, token = config.profiles[profile].url, store.load_key(token_name(profile))
        if token is None:
            raise ConfigurationError(
                f"The token of the profile '{profile}' cannot be read.",
                hint="Unlock the system's keyring, or store it again with:"
                f" idea config profile add {profile} {url}",
            )
        # together, so that no token is sent to another address
        variables |= {"IDEA_API_URL": url, "IDEA_API_TOKEN": token}
    return variables


def _choose_profile(arguments: argparse.Namespace, config: "UserConfig") -> str | None:
    """The one that the command names, else the one in use; none for a command that talks to no API."""
    from idea_explorer.domain.errors import InvalidRequestError

    if not hasattr(arguments, "profile"):
        return None
    is_decided = "IDEA_API_URL" in os.environ or getattr(arguments, "local", False)
    name: str | None = arguments.profile or (None if is_decided else config.profile)
    if name is not None and name not in config.profiles:
        raise InvalidRequestError(
            f"There is no profile '{name}'.", hint=hint_at_profiles(name, config)
        )
    return name


def hint_at_profiles(name: str, config: "UserConfig") -> str:
    """What to do about a profile that does not exist."""
    known = f"There are: {', '.join(config.profiles)}. " if config.profiles else ""
    return f"{known}Add one with: idea config profile add {name} URL"
