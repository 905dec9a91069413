"""A call of Gemini while it arrives. Its arguments come whole, or in pieces that name their place by a JSON path."""

import re
from itertools import pairwise
from typing import Any, cast

Given = dict[str, Any]
_STEP = re.compile(r"""\.([^.\[\]]+)|\[(\d{1,4})\]|\['([^']*)'\]|\["([^"]*)"\]""")
_VALUES = ("stringValue", "numberValue", "boolValue", "nullValue")
_DEEPEST = 64


class PartialCall:
    """``kept`` is what the part has besides the name and the arguments: its signature and the server's id."""

    def __init__(self, index: int) -> None:
        self.index = index
        self.arguments: Given = {}
        self.kept: Given = {}

    def add(self, part: Given) -> None:
        call: Given = part["functionCall"]
        whole = call.get("args")
        if whole is not None:
            if not isinstance(whole, dict):
                raise TypeError("arguments are not an object")
            self.arguments.update(cast("Given", whole))
        for piece in call.get("partialArgs") or ():
            self._put(piece)
        gone = ("name", "args", "partialArgs", "willContinue")
        own = {name: value for name, value in call.items() if name not in gone and value is not None}
        beside = {name: value for name, value in part.items() if name != "functionCall"}
        self.kept.update({**({"functionCall": own} if own else {}), **beside})

    def _put(self, piece: Given) -> None:
        path = [_key(found) for found in _STEP.finditer(piece["jsonPath"])]
        name = next(name for name in _VALUES if name in piece) if any(map(piece.__contains__, _VALUES)) else None
        if not path or len(path) > _DEEPEST or name is None:
            return
        at: Any = self.arguments
        for here, following in pairwise(path):
            at = _place(at, here, [] if isinstance(following, int) else {})
        value = None if name == "nullValue" else piece[name]
        before = _place(at, path[-1], None)
        joined = before + value if isinstance(before, str) and isinstance(value, str) else value
        _set(at, path[-1], joined)


def _key(found: re.Match[str]) -> str | int:
    name, number, single, double = found.groups()
    return int(number) if number is not None else next(each for each in (name, single, double) if each is not None)


def _place(at: Any, key: str | int, default: Any) -> Any:
    """The value at a key, which is put there first if there is none."""
    if isinstance(key, int):
        while len(at) <= key:
            at.append(None)
        if at[key] is None:
            at[key] = default
        return at[key]
    return at.setdefault(key, default)


def _set(at: Any, key: str | int, value: Any) -> None:
    at[key] = value
