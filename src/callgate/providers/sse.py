"""Parses server-sent events of a byte stream, as defined by the HTML standard.

Lines end with LF, CR or CRLF. An event ends with an empty line; an incomplete event at the end of the stream is
dropped. Ids and retry times are ignored, because no provider uses them.
"""

from callgate.providers.family import ServerEvent

MOST_EVENT_BYTES = 32 * 1024 * 1024
"""The maximum size of an event. The complete answer of the largest model is less than a tenth of this."""


class EventTooLarge(Exception):
    """Raised if an event is larger than the limit."""


class ServerEventReader:
    """An incremental parser for server-sent events. ``feed`` gets the next bytes and returns the events that they
    complete."""

    def __init__(self, most_bytes: int = MOST_EVENT_BYTES) -> None:
        self._most = most_bytes
        self._line: list[bytes] = []  # pieces of the incomplete line
        self._event = ""
        self._data: list[str] = []
        self._size = 0  # of the pieces and the data
        self._after_cr = False
        self._first = True

    def feed(self, chunk: bytes) -> list[ServerEvent]:
        if not chunk:
            return []
        if self._after_cr and chunk[0] == 10:
            chunk = chunk[1:]  # the second half of a CRLF
            self._after_cr = False
            if not chunk:
                return []
        self._after_cr = chunk[-1] == 13
        if b"\r" in chunk:
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        lines = chunk.split(b"\n")
        rest = lines.pop()
        events: list[ServerEvent] = []
        if lines:
            if self._line:
                lines[0] = b"".join((*self._line, lines[0]))
                self._line = []
            if self._first:
                lines[0] = lines[0].removeprefix(b"\xef\xbb\xbf")
                self._first = False
            for line in lines:
                if not line:
                    if self._data:
                        events.append(ServerEvent(self._event, "\n".join(self._data)))
                        self._data = []
                    self._event = ""
                    self._size = 0
                else:
                    self._field(line)
        if rest:
            self._line.append(rest)
            self._size += len(rest)
            if self._size > self._most:
                raise EventTooLarge
        return events

    def _field(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        if name == b"data":
            self._size += len(line)
            if self._size > self._most:
                raise EventTooLarge
            self._data.append(value.removeprefix(b" ").decode("utf-8", "replace"))
        elif name == b"event":
            self._event = value.removeprefix(b" ").decode("utf-8", "replace")
