"""Records the source files of Callgate in the order in which their functions are first entered, in all threads."""

import inspect
import sys
import threading
from pathlib import Path
from types import FrameType
from typing import Any

import callgate

_SRC = str(Path(callgate.__file__).parent) + "/"


class FileTrace:
    """Traces between ``start`` and ``stop``. ``files`` are paths below ``src/callgate``, each once.

    Constructors, lambdas and comprehensions are left out: a value is made where it is used, and a file whose values are
    made is not yet a step.
    """

    def __init__(self) -> None:
        self._found: dict[str, None] = {}

    @property
    def files(self) -> list[str]:
        return list(self._found)

    def start(self) -> None:
        self._found.clear()
        threading.setprofile(self._entered)
        sys.setprofile(self._entered)

    def stop(self) -> None:
        sys.setprofile(None)
        threading.setprofile(None)

    def _entered(self, frame: FrameType, event: str, _arg: Any) -> None:
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(_SRC) or not code.co_flags & inspect.CO_OPTIMIZED:
            return
        if code.co_name[:1] != "<" and code.co_name[:2] != "__":
            self._found.setdefault(code.co_filename.removeprefix(_SRC))
