"""The offline model: deterministic, drives the real tools, and says plainly that no model was called.

It makes a newcomer's first run real but for the thinking, and it is a double for tests.
"""

from idea_explorer.adapters.offline.model import MODEL_ID, OfflineModel

__all__ = ["MODEL_ID", "OfflineModel"]
