"""Claude, through Anthropic's own API or on AWS. Importing this package loads the anthropic SDK."""

from idea_explorer.adapters.claude.client import Claude

__all__ = ["Claude"]
