"""The calls of a stream of Chat Completions. Pieces say in many ways which call they belong to: some servers repeat id
and name with every piece, some give every call the same index or none, some give no ids or new ones all the time."""

from typing import Any, cast

from callgate.providers.family import Json
from callgate.providers.openai_shared import read_object
from callgate.providers.request_json import compact


class CallPiece:
    """One element of ``tool_calls``. Arguments that are an object instead of its JSON are written as JSON."""

    __slots__ = ("extra", "id", "index", "name", "text")

    def __init__(self, index: object, data: Json) -> None:
        function: Any = data.get("function") or {}
        arguments = function.get("arguments")
        self.index = index
        self.id = str(data.get("id") or "")
        self.name = str(function.get("name") or "")
        self.extra: object = data.get("extra_content")  # Google's signatures of thoughts
        self.text: str = arguments if arguments.__class__ is str else _json_of(arguments)


def _json_of(arguments: object) -> str:
    return "" if arguments is None else compact(cast("Json", arguments)).decode()


class StreamedCall:
    """A call so far. ``part`` is negative until its arguments begin: before that its name may not be whole."""

    __slots__ = ("closed", "extra", "id", "name", "part", "pieces")

    def __init__(self) -> None:
        self.id = ""
        self.name = ""
        self.part = -1
        self.pieces: list[str] = []
        self.extra: Json = {}
        self.closed = False

    def take(self, piece: CallPiece) -> str:
        """Takes all of a piece but its arguments, and gives these."""
        self.id = self.id or piece.id
        if piece.extra:
            self.extra["extra_content"] = piece.extra
        if self.part < 0 and piece.name != self.name:
            self.name += piece.name
        return piece.text

    def is_followed_by(self, piece: CallPiece) -> bool:
        """True if a piece for the place of this call begins another call: only pieces with a name do."""
        if not piece.name:
            return False
        if piece.id and self.id:
            return piece.id != self.id
        if piece.index is None and piece.name != self.name:
            return True
        return bool(piece.text) and (self.closed or self.is_whole())

    def is_whole(self) -> bool:
        """True if its arguments are a JSON object, to which nothing but white space can be added."""
        if not self.pieces or not self.pieces[-1].rstrip().endswith("}"):
            return False
        try:
            read_object("".join(self.pieces))
        except (ValueError, RecursionError):
            return False
        return True
