"""Claude, through Anthropic's own API or on AWS. Importing this package loads the anthropic SDK."""

from idea_explorer.adapters.claude.lazy_sdk import load_lazily

load_lazily()

from idea_explorer.adapters.claude.client import Claude  # noqa: E402

__all__ = ["Claude"]
