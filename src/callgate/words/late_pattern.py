"""Regular expressions that are compiled at their first use. The compilation of all patterns takes a tenth of the
start time."""

import re
from typing import Any, AnyStr, cast

_METHODS = ("findall", "finditer", "fullmatch", "match", "search", "split", "sub", "subn")


def late_pattern(text: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Return a pattern that compiles itself at its first use. It must not be passed to functions of ``re``."""
    return cast("re.Pattern[AnyStr]", _LatePattern(text, flags))


class _LatePattern:
    """A pattern that compiles itself at its first use and copies the methods of the result to its own attributes."""

    def __init__(self, text: str | bytes, flags: int) -> None:
        self.pattern = text
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        compiled = re.compile(self.pattern, self._flags)
        vars(self).update((each, getattr(compiled, each)) for each in _METHODS)
        return getattr(compiled, name)
