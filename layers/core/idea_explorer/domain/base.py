"""The base of our models."""

import os
import threading
from typing import Any

from pydantic import BaseModel, ConfigDict

# Pydantic looks for plugins in the metadata of every installed package. There are none for us.
os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")

_building = threading.RLock()


class DomainModel(BaseModel):
    """Builds its validator when it is first used, so that a function builds only what it uses.

    Pydantic's own way of doing that is not safe where two threads use a model for the first time.
    """

    model_config = ConfigDict(defer_build=True)

    @classmethod
    def model_rebuild(
        cls, *, force: bool = False, raise_errors: bool = True, **_: Any
    ) -> bool | None:
        # without the caller's namespace: our annotations refer only to names of their modules
        with _building:
            return super().model_rebuild(
                force=force, raise_errors=raise_errors, _parent_namespace_depth=0
            )
