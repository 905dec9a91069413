"""The table of keys as bindings of prompt_toolkit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from prompt_toolkit.enums import EditingMode
from prompt_toolkit.filters import Condition
from prompt_toolkit.input import ansi_escape_sequences
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.key_binding.vi_state import InputMode
from prompt_toolkit.keys import Keys

from callgate.tui.composer.attachments import clean
from callgate.tui.keys import Context, KeyAction

if TYPE_CHECKING:
    from callgate.tui.inner_port import InnerTerminal

# Shift-Enter of terminals that report it, in both ways to report keys.
for _reported in ("\x1b[13;2u", "\x1b[27;2;13~"):
    ansi_escape_sequences.ANSI_SEQUENCES[_reported] = Keys.ControlJ


def bindings_of(app: InnerTerminal) -> KeyBindings:
    """Bindings for the rows of this moment. Of two for the same keys the later one counts: a place goes before every
    place, and a list below the input line before the line."""
    bindings = KeyBindings()
    for row in sorted(app.keys, key=lambda row: _ORDER.get(row.context, 1)):
        for keys in row.keys:
            _bind(bindings, app, row, keys)

    @bindings.add(Keys.Any, filter=Condition(lambda: app.receiver.panel is not None))
    def _typed(event: KeyPressEvent) -> None:
        app.typed(event.data)

    @bindings.add(Keys.BracketedPaste)
    def _pasted(event: KeyPressEvent) -> None:
        """A paste sends nothing and answers no question."""
        if app.receiver.panel is None:
            app.composer.paste(event.data)
        else:
            app.pasted(clean(event.data))

    return bindings


def _bind(bindings: KeyBindings, app: InnerTerminal, row: KeyAction, keys: str) -> None:
    when = _WHEN.get((row.context, row.action))

    def holds() -> bool:
        if row.context == "completion":
            return app.receiver.context == "input" and app.composer.list is not None
        return row.context in ("anywhere", app.receiver.context) and (when is None or when(app))

    @bindings.add(*keys.split(), filter=Condition(holds))
    def _pressed(_event: KeyPressEvent) -> None:
        if row.context == "completion":
            app.composer.choose(row.action)
            app.redraw()
        else:
            app.act(row.action, row.context)


def _is_empty(app: InnerTerminal) -> bool:
    return not app.composer.text and not app.composer.borrowed


def _may_answer(app: InnerTerminal) -> bool:
    """A card waits, or something is staged and nothing is being written."""
    waits = app.questions.card is not None or (bool(app.fold.pending) and _is_empty(app))
    return waits and not app.composer.asks


def _inserts(app: InnerTerminal) -> bool:
    """False in the normal mode of vim, where keys are commands."""
    return vim_state(app) in ("", "insert", "replace")


def _may_interrupt(app: InnerTerminal) -> bool:
    """In vim Escape leaves the insert mode, a selection or a begun command first."""
    state = app.application.vi_state
    return vim_state(app) in ("", "normal") and state.operator_func is None and not state.waiting_for_digraph


_ORDER = {"anywhere": 0, "completion": 2}
_WHEN: Mapping[tuple[Context, str], Callable[[InnerTerminal], bool]] = {
    ("anywhere", "quit"): _is_empty,
    ("input", "answer"): _may_answer,
    ("input", "queue"): lambda app: not _may_answer(app),
    ("input", "keys"): _is_empty,
    ("input", "interrupt"): _may_interrupt,
    ("input", "search_history"): _inserts,
    ("input", "paste_image"): _inserts,
}
"""Actions that leave their keys to others unless this holds."""

_MODES = {
    InputMode.INSERT: "insert",
    InputMode.INSERT_MULTIPLE: "insert",
    InputMode.NAVIGATION: "normal",
    InputMode.REPLACE: "replace",
    InputMode.REPLACE_SINGLE: "replace",
}


def vim_state(app: InnerTerminal) -> str:
    """The state of vim's keys: insert, normal, visual or replace; empty for those of Emacs."""
    if app.application.editing_mode != EditingMode.VI:
        return ""
    if app.composer.buffer.selection_state is not None:
        return "visual"
    return _MODES[app.application.vi_state.input_mode]
