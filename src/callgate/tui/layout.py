"""The layout of the live part: unfinished blocks, the open panel, the input line, the lines below it."""

from __future__ import annotations

from time import time
from typing import TYPE_CHECKING

from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import ANSI
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys
from prompt_toolkit.layout import ConditionalContainer, HSplit, Layout, VerticalAlign, Window
from prompt_toolkit.layout.controls import BufferControl, FormattedTextControl

from callgate.formats.display import visible
from callgate.tui.keys import ACTIONS, Context, KeyAction
from callgate.tui.screen import FrameOutput, InlineApplication

if TYPE_CHECKING:
    from callgate.tui.app import TerminalApp

_BELOW = 8
"""Rows that are kept for the input line and what stands below it."""


def build_application(app: TerminalApp, output: FrameOutput) -> InlineApplication:
    """The application of prompt_toolkit for this terminal."""
    typing = Condition(lambda: app.panel is None)

    def lines_of(lines: list[str]) -> ANSI:
        return ANSI("\n".join(lines))

    def height() -> int:
        rows = output.get_size().rows
        return max(rows - (int(app.composer.asks) if app.covers else _BELOW), 3)

    def shown_panel() -> list[str]:
        panel = app.shown_panel
        return [] if panel is None else [*panel.lines(output.get_size().columns, height())]

    def panel_lines() -> ANSI:
        return lines_of(shown_panel())

    def live_lines() -> ANSI:
        """The live blocks have the rows that the panel leaves."""
        return lines_of(app.live_lines(max(height() - len(shown_panel()), 3)))

    live = Window(FormattedTextControl(live_lines), dont_extend_height=True, wrap_lines=False)
    panel_window = Window(FormattedTextControl(panel_lines, focusable=True, show_cursor=False), dont_extend_height=True)
    entry = Window(
        BufferControl(app.composer.buffer),
        dont_extend_height=True,
        wrap_lines=True,
        get_line_prefix=lambda number, wrapped: app.composer.prefix(number, wrapped),
    )
    footer = Window(FormattedTextControl(lambda: lines_of(footer_lines(app))), dont_extend_height=True)
    root = HSplit(
        [
            ConditionalContainer(live, Condition(lambda: bool(app.fold.blocks or app.full) and not app.covers)),
            ConditionalContainer(panel_window, Condition(lambda: app.shown_panel is not None)),
            ConditionalContainer(entry, typing),
            ConditionalContainer(footer, Condition(lambda: not app.covers)),
        ],
        align=VerticalAlign.TOP,
    )
    layout = Layout(root, focused_element=entry)

    def focus(_sender: object = None) -> None:
        """Keys go to the input line only while no panel is open."""
        wanted = entry if app.panel is None else panel_window
        if not layout.has_focus(wanted):
            layout.focus(wanted)

    app.refocus = focus
    return InlineApplication(
        layout=layout,
        key_bindings=_bindings(app),
        output=output,
        full_screen=False,
        mouse_support=False,
        erase_when_done=True,
        before_render=focus,
    )


def _bindings(app: TerminalApp) -> KeyBindings:
    bindings = KeyBindings()
    for row in ACTIONS:
        for keys in row.keys:
            _bind(bindings, app, row, keys)

    @bindings.add(Keys.Any, filter=Condition(lambda: app.panel is not None))
    def _typed(event: KeyPressEvent) -> None:
        app.typed(event.data)

    @bindings.add(Keys.BracketedPaste, filter=Condition(lambda: app.panel is not None))
    def _pasted(event: KeyPressEvent) -> None:
        app.pasted(event.data.replace("\r\n", "\n").replace("\r", "\n"))

    return bindings


def _bind(bindings: KeyBindings, app: TerminalApp, row: KeyAction, keys: str) -> None:
    here: Context = row.context

    @bindings.add(*keys.split(), filter=Condition(lambda: app.context == here and app.applies(row.action)))
    def _pressed(_event: KeyPressEvent) -> None:
        app.act(row.action)


def footer_lines(app: TerminalApp) -> list[str]:
    """The lines below the input: the person's status line; then state, mode, model."""
    fold = app.fold
    state = "starting" if app.session is None else visible(app.activity.line(time())) or fold.status.replace("_", " ")
    parts = [state, fold.mode.replace("_", " "), fold.model]
    own = app.statusline
    lines = [] if own is None else own.lines(colours=app.theme.colours, keep_place=app.application.full_screen)
    return [*lines, app.theme.paint(f" {app.theme.sign(' · ', ' - ').join(part for part in parts if part)}", "grey")]
