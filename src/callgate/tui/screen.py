"""Output and application of prompt_toolkit: one write for each frame, and finished lines above the redrawn part of
the screen. Finished lines are written once and belong to the terminal's scrollback."""

# The renderer of prompt_toolkit has no public way to print above the live part within one frame.
# pyright: reportPrivateUsage=false

import os
import re
import sys
from base64 import b64encode
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from math import ceil
from typing import Any, TextIO

from prompt_toolkit.application import Application
from prompt_toolkit.data_structures import Point, Size
from prompt_toolkit.enums import EditingMode
from prompt_toolkit.input.ansi_escape_sequences import ANSI_SEQUENCES
from prompt_toolkit.input.typeahead import store_typeahead
from prompt_toolkit.input.vt100_parser import Vt100Parser
from prompt_toolkit.key_binding.key_processor import KeyPress, KeyProcessor
from prompt_toolkit.key_binding.vi_state import InputMode
from prompt_toolkit.keys import Keys
from prompt_toolkit.output.color_depth import ColorDepth
from prompt_toolkit.output.vt100 import Vt100_Output

from callgate.tui.theme import Depth, Theme

_BEGIN, _END = "\x1b[?2026h", "\x1b[?2026l"  # synchronized output: supporting terminals show only complete frames

_DEPTHS: Mapping[Depth, ColorDepth] = {
    "16": ColorDepth.DEPTH_4_BIT,
    "256": ColorDepth.DEPTH_8_BIT,
    "true": ColorDepth.DEPTH_24_BIT,
}


ESCAPE, ESCAPE_AT_CARD = 0.05, 0.3
"""Seconds after which an Escape is the key and not the beginning of a sequence. A slow connection may deliver the
sequence of an arrow or of a paste in parts; at a card, Escape is an answer."""


class FrameOutput(Vt100_Output):
    """An output of prompt_toolkit that writes each frame with a single write."""

    def __init__(self, stream: TextIO, size: Any, theme: Theme, environment: Mapping[str, str] = os.environ) -> None:
        depth = _DEPTHS[theme.depth] if theme.colours else ColorDepth.DEPTH_1_BIT
        super().__init__(stream, size, term=environment.get("TERM"), default_color_depth=depth, enable_cpr=False)
        self._held = 0

    @contextmanager
    def frame(self) -> Generator[None]:
        """Buffer everything that is written inside the ``with`` block, and write it at the end of the block."""
        self._held += 1
        try:
            yield
        finally:
            self._held -= 1
            self.flush()

    def erase_down(self) -> None:
        """Erase the screen from the cursor to the end, in two steps.

        At the first cell of the screen, tmux and other terminals treat a single erase as a clear and copy the
        redrawn part into the scrollback.
        """
        self.write_raw("\x1b7\x1b[K\x1b[B\r\x1b[J\x1b8")

    def flush(self) -> None:
        if self._held or not self._buffer:
            return
        self._buffer = [_BEGIN, *self._buffer, _END]
        try:
            super().flush()
        except OSError:  # the terminal is gone; its signal or the end of input ends the program
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, self.stdout.fileno())
            os.close(null)


_SEQUENCE = re.compile(r"\x1b(?:\][^\x07\x1b]*(?:\x07|\x1b\\)|[PX^_][^\x1b]*\x1b\\|\[[0-?]*[ -/]*[@-~])")
_PASTE_AND_MOUSE = ("\x1b[200~", "\x1b[201~", "\x1b[M")


def without_reports(data: str) -> str:
    """Return the input of the terminal without sequences that are not keys: replies to queries of another program,
    focus reports, keys in an encoding that was not requested. Otherwise their characters would be typed."""

    def kept(found: re.Match[str]) -> str:
        return found[0] if found[0] in ANSI_SEQUENCES or found[0] in _PASTE_AND_MOUSE else ""

    return _SEQUENCE.sub(kept, data) if "\x1b" in data else data


def typed_text(keys: Sequence[KeyPress]) -> str:
    """Return the keys as text, or an empty string if one of them is not a character."""
    whole = all(len(each.key) == 1 and each.key.isprintable() for each in keys)
    return "".join(each.key for each in keys) if whole else ""


class BatchProcessor(KeyProcessor):
    """A key processor. ``is_burst`` is True while it processes text, or a key with Alt, that arrived in one read with
    other keys."""

    is_burst = False

    def feed_multiple(self, key_presses: list[KeyPress], first: bool = False) -> None:
        text = any(typed_text([each]) or each.key == Keys.BracketedPaste for each in key_presses)
        alt = bool(key_presses) and key_presses[0].key == Keys.Escape  # terminals send Alt as Escape and the key
        self.is_burst = (text or alt) and len(key_presses) > 1
        super().feed_multiple(key_presses, first)


