"""How much work something is, counted and not timed: machines are shared, and a count is the same everywhere."""

import sys
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any, cast

from callgate.words.late_pattern import late_pattern

COMPILING: CodeType = cast(Any, type(late_pattern(""))).__getattr__.__code__


def steps(work: Callable[[], object]) -> int:
    """How many functions, of Python and of C, the work calls. Patterns that are compiled with their first use do not
    count: whether they are does not depend on the work alone."""
    count = compiling = 0

    def tick(frame: FrameType, event: str, _arg: object) -> None:
        nonlocal compiling, count
        if frame.f_code is COMPILING and event in ("call", "return"):
            compiling += 1 if event == "call" else -1
        elif not compiling:
            count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(tick)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count
