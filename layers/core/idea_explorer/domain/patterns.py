"""Regular expressions that are compiled when they are first used: hundreds of them, and a start uses few."""

import re
from typing import Any, AnyStr, cast

from idea_explorer.startup.code_cache import compile_pattern

_METHODS = ("match", "fullmatch", "search", "finditer", "findall", "sub", "subn", "split")


class _LazyPattern:
    def __init__(self, pattern: str | bytes, flags: int) -> None:
        self.pattern = pattern
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # such as those that copying looks for
            raise AttributeError(name)
        compiled = compile_pattern(self.pattern, self._flags)
        # found without this method from now on
        self.__dict__.update({method: getattr(compiled, method) for method in _METHODS})
        return getattr(compiled, name)


def lazy_pattern(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """As `re.compile`, for use through its methods: the functions of `re` do not take it. What is compiled is
    kept for the next process."""
    return cast("re.Pattern[AnyStr]", _LazyPattern(pattern, flags))
