"""The output of a running command: limited in memory, complete in a file, and formatted as text for a model."""

import re
from codecs import getincrementaldecoder
from collections.abc import Callable
from threading import Lock

from callgate.host.ports import OutputFile, new_output
from callgate.words.calls import Artifact

MOST_CHARACTERS = 30_000
"""The most characters of an output for a model."""
MOST_CHARACTERS_OF_ERROR = 9_000
"""The most characters of the output of a failed command. The executor cuts longer errors, also the path of the file."""
_HEAD, _TAIL = MOST_CHARACTERS * 2 // 3, MOST_CHARACTERS // 3
_WIDEST = 4  # bytes of a character
_IN_MEMORY = (_HEAD + _TAIL) * _WIDEST
_MOST_PROGRESS = 4_000  # characters of one piece

# Colours, cursor moves and titles of terminals.
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")


class CommandOutput:
    """Collects the output of a process; ``take`` adds a chunk. Up to a limit all output is kept in memory. Beyond the
    limit all output is written to a file, and only its beginning and end stay in memory."""

    def __init__(self, host: object, name: str, progress: Callable[[str], None]) -> None:
        self._host = host
        self._name = name
        self._progress = progress
        self._decoder = getincrementaldecoder("utf-8")("replace")
        self._lock = Lock()
        self._head = bytearray()  # all of it while there is no file
        self._tail = bytearray()
        self._size = 0
        self._file: OutputFile | None = None

    @property
    def size(self) -> int:
        return self._size

    def take(self, data: bytes) -> None:
        with self._lock:
            self._size += len(data)
            if self._file is None:
                self._head += data
                if len(self._head) > _IN_MEMORY:
                    self._open(self._name)
            else:
                self._file.append(data)
                self._keep_tail(data)
        self._progress(self._decoder.decode(data)[-_MOST_PROGRESS:])

    def to_file(self, name: str | None = None) -> OutputFile:
        """Return the file with the complete output. Blocks. The file is created if it does not exist."""
        with self._lock:
            return self._file or self._open(name or self._name)

    def _open(self, name: str) -> OutputFile:
        self._file = new_output(self._host, name)
        self._file.append(bytes(self._head))
        self._keep_tail(bytes(self._head[_HEAD * _WIDEST :]))
        del self._head[_HEAD * _WIDEST :]
        return self._file

    def _keep_tail(self, data: bytes) -> None:
        self._tail += data[-_TAIL * _WIDEST :]
        del self._tail[: -_TAIL * _WIDEST]

    def text(self, most: int = MOST_CHARACTERS) -> tuple[str, Artifact | None]:
        """Return the output for a model. Blocks. An output of more than ``most`` characters is shortened in the middle,
        and the path of the complete file is given there."""
        if self._file is None:
            whole = readable(bytes(self._head))
            if len(whole) <= most:
                return whole, None
        file = self.to_file()
        file.finish()
        in_head, in_tail = most * 2 // 3, most // 3
        head, tail = readable(bytes(self._head))[:in_head], readable(bytes(self._tail))[-in_tail:]
        if self._size <= len(self._head) + len(self._tail):
            whole = readable(bytes(self._head + self._tail))
            head, tail = (whole, "") if len(whole) <= most else (whole[:in_head], whole[-in_tail:])
        where = f"could not be stored: {file.fault}" if file.fault else f"is in {file.path}"
        note = f"\n… the middle of {self._size:,} bytes is omitted; the full text {where} …\n" if tail else ""
        return head + note + tail, Artifact(file.path, file.size)


def readable(data: bytes) -> str:
    """Return the output as text without terminal control sequences. Invalid bytes become replacement characters."""
    text = data.decode(errors="replace")
    if "\x1b" in text:
        text = _ESCAPES.sub("", text)
    return "\n".join(map(_last_written, text.split("\n"))) if "\r" in text else text


def _last_written(line: str) -> str:
    """Return the line without the text that a progress bar has overwritten."""
    end = len(line.rstrip("\r"))
    return line[line.rfind("\r", 0, end) + 1 :]
