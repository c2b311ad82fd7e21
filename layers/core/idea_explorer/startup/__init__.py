"""What happens before anything else is loaded, so that a process starts with less CPU time and memory."""

from idea_explorer.startup import code_cache
from idea_explorer.startup.own_builtins import import_when_used

# Who imports a module: what it needs only for calls that we rarely or never make. Each of these is installed
# with its importer, so nobody has to find out that it is missing.
USED_BY_FEW_CALLS = {
    "anthropic._base_client": ("asyncio", "anyio"),
    "anthropic._files": ("anyio",),
    "anthropic._response": ("anyio",),
    "anthropic._utils._prepare": ("anyio",),
    "anthropic._utils._sync": ("asyncio", "anyio", "anyio.to_thread"),
    # for identifiers that are found by a path in the event
    "aws_lambda_powertools.logging.logger": ("aws_lambda_powertools.utilities.jmespath_utils",),
    "httpcore2._backends.anyio": ("anyio", "anyio.abc", "anyio.streams.tls"),
    "httpcore2._synchronization": ("anyio",),
    "httpx2._urlparse": ("idna",),  # for hosts that are not ASCII
    "httpx2._urls": ("idna",),
    "pydantic.plugin._loader": ("importlib.metadata",),  # for plugins, of which there are none
}


def prepare() -> None:
    """Affects only what is loaded afterwards."""
    code_cache.install()
    for importer, modules in USED_BY_FEW_CALLS.items():
        import_when_used(importer, modules)
