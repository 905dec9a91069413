"""Registers the table of keys with prompt_toolkit."""

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
from callgate.tui.route import as_card

if TYPE_CHECKING:
    from callgate.tui.inner_port import InnerTerminal

# Shift-Enter as terminals report it: in the CSI u and the modifyOtherKeys encoding.
for _reported in ("\x1b[13;2u", "\x1b[27;2;13~"):
    ansi_escape_sequences.ANSI_SEQUENCES[_reported] = Keys.ControlJ


def bindings_of(app: InnerTerminal) -> KeyBindings:
    """Return the key bindings for the current table of keys. If two bindings match, the later binding runs: a named
    context overrides ``anywhere``, and the completion list overrides the input line."""
    bindings = KeyBindings()
    for row in sorted(app.keys, key=lambda row: _ORDER.get(row.context, 1)):
        for keys in row.keys:
            _bind(bindings, app, row, keys)

    @bindings.add(Keys.Any, filter=Condition(lambda: app.receiver.panel is not None))
    def _typed(event: KeyPressEvent) -> None:
        app.pressed(event.key_sequence, None)

    @bindings.add(Keys.BracketedPaste)
    def _pasted(event: KeyPressEvent) -> None:
        if app.receiver.panel is None:
            app.composer.paste(event.data)
        else:
            app.pasted(clean(event.data))

    return bindings


def _bind(bindings: KeyBindings, app: InnerTerminal, row: KeyAction, keys: str) -> None:
    when = _WHEN.get((row.context, row.action))
    if when is may_interrupt and keys != "escape":
        when = None

    def holds() -> bool:
        if row.context == "completion":
            return app.receiver.context == "input" and app.composer.list is not None
        return row.context in ("anywhere", app.receiver.context) and (when is None or when(app))

    @bindings.add(*keys.split(), filter=Condition(holds))
    def _pressed(event: KeyPressEvent) -> None:
        if row.context == "completion":
            app.composer.choose(row.action)
            app.redraw()
        else:
            app.pressed(event.key_sequence, row)


def _is_empty(app: InnerTerminal) -> bool:
    return not app.composer.text and not app.composer.borrowed


def _may_answer(app: InnerTerminal) -> bool:
    waits = as_card(app.shown_panel) is not None or (bool(app.fold.pending) and _is_empty(app))
    return waits and not app.composer.asks


def _inserts(app: InnerTerminal) -> bool:
    """Return True if typed text is inserted. False in vim's normal mode, where keys are commands."""
    return vim_state(app) in ("", "insert", "replace")


def may_interrupt(app: InnerTerminal) -> bool:
    """Return False while vim uses Escape to leave insert mode, a selection or a partial command."""
    state = app.application.vi_state
    return vim_state(app) in ("", "normal") and state.operator_func is None and not state.waiting_for_digraph


_ORDER = {"anywhere": 0, "completion": 2}
_WHEN: Mapping[tuple[Context, str], Callable[[InnerTerminal], bool]] = {
    ("anywhere", "quit"): _is_empty,
    ("input", "answer"): _may_answer,
    ("input", "queue"): lambda app: not _may_answer(app),
    ("input", "keys"): _is_empty,
    ("input", "interrupt"): may_interrupt,
    ("input", "search_history"): _inserts,
    ("input", "paste_image"): _inserts,
}
"""Conditions without which the key runs another action."""

_MODES = {
    InputMode.INSERT: "insert",
    InputMode.INSERT_MULTIPLE: "insert",
    InputMode.NAVIGATION: "normal",
    InputMode.REPLACE: "replace",
    InputMode.REPLACE_SINGLE: "replace",
}


def vim_state(app: InnerTerminal) -> str:
    """Return vim's mode (insert, normal, visual or replace), or an empty string for Emacs keys."""
    if app.application.editing_mode != EditingMode.VI:
        return ""
    if app.composer.buffer.selection_state is not None:
        return "visual"
    return _MODES[app.application.vi_state.input_mode]
