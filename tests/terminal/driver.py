"""Runs a program in a pseudo-terminal and looks at its screen as a person does.

    with TerminalDriver([sys.executable, "-m", "callgate"], cwd=work, env=env, columns=60, rows=20) as terminal:
        terminal.wait_for("> ")                   # text on the screen, a compiled pattern, or a function of the driver
        terminal.type("fix the test")
        terminal.press("enter")                   # names: see KEYS; also "ctrl-c", "alt-x"
        terminal.wait_for(lambda seen: seen.title.endswith("working"))
        terminal.resize(40, 10)
        assert terminal.lines[-1].startswith("> ")    # the screen; `scrollback` is what has left it, `text` is both
        terminal.press("ctrl-d")
        assert terminal.wait_for_exit() == 0
        assert terminal.faults == []              # the terminal is as it was before the start

Nothing sleeps: `wait_for` reads output until its condition holds, and fails with the screen when the program has ended
or the deadline has passed. `gone` waits for a text to disappear. `output` has all bytes that the program wrote;
`mark()` and `since(mark)` cut out those of one step. A condition is looked at after each piece of output, but never in
the middle of a frame that the program marked as one (synchronized output), as a terminal shows none. `ctrl-z` needs a
shell with job control around the program: `TerminalDriver(["bash", "--norc", "-i"])`. Environment: only `env`, with
TERM and a UTF-8 locale unless it names them.
"""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from tests.terminal.screen import ALTERNATE, Feed, Screen

KEYS = {
    "enter": "\r",
    "tab": "\t",
    "shift-tab": "\x1b[Z",
    "esc": "\x1b",
    "backspace": "\x7f",
    "delete": "\x1b[3~",
    "up": "\x1b[A",
    "down": "\x1b[B",
    "right": "\x1b[C",
    "left": "\x1b[D",
    "shift-up": "\x1b[1;2A",
    "shift-down": "\x1b[1;2B",
    "ctrl-right": "\x1b[1;5C",
    "ctrl-left": "\x1b[1;5D",
    "home": "\x1b[H",
    "end": "\x1b[F",
    "page-up": "\x1b[5~",
    "page-down": "\x1b[6~",
    "space": " ",
    "f1": "\x1bOP",
    "alt-enter": "\x1b\r",
    "focus": "\x1b[I",
    "blur": "\x1b[O",
}
DEADLINE = 30.0
FRAME = 2026
"""The mode in which a program is writing one frame."""
# Modes that a program has to leave as they were: mouse, focus reports, alternate screen, bracketed paste, one frame.
_OFF = {1000: "mouse", 1002: "mouse", 1003: "mouse", 1004: "focus reports", ALTERNATE: "alternate screen"} | {
    2004: "bracketed paste",
    FRAME: "synchronized output",
}
# Opened by the leader of a new session, the terminal becomes its controlling one: no code runs between fork and exec.
_IN_TERMINAL = ("/bin/sh", "-c", 'exec "$@" <>"$0" >&0 2>&0')


