"""Everything that a process forked by `forked` may need, imported."""

import gc
import importlib
import pkgutil

import idea_explorer
from idea_explorer.adapters.http.connections import certificates

for _module in pkgutil.walk_packages(idea_explorer.__path__, "idea_explorer."):
    if not _module.name.endswith("__main__"):
        importlib.import_module(_module.name)

certificates()
gc.collect()
gc.freeze()  # a collection in a fork would touch, and so copy, all of it
