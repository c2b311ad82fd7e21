"""The offline model: deterministic, calls the real tools, and says plainly that no model was called.

It makes a first run possible without a key, and it serves as a test double.
"""

from idea_explorer.adapters.offline.model import MODEL_ID, OfflineModel

__all__ = ["MODEL_ID", "OfflineModel"]
