"""The status line of an open session: hears its events, runs the command, and gives the lines to show."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from callgate.assembly.status_command import StatusCommand
from callgate.tui.statusline.output import without_colours
from callgate.tui.statusline.payload import payload_bytes
from callgate.tui.statusline.runner import StatusLine
from callgate.tui.statusline.totals import StatusTotals, snapshot_of
from callgate.words.events import Event

if TYPE_CHECKING:
    from callgate import Session
    from callgate.config import Config


class SessionStatusLine:
    """Starts with the first run. ``vim`` gives the state of vim mode, ``redraw`` is called when the lines have changed,
    ``tell`` takes a note for people."""

    def __init__(
        self,
        session: Session,
        config: Config,
        *,
        redraw: Callable[[], object],
        tell: Callable[[str], object],
        vim: Callable[[], str | None] = lambda: None,
    ) -> None:
        self._session = session
        self._config = config
        self._clock = session.host.clock
        self._began = self._clock.monotonic()
        self._totals = StatusTotals.of(session.messages)
        self._vim = vim
        self._line = StatusLine(
            StatusCommand(config, self._clock),
            self._payload,
            lambda lines: redraw(),
            clock=self._clock,
            refresh=config.statusline.refresh,
            tell=tell,
        )
        self._deaf = session.listen(self._hear)
        self._line.start()

    def ask(self) -> None:
        """Asks for a run because something has changed that is no event, such as the vim state."""
        self._line.ask()

    def lines(self, *, colours: bool = True, keep_place: bool = False) -> list[str]:
        """The lines with their padding. ``keep_place``: an empty one while there are none yet, so that a full-screen
        view does not jump."""
        shown = self._line.lines or (("",) if keep_place else ())
        padding = " " * self._config.statusline.padding
        return [f"{padding}{line if colours else without_colours(line)}" for line in shown]

    async def close(self) -> None:
        self._deaf()
        await self._line.close()

    def _hear(self, event: Event) -> None:
        self._totals = self._totals.after(event)
        self._line.hear(event)

    def _payload(self) -> bytes:
        seconds = self._clock.monotonic() - self._began
        found = snapshot_of(
            self._session, self._totals, project=str(self._config.root), seconds=seconds, vim=self._vim()
        )
        return payload_bytes(found)
