"""The actions of the key contexts ``input`` and ``anywhere``, by their names in the table of keys."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from callgate.tui.blocks import NoticeBlock
from callgate.tui.keys import ACTIONS, KeyAction, bound_keys, interrupt_key
from callgate.tui.port import Panel
from callgate.tui.route import as_card
from callgate.words.inputs import Continue, Interrupt, MoveToBackground, SetMode
from callgate.words.modes import MODES, Mode

if TYPE_CHECKING:
    from callgate.config import Config
    from callgate.tui.frames import Frames
    from callgate.tui.inner_port import InnerTerminal

TWICE = 0.8
"""Seconds within which a second press of a key counts as a double press."""
CYCLE: tuple[Mode, ...] = tuple(mode for mode, rules in MODES.items() if rules.in_cycle)
"""The modes that the key cycles through; other modes are set with /mode."""


class InputActions:
    """The actions of the input line, with one method for each action. ``rows`` is the table of keys with the user's
    changes."""

    def __init__(self, app: InnerTerminal, frames: Frames) -> None:
        self._app = app
        self._frames = frames
        self._pressed: dict[str, float] = {}
        self._keys: Panel | None = None
        self.rows: tuple[KeyAction, ...] = ACTIONS

    def configure(self, config: Config) -> None:
        """Apply the user's key bindings and show a warning for each invalid binding."""
        self.rows, faults = bound_keys(config.keybindings)
        self._app.show(*(NoticeBlock(text, "warning") for text in faults))
        self._app.application.use_vim(config.settings.tui_editing == "vim")

    @property
    def _works(self) -> bool:
        return self._app.fold.status in ("working", "waiting_confirmation")

    def _twice(self, what: str) -> bool:
        now = asyncio.get_running_loop().time()
        before = self._pressed.get(what)
        self._pressed[what] = now
        return before is not None and now - before < TWICE

    def submit(self) -> None:
        composer = self._app.composer
        if self._app.fold.status == "paused" and not composer.borrowed and not composer.text.strip():
            self._app.post(Continue())
        else:
            composer.submit()

    def queue(self) -> None:
        if self._works:
            self._app.composer.submit(later=True)

    def answer(self) -> None:
        card = as_card(self._app.shown_panel)
        if card is not None:
            card.guard.enter(asyncio.get_running_loop().time())
        else:
            from callgate.tui.panels.pending_panel import open_pending

            self._app.start(open_pending(self._app))

    def newline(self) -> None:
        self._app.composer.newline()

    def interrupt(self) -> None:
        composer = self._app.composer
        twice = self._twice("interrupt")
        if composer.borrowed:
            composer.give_up()
        elif self._works:
            self._app.post(Interrupt())
        elif not twice:
            what = "clears the input" if composer.text else "rewinds to a message"
            self._frames.hint(f"{interrupt_key(self.rows)} once more {what}", TWICE)
        elif composer.text:
            composer.give_up()
        else:
            from callgate.tui.commands.slash_session import open_rewind

            self._app.start(open_rewind(self._app))

    def cancel(self) -> None:
        app = self._app
        if app.composer.borrowed or app.composer.text:
            app.composer.give_up()
        elif self._works:
            app.post(Interrupt())
        elif self._twice("cancel"):
            app.quit()
        else:
            self._frames.hint("Ctrl-C once more quits", TWICE)

    def quit(self) -> None:
        """Exit. While the agent works or a command runs, a second press is needed."""
        fold = self._app.fold
        if (fold.status == "working" or fold.running) and not self._twice("quit"):
            self._frames.hint("Still running: Ctrl-D once more quits", TWICE)
        else:
            self._app.quit()

    def cycle_mode(self) -> None:
        mode = self._app.fold.mode
        self._app.post(SetMode(CYCLE[(CYCLE.index(mode) + 1) % len(CYCLE)] if mode in CYCLE else CYCLE[0]))

    def up(self) -> None:
        self._app.composer.up()

    def down(self) -> None:
        self._app.composer.down()

    def search_history(self) -> None:
        self._app.composer.search()

    def edit(self) -> None:
        self._app.start(self._app.composer.edit())

    def paste_image(self) -> None:
        self._app.composer.paste_clipboard()

    def background(self) -> None:
        if self._app.fold.running:
            self._app.post(MoveToBackground())

    def transcript(self) -> None:
        from callgate.tui.panels.scroll_panel import TranscriptPanel

        self._app.open_panel(TranscriptPanel(self._app, self._app.transcript(expanded=True)))

    def page_up(self) -> None:
        if self._app.full is not None:
            self._app.full.pane.page(-1)

    def page_down(self) -> None:
        if self._app.full is not None:
            self._app.full.pane.page(1)

    def redraw(self) -> None:
        self._app.application.clear()

    def keys(self) -> None:
        """Open or close the panel that lists the keys of the current context."""
        from callgate.tui.panels.scroll_panel import keys_panel

        receiver = self._app.receiver
        if self._keys is not None and receiver.panel is self._keys:
            self._app.close_panel(self._keys)
        else:
            self._keys = keys_panel(self._app, receiver.context)
            self._app.open_panel(self._keys)

    def suspend(self) -> None:
        self._app.application.suspend_to_background()
