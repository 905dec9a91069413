"""The status line of an open session: receives events, runs the command and returns the lines.

The settings files are checked every two seconds, so that a changed, added or removed command takes effect at once.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING
from unicodedata import category

from callgate.assembly.settings import TIME_LIMIT, Finished, StatusCommand
from callgate.config import Config, load_config
from callgate.core.ports import Clock, Timer
from callgate.tui.statusline.status_payload import StatusTotals, payload, payload_bytes
from callgate.words import events as e
from callgate.words.errors import CallgateError, in_words
from callgate.words.events import AgentPath, Event

if TYPE_CHECKING:
    from callgate import Session


CHECK_EVERY = 2.0
"""Seconds between two checks of the settings files."""

Stamps = tuple[tuple[int, int] | None, ...]


class SessionStatusLine:
    """Runs the status line command of the settings, if there is one.

    redraw  called when the lines have changed
    warn    called with a message for the user
    vim     returns the vim mode
    read    reads the settings again
    """

    def __init__(
        self,
        session: Session,
        config: Config,
        *,
        redraw: Callable[[], object],
        warn: Callable[[str], object],
        vim: Callable[[], str | None] = lambda: None,
        read: Callable[[], Config] | None = None,
    ) -> None:
        self._session = session
        self._config = config
        self._clock = session.controls.host.clock
        self._began = self._clock.monotonic()
        self._totals = StatusTotals.of(session.messages)
        self._redraw = redraw
        self._warn = warn
        self._vim = vim
        self._vim_state = vim()
        self._read = (lambda: load_config(config.root)) if read is None else read
        self._stamps = self._file_stamps()
        self._line = self._started()
        self._timer: Timer | None = None
        self._task: asyncio.Task[None] | None = None
        self._unsubscribe = session.listen(self._on_event)
        origin = config.origins.get("statusline.command")
        if origin is None or origin.layer != "command line":
            self._check_later()  # a command line argument overrides all files

    def lines(self, *, colours: bool = True, keep_place: bool = False) -> list[str]:
        """Return the lines with padding. If the vim mode changed after the last frame, run the command again.

        keep_place  return an empty line before the first output, so that a full-screen view does not move
        """
        if self._line is None:
            return []
        state = self._vim()
        if state != self._vim_state:
            self._vim_state = state
            self._line.ask()
        shown = self._line.lines or (("",) if keep_place else ())
        padding = " " * self._config.statusline.padding
        return [f"{padding}{line if colours else without_colours(line)}" for line in shown]

    async def close(self) -> None:
        self._unsubscribe()
        if self._timer is not None:
            self._timer.cancel()
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait((self._task,))
        if self._line is not None:
            await self._line.close()

    def _started(self) -> StatusLine | None:
        settings = self._config.statusline
        if settings.command is None:
            return None
        command = StatusCommand(self._config, self._clock)
        line = StatusLine(
            command,
            self._payload,
            lambda lines: self._redraw(),
            clock=self._clock,
            refresh=settings.refresh,
            warn=self._warn,
        )
        line.start()
        return line

    def _on_event(self, path: AgentPath, number: int, event: Event) -> None:
        if path:
            return
        self._totals = self._totals.after(event)
        if self._line is not None:
            self._line.on_event(event)

    def _payload(self) -> bytes:
        seconds = self._clock.monotonic() - self._began
        project = str(self._config.root)
        return payload_bytes(payload(self._session, self._totals, project=project, seconds=seconds, vim=self._vim()))

    # ---- changes of the settings --------------------------------------------------------------------------------

    def _check_later(self) -> None:
        self._timer = self._clock.call_later(CHECK_EVERY, self._check_now)

    def _check_now(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._reload())

    async def _reload(self) -> None:
        """Read the settings again if a file changed. Invalid settings are ignored here; the next start reports them."""
        stamps = await asyncio.to_thread(self._file_stamps)
        if stamps != self._stamps:
            self._stamps = stamps
            try:
                found = await asyncio.to_thread(self._read)
            except CallgateError:
                found = self._config
            if found.statusline != self._config.statusline and not found.faults:
                await self._change_to(found)
        self._check_later()

    async def _change_to(self, config: Config) -> None:
        before, self._line, self._config = self._line, None, config
        if before is not None:
            await before.close()
        self._line = self._started()
        self._redraw()

    def _file_stamps(self) -> Stamps:
        return tuple(_stamp(str(each.path)) for each in self._config.files)


def _stamp(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


# ---- runs of the command and their output --------------------------------------------------------------------------
#
# The output may contain branch names and titles from untrusted sources. Colours (SGR) are kept; all other control
# sequences, control characters and direction marks are removed. Private use characters are kept, because fonts have
# symbols there.

MOST_LINES = 3
LONGEST = 500
"""The maximum length of a line, without colours."""
MOST_COLOURS = 200
"""The maximum number of colour sequences in a line."""
MARKS = 4
"""The maximum number of accents on a letter; many accents would cover the lines around it."""

_RESET = "\x1b[0m"
_LINE_END = re.compile(r"\r\n|\r|\n")
_COLOUR = re.compile(r"(\x1b\[[0-9;:]{0,64}m)")
_SEQUENCE = re.compile(
    # OSC and similar: a text for the terminal, such as its title, up to BEL, ST or the end of the line.
    r"(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c\r\n]*(?:\x07|\x9c|\x1b\\)?"
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"  # CSI: the cursor, the screen, modes
    r"|\x1b[ -/]*[0-~]?"  # two characters and charsets
)
_JOINER = "\u200d"  # joins emoji


def status_lines(printed: bytes) -> tuple[str, ...]:
    """Return the first non-empty lines of the output, stripped, at most three. A line with colours ends with a
    reset."""
    found = (_line(line) for line in _LINE_END.split(printed.decode("utf-8", "replace")))
    return tuple(line for line in found if line)[:MOST_LINES]


def without_colours(line: str) -> str:
    return _COLOUR.sub("", line)


def _line(text: str) -> str:
    # The odd pieces are colours. The others have no ESC left, so that removing text cannot form a new sequence.
    pieces = [piece if number % 2 else _harmless(piece) for number, piece in enumerate(_COLOUR.split(text))]
    plain = "".join(pieces[::2])
    start = len(plain) - len(plain.lstrip())
    end = start + len(plain[start : start + LONGEST].rstrip())
    kept, at = list[str](), 0
    for number, piece in enumerate(pieces):
        if number % 2 == 0:
            kept.append(piece[max(start - at, 0) : max(end - at, 0)])
            at += len(piece)
        elif at < end and number < 2 * MOST_COLOURS:
            kept.append(piece)
    line = "".join(kept)
    if start == end:
        return ""
    return f"{line}{_RESET}" if "\x1b" in line and not line.endswith(_RESET) else line


def _harmless(text: str) -> str:
    seen = (_sign(sign) for sign in _SEQUENCE.sub("", text))
    return "".join(
        "".join([*group][:MARKS] if is_mark else group)
        for is_mark, group in groupby((sign for sign in seen if sign), _is_mark)
    )


def _sign(sign: str) -> str:
    if sign == "\t":
        return " "
    return "" if sign != _JOINER and category(sign) in ("Cc", "Cf", "Cs", "Zl", "Zp") else sign


def _is_mark(sign: str) -> bool:
    return category(sign) in ("Mn", "Me")


DEBOUNCE = 0.3

Run = Callable[[bytes], Awaitable[Finished | str]]
"""Run the command with this standard input; return its result, or why it was not run. Cancelling ends the command."""


def asks_for_run(event: e.Event) -> bool:
    """Return True if the event may change the status line."""
    match event:
        case e.MessageAdded(message=message):
            return message.role == "assistant"
        case e.MetadataSet(key=key):
            return key in ("title", "agent", "worktree")
        case _:
            return isinstance(
                event, e.TurnEnded | e.ModeSet | e.ModelSet | e.EffortSet | e.Compacted | e.Rewound | e.Branched
            )


@dataclass(eq=False)
class StatusLine:
    """Runs the command and stores its lines.

    payload  returns the standard input for a run
    changed  called with the lines when they changed
    refresh  seconds between runs without an event; 0 for none
    warn     called once, with the first failure
    """

    run: Run
    payload: Callable[[], bytes]
    changed: Callable[[tuple[str, ...]], object]
    clock: Clock
    refresh: float = 0.0
    warn: Callable[[str], object] = lambda text: None
    lines: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self._warned = False
        self._window: Timer | None = None  # the debounce timer
        self._by_event = False  # a request since the last run came from an event
        self._timer: Timer | None = None
        self._task: asyncio.Task[Finished | str] | None = None
        self._again = False  # the current run was cancelled to start another one
        self._closed = False

    def start(self) -> None:
        """Request the first run of the command and start the refresh timer."""
        self.ask()
        self._set_timer()

    def on_event(self, event: e.Event) -> None:
        if asks_for_run(event):
            self.ask()

    def ask(self) -> None:
        """Request a run of the command because the state changed."""
        self._by_event = True
        self._open_window()

    async def close(self) -> None:
        """Cancel the current run and wait until it ends. No callback is called afterwards."""
        self._closed = True
        for timer in (self._window, self._timer):
            if timer is not None:
                timer.cancel()
        task = self._task
        if task is not None:
            if not self._again:  # a second cancel would abort its cleanup
                task.cancel()
            await asyncio.wait((task,))

    def _set_timer(self) -> None:
        if self.refresh and not self._closed:
            self._timer = self.clock.call_later(self.refresh, self._tick)

    def _tick(self) -> None:
        self._set_timer()
        self._open_window()

    def _open_window(self) -> None:
        if self._window is None and not self._closed:
            self._window = self.clock.call_later(DEBOUNCE, self._due)

    def _due(self) -> None:
        by_event, self._by_event, self._window = self._by_event, False, None
        if self._task is None:
            self._begin()
        elif by_event and not self._again:
            self._again = True
            self._task.cancel()

    def _begin(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._ran())
        self._task.add_done_callback(self._ended)

    async def _ran(self) -> Finished | str:
        try:
            return await self.run(self.payload())
        except Exception as error:  # no caller handles it; the lines stay as they are
            return in_words(error)

    def _ended(self, task: asyncio.Task[Finished | str]) -> None:
        again, self._again, self._task = self._again, False, None
        if self._closed:
            return
        if again:
            self._begin()
        elif not task.cancelled():
            self._take(task.result())

    def _take(self, end: Finished | str) -> None:
        failure = failure_of(end)
        if failure is not None:
            if not self._warned:
                self._warned = True
                self.warn(f"the command of the status line {failure}: see callgate statusline test")
            return
        assert isinstance(end, Finished)
        lines = status_lines(end.stdout)
        if lines != self.lines:
            self.lines = lines
            self.changed(lines)


def failure_of(end: Finished | str) -> str | None:
    """Return the reason why the run has no output, as words after "the command"; None if the run succeeded."""
    if isinstance(end, str):
        return f"could not run ({end})"
    if end.timed_out:
        return f"did not finish within {TIME_LIMIT:g} s"
    return f"exited with code {end.returncode}" if end.returncode else None
