"""Reads keys that are pressed while the program starts.

Until a program reads the terminal, the terminal echoes keys and turns Enter into a line feed. Both are switched off
early, so that the input line gets every key once, and no key is echoed twice.
"""

import os
import signal
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from types import FrameType

_MOST_BYTES = 65_536


@contextmanager
def typed_meanwhile() -> Generator[str]:
    """Yield the keys so far; later keys stay in the terminal. The terminal is restored at the end, also after an
    exception or a signal."""
    try:
        import termios
    except ImportError:  # not on this system: its terminals keep keys by themselves
        yield ""
        return
    try:
        before = termios.tcgetattr(0)
    except termios.error:
        yield ""
        return
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _end)
    changed = termios.tcgetattr(0)
    changed[0] &= ~(termios.ICRNL | termios.INLCR | termios.IGNCR | termios.IXON)
    changed[3] &= ~(termios.ECHO | termios.ICANON | termios.IEXTEN)
    changed[6][termios.VMIN] = changed[6][termios.VTIME] = 0
    try:
        termios.tcsetattr(0, termios.TCSANOW, changed)
        typed = os.read(0, _MOST_BYTES)
        changed[6][termios.VMIN] = 1
        termios.tcsetattr(0, termios.TCSANOW, changed)
        if typed and before[3] & termios.ECHO:
            _erase(typed)
        yield typed.replace(b"\n", b"\r").replace(b"\0", b"").decode("utf-8", "ignore")
    finally:
        with suppress(termios.error):  # the terminal may be gone
            termios.tcsetattr(0, termios.TCSANOW, before)


def _erase(typed: bytes) -> None:
    """Remove echoed keys from the screen."""
    if os.environ.get("TERM", "dumb") == "dumb":
        return
    try:
        columns = max(os.get_terminal_size(1).columns, 1)
    except OSError:
        return
    lines = typed.decode("utf-8", "replace").split("\n")
    above = sum(sum(1 if sign.isprintable() else 2 for sign in line) // columns for line in lines) + len(lines) - 1
    # The row and those below it one after the other: see FrameOutput.erase_down.
    sys.stdout.write("\r" + f"\x1b[{above}A" * bool(above) + "\x1b7\x1b[K\x1b[B\r\x1b[J\x1b8")
    sys.stdout.flush()


def _end(number: int, _frame: FrameType | None) -> None:
    raise SystemExit(128 + number)
