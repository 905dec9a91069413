"""The screen of a terminal with its scrollback, kept by pyte from the bytes that a program writes."""

import re
from collections.abc import Callable
from typing import Any

import pyte
from pyte.screens import Char

ALTERNATE = 1049
"""The mode that shows a second screen without scrollback."""
# pyte takes the marker of a private sequence such as `CSI > 4 ; 1 m` for nothing and reads the rest as a colour.
_FOREIGN = re.compile(rb"\x1b\[[<=>][0-9;:]*[ -/]*[@-~]|\x1b\[\?[0-9;:]*[ -/]*[a-gi-km-z]")
_UNFINISHED = re.compile(rb"\x1b(?:\[[0-9;:<=>? -/]*)?\Z")


class Screen(pyte.HistoryScreen):
    """A screen that answers the questions of programs (where is the cursor, what are you), has an alternate screen,
    counts bells, and keeps its scrollback when it becomes lower."""

    def __init__(self, columns: int, rows: int, answer: Callable[[str], None]) -> None:
        super().__init__(columns, rows, history=200_000)
        self.bells = 0
        self.modes: set[int] = set()
        """The private modes that are on: 25 the cursor is shown, 1049 the alternate screen, 2004 bracketed paste."""
        self._answer = answer
        self._main: tuple[dict[int, Any], int, int] | None = None

    def bell(self, *_: Any) -> None:
        self.bells += 1

    def write_process_input(self, data: str) -> None:
        self._answer(data)

    def set_mode(self, *modes: int, **how: Any) -> None:
        super().set_mode(*modes, **how)
        if how.get("private"):
            self.modes.update(modes)
            if ALTERNATE in modes and self._main is None:
                self._main = (dict(self.buffer), self.cursor.x, self.cursor.y)
                self.buffer.clear()

    def reset_mode(self, *modes: int, **how: Any) -> None:
        super().reset_mode(*modes, **how)
        if how.get("private"):
            self.modes.difference_update(modes)
            if ALTERNATE in modes and self._main is not None:
                kept, self.cursor.x, self.cursor.y = self._main
                self._main = None
                self.buffer.clear()
                self.buffer.update(kept)

    def index(self) -> None:
        if self._main is None:
            super().index()
        else:
            pyte.Screen.index(self)

    def erase_in_display(self, how: int = 0, *rest: Any, **named: Any) -> None:
        """As tmux does it: what is erased from the first cell of the screen on goes to the scrollback."""
        if how == 0 and (self.cursor.x, self.cursor.y) == (0, 0) and self._main is None:
            last = max((y for y, line in self.buffer.items() if self._text(line)), default=-1)
            self.history.top.extend(self.buffer.pop(y) for y in range(last + 1))
        super().erase_in_display(how, *rest, **named)

    def resize(self, lines: int | None = None, columns: int | None = None) -> None:
        """As a terminal does it that wraps nothing anew: lines that do not fit any more go to the scrollback."""
        rows = lines or self.lines
        for _ in range(max(0, self.cursor.y - rows + 1)):
            self.history.top.append(self.buffer.pop(0))
            kept = {y - 1: line for y, line in self.buffer.items()}
            self.buffer.clear()
            self.buffer.update(kept)
            self.cursor.y -= 1
        for gone in [y for y in self.buffer if y >= rows]:
            del self.buffer[gone]
        wanted, self.lines = rows, min(rows, self.lines)  # the parent class would drop from the top
        super().resize(wanted, columns)
        self.cursor.x = min(self.cursor.x, self.columns - 1)

    @property
    def scrollback(self) -> list[str]:
        """The lines that have left the screen at its top, oldest first."""
        return [self._text(line) for line in self.history.top]

    def cells(self, row: int) -> list[Char]:
        """The characters of a row with their colours."""
        return [self.buffer[row][column] for column in range(self.columns)]

    def _text(self, line: Any) -> str:
        return "".join(line[column].data for column in range(self.columns)).rstrip()


class Feed:
    """Gives bytes to a screen, without the sequences that pyte misreads, however they are cut into pieces."""

    def __init__(self, screen: Screen) -> None:
        self._stream = pyte.ByteStream(screen)
        self._held = b""

    def __call__(self, data: bytes) -> None:
        data = self._held + data
        cut = _UNFINISHED.search(data)
        end = cut.start() if cut else len(data)
        self._held = data[end:]
        self._stream.feed(_FOREIGN.sub(b"", data[:end]))
