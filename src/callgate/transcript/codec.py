"""Encodes events as log lines and decodes log lines; docs/decisions/0008 describes the format.

The checksum of a line covers the bytes of the line before the checksum, so a line can be checked without parsing it
and without other lines.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from hashlib import sha256
from json import JSONDecoder, JSONEncoder, dumps, loads
from json.encoder import encode_basestring_ascii as _quoted
from math import isfinite
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, cast

from callgate.conversation.chain import Line
from callgate.formats.jsonable import from_json, to_sparse
from callgate.words.changes import FileChange
from callgate.words.errors import UsageError
from callgate.words.event_table import EVENTS, Row
from callgate.words.events import Durable
from callgate.words.late_pattern import late_pattern
from callgate.words.messages import Image, Resource
from callgate.words.plain import plain_json

if TYPE_CHECKING:
    from callgate.transcript.masking import Masker  # its patterns are costly to load

VERSION = 1
START = "0" * 32
"""The previous sum in the first line."""

_TAIL = len(',"sum":"') + 32 + len('"}')


_NAMES: Mapping[type, str] = {
    cls: re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower() for cls, row in EVENTS.items() if row.on != "nothing"
}
TYPES: Mapping[str, type] = {name: cls for cls, name in _NAMES.items()}
_ROWS: Mapping[str, Row] = {name: EVENTS[cls] for name, cls in TYPES.items()}
_UNKNOWN = Row(folds=False)


_WITH_BYTES = tuple(f'"type":"{cls.__name__}"' for cls in (Image, Resource, FileChange))
"""Marks of bytes in a line. They are base64, in which secrets cannot be searched."""


class BadLine(Exception):
    """The bytes are not a valid log line. The message contains the reason."""


class LogEntry(NamedTuple):
    """A decoded log line. ``event`` is None if this version does not support the type or the fields of the event."""

    n: int
    type: str
    id: str
    parent: str | None
    at: float
    session: str
    data: Mapping[str, Any]
    prev: str
    sum: str
    event: Durable | None

    @property
    def line(self) -> Line:
        return _line(self.type, self.id, self.parent, self.data)


class Head(NamedTuple):
    """The fields that define the position of a line in the log."""

    n: int
    sum: str
    line: Line


class Encoder:
    """Encodes the events of one session. ``event`` is the last encoded event, with secrets masked."""

    def __init__(self, session: str, masker: Masker, *, n: int = 0, prev: str = START) -> None:
        self.session = session
        self.n = n
        self.prev = prev
        self.event: Durable | None = None
        self._masker = masker

    def encode(self, event: Durable, line: Line) -> bytes:
        """Return the next log line with its line ending. Never fails: values that JSON does not support are encoded
        as their ``repr``."""
        self.n += 1
        name = _NAMES[type(event)]
        text = self._data(event)
        own = _quoted(line.id) if line.id is not None else f'"e{self.n}"'
        parent = "null" if line.parent is None else _quoted(line.parent)
        at = float(event.at) if isfinite(event.at) else 0.0
        head = (
            f'{{"v":{VERSION},"n":{self.n},"type":"{name}","id":{own},"parent":{parent},'
            f'"at":{at!r},"session":"{self.session}","data":'
        )
        try:
            body = f'{head}{text},"prev":"{self.prev}"'.encode()
        except UnicodeEncodeError:  # a lone surrogate, which only an escape can encode
            body = f'{head}{dumps(loads(text))},"prev":"{self.prev}"'.encode()
        self.prev = _sum(body)
        return b'%s,"sum":"%s"}\n' % (body, self.prev.encode())

    def _data(self, event: Durable) -> str:
        text = _written(event)
        self.event = event
        if not self._masker.finds(text) and not any(map(text.__contains__, _WITH_BYTES)):
            return text
        self.event = self._masker.noun(event)
        return text if self.event is event else _written(self.event)


def read_line(raw: bytes, summed: str | None = None) -> LogEntry:
    """Decode a log line. Raise BadLine if it is invalid. ``summed`` is the checksum of the line if it was checked
    before."""
    body = summed or checked(raw)
    try:
        found = decode(raw.decode())
    except (ValueError, RecursionError) as error:
        raise BadLine(f"it is not JSON: {error}") from None
    try:
        n, kind, own, parent = found["n"], found["type"], found["id"], found["parent"]
        data, prev, session = found["data"], found["prev"], found["session"]
    except (KeyError, TypeError) as error:
        raise BadLine(f"it has no {error}") from None
    if not (
        isinstance(n, int)
        and 0 < n < 10**15
        and isinstance(kind, str)
        and isinstance(own, str)
        and isinstance(data, dict)
    ):
        raise BadLine("its first fields have wrong types or values")
    at = found.get("at")
    try:
        at = float(at) if isinstance(at, int | float) else 0.0
    except OverflowError:
        at = 0.0
    at = at if isfinite(at) else 0.0
    data = cast(dict[str, Any], data)
    known = TYPES.get(kind) if found.get("v") == VERSION else None
    event: Durable | None = None
    if known is not None:
        try:
            event = cast(Durable, from_json(known, {**data, "at": at}))
        except UsageError:  # fields of another version: the line is kept, but not folded
            event = None
    parent = parent if isinstance(parent, str) else None
    return LogEntry(n, kind, own, parent, at, str(session), data, str(prev), body, event)


_HEAD = late_pattern(
    rb'\{"v":1,"n":(\d{1,15}),"type":"([a-z_]+)","id":"([ -!#-\[\]-~]*)","parent":(?:null|"([ -!#-\[\]-~]*)"),"at":'
)


def read_head(raw: bytes, summed: str | None = None) -> Head:
    """Decode only the position of a log line; if possible, the line is not parsed. Raise BadLine if the line is
    invalid."""
    found = _HEAD.match(raw)
    if found is None or _row(found[2].decode()).target:
        entry = read_line(raw, summed)
        return Head(entry.n, entry.sum, entry.line)
    kind, parent = found[2].decode(), found[4]
    line = _line(kind, found[3].decode(), None if parent is None else parent.decode(), {})
    return Head(int(found[1]), summed or checked(raw), line)


def checked(raw: bytes) -> str:
    """Return the checksum of a log line. Raise BadLine if it does not match the line."""
    if raw[-_TAIL : -_TAIL + 8] != b',"sum":"' or raw[-2:] != b'"}':
        raise BadLine("its end is invalid")
    wanted = _sum(raw[:-_TAIL])
    if raw[-34:-2] != wanted.encode():
        raise BadLine("its checksum does not match")
    return wanted


def _line(kind: str, own: str, parent: str | None, data: Mapping[str, Any]) -> Line:
    row = _row(kind)
    target = data.get(row.target) if row.target else None
    own_id = own if row.line == "message" else None
    return Line(row.line, own_id, parent, target if isinstance(target, str) else None)


def _row(kind: str) -> Row:
    return _ROWS.get(kind, _UNKNOWN)


def _sum(body: bytes) -> str:
    return sha256(body).hexdigest()[:32]


def _written(event: Durable) -> str:
    data = to_sparse(event)
    del data["at"]
    try:
        return _encode(data)
    except (TypeError, ValueError, RecursionError):
        return dumps(plain_json(data), separators=(",", ":"))


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


_encode = JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False, check_circular=False).encode
decode = JSONDecoder(parse_constant=_no_constant).decode
