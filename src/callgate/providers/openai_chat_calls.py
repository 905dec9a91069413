"""Assembles the calls of a Chat Completions stream.

Servers identify the call of a piece in different ways: some repeat the id and name in each piece, some send the same
index or no index for all calls, some send no ids or a new id in each piece.
"""

from typing import Any, cast

from callgate.providers.family import Json
from callgate.providers.openai_shared import read_object
from callgate.providers.request_json import encode_body


class CallPiece:
    """One element of ``tool_calls``. Arguments that arrive as an object are converted to JSON text."""

    __slots__ = ("extra", "id", "index", "name", "text")

    def __init__(self, index: object, data: Json) -> None:
        function: Any = data.get("function") or {}
        arguments = function.get("arguments")
        self.index = index
        self.id = str(data.get("id") or "")
        self.name = str(function.get("name") or "")
        self.extra: object = data.get("extra_content")  # thought signatures of Google
        self.text: str = arguments if arguments.__class__ is str else _json_of(arguments)


def _json_of(arguments: object) -> str:
    return "" if arguments is None else encode_body(cast("Json", arguments)).decode()


class StreamedCall:
    """A call during streaming.

    part  the number of the part; negative until the arguments begin, because the name may be incomplete until then
    """

    __slots__ = ("closed", "extra", "id", "name", "part", "pieces")

    def __init__(self) -> None:
        self.id = ""
        self.name = ""
        self.part = -1
        self.pieces: list[str] = []
        self.extra: Json = {}
        self.closed = False

    def take(self, piece: CallPiece) -> str:
        """Store the fields of a piece, except its arguments, and return the arguments."""
        self.id = self.id or piece.id
        if piece.extra:
            self.extra["extra_content"] = piece.extra
        if self.part < 0 and piece.name != self.name:
            self.name += piece.name
        return piece.text

    def is_followed_by(self, piece: CallPiece) -> bool:
        """Return True if a piece with the index of this call begins a new call. A piece without a name never begins
        a call."""
        if not piece.name:
            return False
        if piece.id and self.id:
            return piece.id != self.id
        if piece.index is None and piece.name != self.name:
            return True
        return bool(piece.text) and (self.closed or self.is_whole())

    def is_whole(self) -> bool:
        """Return True if the received arguments are a complete JSON object."""
        if not self.pieces or not self.pieces[-1].rstrip().endswith("}"):
            return False
        try:
            read_object("".join(self.pieces))
        except (ValueError, RecursionError):
            return False
        return True
