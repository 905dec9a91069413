"""Regular expressions that are compiled when they are first used: most of those in Callgate's modules are needed by few
starts, and compiling all of them would be a tenth of a start."""

import re
from typing import Any, AnyStr, cast

_METHODS = ("findall", "finditer", "fullmatch", "match", "search", "split", "sub", "subn")


def late_pattern(text: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """A compiled expression for every use but as an argument of the functions of ``re``. A fault in it is found when it
    is first used."""
    return cast("re.Pattern[AnyStr]", _LatePattern(text, flags))


class _LatePattern:
    """Has the methods of the compiled expression as its own attributes from the first use on."""

    def __init__(self, text: str | bytes, flags: int) -> None:
        self.pattern = text
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        compiled = re.compile(self.pattern, self._flags)
        vars(self).update((each, getattr(compiled, each)) for each in _METHODS)
        return getattr(compiled, name)