class TerminalDriver:
    """One program in one terminal; see the docstring of this module."""

    def __init__(
        self,
        command: Sequence[str | Path],
        *,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        columns: int = 100,
        rows: int = 30,
        deadline: float = DEADLINE,
    ) -> None:
        self.deadline = deadline
        self.output = bytearray()
        self._answers: list[str] = []
        self._master, self._slave = pty.openpty()
        os.set_blocking(self._master, False)
        self.screen = Screen(columns, rows, lambda text: self._answers.append(text))
        self._feed = Feed(self.screen)
        self._set_size(columns, rows)
        self._before = termios.tcgetattr(self._slave)
        given = {"TERM": "xterm-256color", "LC_ALL": "C.UTF-8", "PATH": os.environ["PATH"], **(env or {})}
        self.process = subprocess.Popen(
            [*_IN_TERMINAL, os.ttyname(self._slave), *map(str, command)],
            cwd=cwd,
            env=given,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def __enter__(self) -> "TerminalDriver":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Ends what still runs."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        self.hang_up()
        if self._slave >= 0:
            os.close(self._slave)
            self._slave = -1

    # What a person does.

    def type(self, text: str) -> None:
        """Characters as from the keyboard; Enter is `press("enter")`."""
        self.send(text)

    def press(self, *keys: str) -> None:
        """Each key in a write of its own. Esc before another key is one of its own only after the program has seen it:
        wait for its effect."""
        for key in keys:
            self.send(_bytes_of(key))

    def paste(self, text: str) -> None:
        """As a terminal pastes, with marks around the text if the program asked for them."""
        text = text.replace("\n", "\r")
        self.send(f"\x1b[200~{text}\x1b[201~" if 2004 in self.screen.modes else text)

    def send(self, data: str | bytes) -> None:
        """Bytes to the program. Output is read meanwhile, so neither side waits for the other."""
        left = memoryview(data.encode() if isinstance(data, str) else data)
        until = time.monotonic() + self.deadline
        while left:
            ready, writable, _ = select.select([self._master], [self._master], [], 1.0)
            if writable:
                left = left[os.write(self._master, left[:1024]) :]
            if ready:
                self._take()
            if time.monotonic() > until:
                raise AssertionError(f"the program took no input for {self.deadline:g} s; the screen:\n{self.shown}")

    def resize(self, columns: int, rows: int) -> None:
        """The kernel tells the program with SIGWINCH."""
        self.read()
        self.screen.resize(rows, columns)
        self._set_size(columns, rows)

    def signal(self, number: int) -> None:
        """A signal to the process of the program."""
        os.kill(self.process.pid, number)

    def hang_up(self) -> None:
        """The terminal goes away: its session gets SIGHUP."""
        if self._master >= 0:
            os.close(self._master)
            self._master = -1

    # What a person sees.

    def wait_for(self, wanted: "str | re.Pattern[str] | Condition", deadline: float = 0) -> None:
        """Reads until the text or pattern is on the screen, or the function of the driver is true."""
        holds = _condition(wanted)
        until = time.monotonic() + (deadline or self.deadline)
        while FRAME in self.screen.modes or not holds(self):
            ended = self.process.poll() is not None
            if self.read(0 if ended else min(0.2, max(0.0, until - time.monotonic()))):
                continue
            if ended or time.monotonic() >= until:
                why = f"the program ended with {self.process.returncode}" if ended else "the deadline has passed"
                raise AssertionError(f"{why}, waiting for {wanted!r}; the screen:\n{self.shown}")

    def gone(self, text: str, deadline: float = 0) -> None:
        """Reads until the text is not on the screen."""
        self.wait_for(lambda seen: text not in "\n".join(seen.lines), deadline)

    def wait_for_exit(self, deadline: float = 0) -> int:
        """The exit status; negative for a signal. All output has been read."""
        until = time.monotonic() + (deadline or self.deadline)
        while self.process.poll() is None:
            self.read(min(0.05, max(0.0, until - time.monotonic())))
            if time.monotonic() >= until:
                raise AssertionError(f"the program has not ended; the screen:\n{self.shown}")
        self.read()
        return self.process.returncode

    def read(self, wait: float = 0) -> bool:
        """Takes all output that is there, waiting at most so long for the first of it; whether there was any."""
        found = False
        while self._master >= 0 and select.select([self._master], [], [], 0 if found else wait)[0]:
            if not self._take():
                break
            found = True
        return found

    @property
    def lines(self) -> list[str]:
        """The rows of the screen, without blanks at their ends."""
        return [line.rstrip() for line in self.screen.display]

    @property
    def scrollback(self) -> list[str]:
        return self.screen.scrollback

    @property
    def text(self) -> str:
        """Scrollback and screen, as one would copy them; without empty rows at the end."""
        return "\n".join([*self.scrollback, *self.lines]).rstrip()

    @property
    def shown(self) -> str:
        """The screen in a frame, for messages of failures."""
        edge = "+" + "-" * self.screen.columns + "+"
        rows = (f"|{row}|" for row in self.screen.display)
        return "\n".join((edge, *rows, edge))

    @property
    def cursor(self) -> tuple[int, int]:
        """Column and row, from 0."""
        return self.screen.cursor.x, self.screen.cursor.y

    @property
    def title(self) -> str:
        return self.screen.title

    @property
    def bells(self) -> int:
        return self.screen.bells

    def mark(self) -> int:
        return len(self.output)

    def since(self, mark: int) -> bytes:
        return bytes(self.output[mark:])

    @property
    def faults(self) -> list[str]:
        """How the terminal differs from what it was before the start; empty after a program that cleaned up."""
        names = ("input modes", "output modes", "control modes", "local modes", "input speed", "output speed", "keys")
        now = termios.tcgetattr(self._slave)
        found = [name for name, was, is_ in zip(names, self._before, now, strict=True) if was != is_]
        found += sorted({f"{name} is on" for mode, name in _OFF.items() if mode in self.screen.modes})
        return found + (["the cursor is hidden"] if self.screen.cursor.hidden else [])

    def _take(self) -> bytes:
        try:
            data = os.read(self._master, 65536)
        except OSError:  # the other side is closed
            return b""
        self.output += data
        self._feed(data)
        answers, self._answers = self._answers, []
        for each in answers:
            self.send(each)  # what the terminal says of itself
        return data

    def _set_size(self, columns: int, rows: int) -> None:
        fcntl.ioctl(self._slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


Condition = Callable[[TerminalDriver], Any]


def _bytes_of(key: str) -> str:
    if key in KEYS:
        return KEYS[key]
    if key.startswith("ctrl-") and len(key) == 6:
        return chr(ord(key[-1].upper()) ^ 0x40)
    if key.startswith("alt-"):
        return "\x1b" + _bytes_of(key.removeprefix("alt-"))
    if len(key) == 1:
        return key
    raise ValueError(f"no key {key!r}; there are {', '.join(KEYS)}, ctrl-x, alt-x and single characters")


def _condition(wanted: str | re.Pattern[str] | Condition) -> Condition:
    if isinstance(wanted, str):
        # Rows with the blanks at their ends first: a prompt ends with one.
        return lambda seen: any(wanted in row for row in seen.screen.display) or wanted in "\n".join(seen.lines)
    if isinstance(wanted, re.Pattern):
        return lambda seen: wanted.search("\n".join(seen.lines))
    return wanted
