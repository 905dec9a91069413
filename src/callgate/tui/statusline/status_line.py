"""The status line of an open session: receives events, runs the command and returns the lines.

The settings files are checked every two seconds, so that a changed, added or removed command takes effect at once.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from callgate.assembly.status_command import StatusCommand
from callgate.config import Config, load_config
from callgate.tui.statusline.status_payload import StatusTotals, payload, payload_bytes
from callgate.tui.statusline.status_runner import StatusLine, without_colours
from callgate.words.errors import CallgateError
from callgate.words.events import AgentPath, Event

if TYPE_CHECKING:
    from callgate import Session
    from callgate.core.ports import Timer


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
