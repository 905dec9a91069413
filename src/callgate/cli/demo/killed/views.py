"""The ninth act in the three ways to watch: redrawn in place, as lines, as JSON."""

import time
from typing import Protocol, TextIO

from callgate import Event
from callgate.cli.arguments import Form
from callgate.cli.demo.killed.lives import Lives, fate
from callgate.cli.demo.killed.picture import TITLE, lives_lines, lives_table
from callgate.cli.demo.killed.script import PROMPT
from callgate.cli.demo.show import FRAME, Audience
from callgate.cli.demo.views import JsonView, LinesView
from callgate.cli.terminal import Live, can_redraw, plain, signs_for


class LivesView(Audience, Protocol):
    def opened(self) -> None: ...

    def turned(self) -> None:
        """The fate of the process took a turn."""
        ...

    def closed(self) -> None: ...


def lives_view_for(form: Form, lives: Lives, out: TextIO) -> LivesView:
    if form == "json":
        return LivesJson(out)
    return LivesScreen(lives, out) if form == "screen" and can_redraw(out) else LivesLines(lives, out)


class LivesJson:
    """The events of both lives, and nothing else."""

    def __init__(self, out: TextIO) -> None:
        self.heard = JsonView(out).heard

    def opened(self) -> None:
        pass

    def tick(self) -> None:
        pass

    def turned(self) -> None:
        pass

    def closed(self) -> None:
        pass


class LivesScreen:
    def __init__(self, lives: Lives, out: TextIO) -> None:
        self._lives = lives
        self._live = Live(out)
        self._signs = signs_for(out)
        self._drawn_at = 0.0

    def opened(self) -> None:
        self.tick()

    def heard(self, event: Event) -> None:
        self.tick()

    def tick(self) -> None:
        now = time.monotonic()
        if now - self._drawn_at >= FRAME:
            self._drawn_at = now
            self._live.draw(self._picture())

    def turned(self) -> None:
        self._live.draw(self._picture())

    def closed(self) -> None:
        self._live.keep([*self._picture(), ()])

    def _picture(self):
        return lives_lines(self._lives, time.time(), self._live.columns, self._signs)


class LivesLines:
    """A line for every change as in the other acts, and the table at the end."""

    def __init__(self, lives: Lives, out: TextIO) -> None:
        self._lives = lives
        self._lines = LinesView(lives.board, out, heading=lambda act: "")
        self._signs = signs_for(out)

    def opened(self) -> None:
        self._lines.write("", TITLE, f"> {PROMPT}")

    def heard(self, event: Event) -> None:
        self._lines.heard(event)

    def tick(self) -> None:
        pass

    def turned(self) -> None:
        self._lines.write(f"  {fate(self._lives)[-1]}")

    def closed(self) -> None:
        self._lines.write("", *(plain(line) for line in lives_table(self._lives, self._lines.columns, self._signs)))
