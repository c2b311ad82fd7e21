"""`idea config`: settings, keys and profiles that need not be exported in every shell."""

import argparse
import os
from collections.abc import Iterator

from pydantic import AliasChoices, ValidationError

from idea_explorer.cli.arguments import read_secret
from idea_explorer.cli.command_parser import suggest
from idea_explorer.cli.output import print_json
from idea_explorer.cli.streams import say, warn
from idea_explorer.cli.user_settings import hint_at_profiles
from idea_explorer.domain.errors import InvalidRequestError, MissingError
from idea_explorer.domain.user_config import KEYS, LOCAL, Profile, UserConfig, token_name
from idea_explorer.settings import CODE_VARIABLES, Settings
from idea_explorer.wiring.local import user_config_store

HIDDEN = "(stored, not shown)"
# A deployment's own variables name its resources; nobody sets them by hand.
OF_A_DEPLOYMENT = (
    *("TABLE_NAME", "BUCKET_NAME", "QUEUE_URL", "DEAD_LETTER_QUEUE_URL", "STATE_MACHINE_ARN"),
    *("NOTIFY_FUNCTION_NAME", "MAX_RUNNING", "AWS_SAM_LOCAL"),
)
# Variables that the commands read beside the settings.
OF_COMMANDS = ("IDEA_STACK",)
TAKEN_BY_PROFILES = ("IDEA_API_URL", "IDEA_API_TOKEN")


def known_names() -> Iterator[str]:
    """The variables that can be stored."""
    for field in Settings.model_fields.values():
        match field.validation_alias:
            case str(name) if name not in OF_A_DEPLOYMENT and not name.endswith("_SECRET_ID"):
                yield name
            case AliasChoices(choices=[str(name), *_]):
                yield name
    yield from (*CODE_VARIABLES, *OF_COMMANDS)


def show(arguments: argparse.Namespace) -> int:
    store = user_config_store()
    config, keys = store.load(), [name for name in store.key_names() if name in KEYS]
    if arguments.json:
        print_json(
            {
                "path": str(store.path),
                "settings": config.variables,
                "keys": keys,
                "profile": config.profile,
                "profiles": {name: profile.url for name, profile in config.profiles.items()},
            }
        )
        return 0
    for name, value in {**config.variables, **dict.fromkeys(keys, HIDDEN)}.items():
        overridden = "  (the environment sets another)" if name in os.environ else ""
        print(f"{name}={value}{overridden}")
    _print_profiles(config)
    if not (config.settings or keys or config.profiles):
        warn("Nothing is set. Try: idea config set IDEA_MAX_COST_USD 1")
    return 0


def print_path(_arguments: argparse.Namespace) -> int:
    print(user_config_store().path)
    return 0


def get(arguments: argparse.Namespace) -> int:
    store = user_config_store()
    name = _check_name(arguments.name)
    if name in store.key_names():
        warn(f"{name} is stored, and never shown.")
        return 1
    value = store.load().variables.get(name)
    if value is None:
        raise MissingError(f"{name} is not set.")
    print(value)
    return 0


def set_value(arguments: argparse.Namespace) -> int:
    store = user_config_store()
    name = _check_name(arguments.name)
    if name in KEYS:
        if arguments.value is not None:
            raise InvalidRequestError(
                f"{name} is not taken from the command line, where others can read it.",
                hint=f"Run `idea config set {name}` and paste it, or pipe it in.",
            )
        key = read_secret(name)
        Settings.from_environment(_with_partner(name, key))
        store.save_key(name, key)
    else:
        if not arguments.value:
            raise InvalidRequestError(
                f"{name} needs a value.", hint=f"To remove it: idea config unset {name}"
            )
        config = store.load()
        if not arguments.value.isprintable():
            raise InvalidRequestError(f"{name} must not hold control characters.")
        Settings.from_environment({**config.variables, name: arguments.value})
        settings = {**config.settings, name: arguments.value}
        _save(config.model_copy(update={"settings": settings}))
    if name in os.environ:
        warn(f"{name} is set in the environment too, which wins.")
    return 0


