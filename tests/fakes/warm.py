"""Everything that a process forked by `forked` may need, imported."""

import gc
import importlib
import pkgutil
from typing import get_args

from anthropic.types import Message, RawMessageStreamEvent

import idea_explorer
from idea_explorer.adapters.http.clients import certificates

for _module in pkgutil.walk_packages(idea_explorer.__path__, "idea_explorer."):
    if not _module.name.endswith("__main__"):
        importlib.import_module(_module.name)

certificates()
for _model in (Message, *get_args(get_args(RawMessageStreamEvent)[0])):
    _model.model_rebuild()  # Anthropic's models are built at their first use, which takes longest
gc.collect()
gc.freeze()  # a collection in a fork would touch, and so copy, all of it