class InlineApplication(Application[int]):
    """An application of prompt_toolkit that is drawn below finished output. ``print_above`` adds to the finished
    output."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.ttimeoutlen = ESCAPE
        self.key_processor = self._keys = BatchProcessor(self.key_processor._bindings)
        self._waits_for_keys = 1.0
        parser: Vt100Parser | None = vars(self.input).get("vt100_parser")
        if parser is not None:
            feed = parser.feed
            parser.feed = lambda data: feed(without_reports(data))

    @property
    def timeoutlen(self) -> float:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The seconds to wait for the next key of a sequence. The time is short after Escape, because terminals send
        Alt and a key together, and a user who presses only Escape must not wait."""
        pressed = self.key_processor.key_buffer
        return ESCAPE if pressed and pressed[0].key == "escape" else self._waits_for_keys

    @timeoutlen.setter
    def timeoutlen(self, seconds: float | None) -> None:
        self._waits_for_keys = 1.0 if seconds is None else seconds

    @property
    def is_burst(self) -> bool:
        """True while the processed text arrived together with other keys in one read."""
        return self._keys.is_burst

    @property
    def is_drawn(self) -> bool:
        """True while the application draws on the terminal, False while another program does."""
        return self.is_running and not self._running_in_terminal

    def print_above(self, lines: Sequence[str]) -> None:
        """Print lines above the redrawn part of the screen, in the same frame."""
        if not lines or not self.is_drawn:
            return
        with self._frame() as output:
            self.renderer.erase(leave_alternate_screen=False)
            # No erase after each line: after a line that fills its row, it would erase the last letter.
            output.write_raw("".join(f"{line}\r\n" for line in lines))
            self._redraw()

    @contextmanager
    def _frame(self) -> Generator[FrameOutput]:
        assert isinstance(self.output, FrameOutput)
        with self.output.frame():
            yield self.output

    def _redraw(self, render_as_done: bool = False) -> None:
        with self._frame():
            super()._redraw(render_as_done)

    def press(self, keys: str) -> None:
        """Insert keys before the keys that the terminal sends next."""
        pressed: list[KeyPress] = []
        parser = Vt100Parser(pressed.append)
        parser.feed(keys)
        parser.flush()
        store_typeahead(self.input, pressed)

    def use_vim(self, vim: bool) -> None:
        self.editing_mode = EditingMode.VI if vim else EditingMode.EMACS

    def copy(self, text: str) -> None:
        """Write the text to the clipboard of the terminal (OSC 52)."""
        self.output.write_raw(f"\x1b]52;c;{b64encode(text.encode()).decode()}\x07")
        self.output.flush()

    def type_text(self) -> None:
        """Leave vim's normal mode, so that the next keys are text."""
        if self.editing_mode == EditingMode.VI:
            self.vi_state.input_mode = InputMode.INSERT

    def clear(self) -> None:
        with self._frame() as output:
            self.renderer.erase(leave_alternate_screen=False)
            if not self.full_screen:
                output.write_raw("\n" * output.get_size().rows)
            output.cursor_goto(0, 0)
            output.erase_down()
            self._redraw()

    def show_full_screen(self, full: bool) -> None:
        """Switch to the alternate screen of the terminal, or back to the inline view."""
        if full is self.full_screen or not self.is_running:
            return
        with self._frame():
            self.renderer.erase(leave_alternate_screen=True)
            self.full_screen = self.renderer.full_screen = full

    def draw(self) -> None:
        """Draw a frame. If the frame has fewer rows than the last frame, erase the last frame first, so that no
        empty rows remain below."""
        if not self.is_drawn:
            return
        with self._frame() as output:
            last = self.renderer._last_screen
            size = output.get_size()
            if last is not None and not self.full_screen:
                wanted = self.layout.container.preferred_height(size.columns, size.rows).preferred
                if wanted < last.height:
                    self.renderer.erase(leave_alternate_screen=False)
            self._redraw()

    def _on_resize(self) -> None:
        with self._frame() as output:
            if not self.full_screen and _reflows():
                self._follow_reflow(output.get_size())
            super()._on_resize()

    def _follow_reflow(self, size: Size) -> None:
        """Correct the cursor position after the terminal became narrower: most terminals wrap long lines again,
        which moves the top of the redrawn part up."""
        renderer = self.renderer
        screen, before = renderer._last_screen, renderer._last_size
        if screen is None or before is None or size.columns >= before.columns or size.columns < 1:
            return
        position = renderer._cursor_pos
        above = 0
        for row in range(position.y):
            used = max((column for column, char in screen.data_buffer[row].items() if char.char.strip()), default=0)
            above += max(ceil((used + 1) / size.columns), 1)
        renderer._cursor_pos = Point(position.x % size.columns, above + position.x // size.columns)


def _reflows(environment: Mapping[str, str] = os.environ) -> bool:
    """Return False for terminals that cut off long lines when they become narrower: xterm and the Linux console."""
    return "XTERM_VERSION" not in environment and environment.get("TERM") != "linux"


def terminal_output(theme: Theme) -> FrameOutput:
    """Return an output for standard output, which must be a terminal."""

    def size() -> Size:
        try:
            found = os.get_terminal_size(sys.stdout.fileno())
        except OSError:
            return Size(rows=24, columns=80)
        return Size(rows=found.lines or 24, columns=found.columns or 80)

    return FrameOutput(sys.stdout, size, theme)
