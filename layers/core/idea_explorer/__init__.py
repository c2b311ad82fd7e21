"""Idea Explorer: a bounded research agent whose reports land in a repository."""

import gc

from idea_explorer.startup import prepare

__version__ = "0.1.0"

prepare()

# Modules make tens of thousands of objects that stay, and looking for garbage among them takes a
# twentieth of a start. From the first collection on, it is looked for as often as ever.
_OBJECTS_OF_A_START = 100_000
_THRESHOLDS = gc.get_threshold()


def _collect_as_ever(*_: object) -> None:
    gc.callbacks.remove(_collect_as_ever)
    gc.set_threshold(*_THRESHOLDS)


gc.callbacks.append(_collect_as_ever)
gc.set_threshold(_OBJECTS_OF_A_START, *_THRESHOLDS[1:])