def unset(arguments: argparse.Namespace) -> int:
    store = user_config_store()
    config, name = store.load(), arguments.name
    if name in KEYS and name in store.key_names():
        store.remove_key(name)
    elif name in config.settings:  # also one that only an earlier version knew
        rest = {key: value for key, value in config.settings.items() if key != name}
        _save(config.model_copy(update={"settings": rest}))
    else:
        raise MissingError(f"{_check_name(name)} is not set.")
    return 0


def list_profiles(_arguments: argparse.Namespace) -> int:
    config = user_config_store().load()
    _print_profiles(config)
    if not config.profiles:
        warn("There are no profiles. Add one with: idea config profile add NAME URL")
    return 0


def add_profile(arguments: argparse.Namespace) -> int:
    from idea_explorer.cli.targets.client import check_url  # loads the HTTP client

    store = user_config_store()
    config, name, url = store.load(), arguments.profile_name, arguments.url
    check_url(url, "The address")
    if name == LOCAL:
        raise InvalidRequestError(f"'{LOCAL}' is this machine; take another name.")
    profiles = {**config.profiles, name: Profile(url=url)}
    try:
        changed = UserConfig.model_validate({**config.model_dump(), "profiles": profiles})
    except ValidationError as error:
        raise InvalidRequestError(
            "A profile's name has up to 40 letters, digits, dots, hyphens and underscores."
        ) from error
    token = read_secret("token")
    store.save_key(token_name(name), token)
    _save(changed)
    if not config.profiles:
        say(f"Use it from now on with: idea config profile use {name}")
    return 0


def use_profile(arguments: argparse.Namespace) -> int:
    store = user_config_store()
    config, name = store.load(), arguments.profile_name
    if name != LOCAL and name not in config.profiles:
        raise _unknown_profile(name, config)
    _save(config.model_copy(update={"profile": None if name == LOCAL else name}))
    if "IDEA_API_URL" in os.environ:
        warn("IDEA_API_URL is set in the environment, which wins.")
    return 0


def remove_profile(arguments: argparse.Namespace) -> int:
    store = user_config_store()
    config, name = store.load(), arguments.profile_name
    if name not in config.profiles:
        raise _unknown_profile(name, config)
    rest = {other: profile for other, profile in config.profiles.items() if other != name}
    used = None if config.profile == name else config.profile
    _save(config.model_copy(update={"profiles": rest, "profile": used}))
    store.remove_key(token_name(name))
    return 0


def _save(config: UserConfig) -> None:
    store = user_config_store()
    if not store.save(config):
        warn(f"{store.path} has values over several lines; it was written anew, without comments.")


def _print_profiles(config: UserConfig) -> None:
    for name, profile in config.profiles.items():
        print(f"{'*' if name == config.profile else ' '} {name}  {profile.url}")


def _check_name(name: str) -> str:
    if name in TAKEN_BY_PROFILES:
        raise InvalidRequestError(
            f"{name} belongs to a profile.", hint="Add one with: idea config profile add NAME URL"
        )
    names = [*known_names()]
    if name not in names:
        raise InvalidRequestError(f"There is no setting '{name}'{suggest(name, names) or '.'}")
    return name


def _unknown_profile(name: str, config: UserConfig) -> InvalidRequestError:
    return InvalidRequestError(
        f"There is no profile '{name}'{suggest(name, config.profiles) or '.'}",
        hint=hint_at_profiles(name, config),
    )


def _with_partner(name: str, key: str) -> dict[str, str]:
    """A secret of webhooks is only valid with their address, which may be set elsewhere."""
    address = {"IDEA_WEBHOOK_URL": "https://example.com/"} if name == "IDEA_WEBHOOK_SECRET" else {}
    return {**address, name: key}
