"""Runs the status line command and makes its output safe to show.

The output may contain branch names and titles from untrusted sources. Colours (SGR) are kept; all other control
sequences, control characters and direction marks are removed. Private use characters are kept, because fonts have
symbols there.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable
from itertools import groupby
from unicodedata import category

from callgate.assembly.status_command import TIME_LIMIT, Finished
from callgate.core.ports import Clock, Timer
from callgate.words import events as e
from callgate.words.errors import in_words

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


class StatusLine:
    """Runs the command and stores its lines.

    payload  returns the standard input for a run
    changed  called with the lines when they changed
    refresh  seconds between runs without an event; 0 for none
    warn     called once, with the first failure
    """

    def __init__(
        self,
        run: Run,
        payload: Callable[[], bytes],
        changed: Callable[[tuple[str, ...]], object],
        *,
        clock: Clock,
        refresh: float = 0.0,
        warn: Callable[[str], object] = lambda text: None,
    ) -> None:
        self.lines: tuple[str, ...] = ()
        self._run = run
        self._payload = payload
        self._changed = changed
        self._clock = clock
        self._refresh = refresh
        self._warn = warn
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
        if self._refresh and not self._closed:
            self._timer = self._clock.call_later(self._refresh, self._tick)

    def _tick(self) -> None:
        self._set_timer()
        self._open_window()

    def _open_window(self) -> None:
        if self._window is None and not self._closed:
            self._window = self._clock.call_later(DEBOUNCE, self._due)

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
            return await self._run(self._payload())
        except Exception as error:  # no caller handles it; the lines stay as they are
            return in_words(error)

    def _ended(self, task: "asyncio.Task[Finished | str]") -> None:
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
                self._warn(f"the command of the status line {failure}: see callgate statusline test")
            return
        assert isinstance(end, Finished)
        lines = status_lines(end.stdout)
        if lines != self.lines:
            self.lines = lines
            self._changed(lines)


def failure_of(end: Finished | str) -> str | None:
    """Return the reason why the run has no output, as words after "the command"; None if the run succeeded."""
    if isinstance(end, str):
        return f"could not run ({end})"
    if end.timed_out:
        return f"did not finish within {TIME_LIMIT:g} s"
    return f"exited with code {end.returncode}" if end.returncode else None
